"""Single rows at which look-up tables, cells or sorting are easily wrong: each is answered as one row is."""

from fractions import Fraction

import numpy as np
import pytest

from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, RowError, Steps, Table

LINE = PiecewiseLinear([0], [0], 1, 1)


def assert_as_one_row(explainer, row, radius, **options):
    result = explainer.explain_batch(np.array([row]), radius, **options)
    try:
        why = explainer.explain(row, radius, **options)
    except RowError as error:
        assert result.messages == {0: str(error)}
        return
    assert (result.kept_of(0), result.statuses[0]) == (why.kept, why.status.value)


@pytest.mark.parametrize(
    "shape",
    [
        Table({10: 5}, otherwise=Steps([0, 10], [0, 5, 0])),
        Steps([0], [0, 5], "left") + Steps([10], [0, -5], "right"),
    ],
)
def test_a_row_between_two_low_stretches_that_it_just_does_not_reach(shape):
    # Rows on either side reach one of the stretches, and have the same drop; the row itself reaches neither.
    explainer = Explainer(AdditiveModel([shape, LINE], intercept=-3))
    assert explainer.explain([5.0, 0.0], [5, 1]).kept == ()
    for x in (4.5, 5.0, 5.5):
        assert_as_one_row(explainer, [x, 0.0], [5, 1])
