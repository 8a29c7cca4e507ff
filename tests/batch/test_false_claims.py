"""No row is called proven where the claim is false at it, or only just true: every row is answered as one row is."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Explainer,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Same,
    Steps,
    SufficeError,
    Within,
)
from suffice.batch import kernel
from suffice.batch.covers import cover_rows

LINE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)


def answers(result, k):
    return result.fixed_of(k), result.statuses[k], result.messages.get(k)


def answer_alone(explainer, row, radius, **options):
    try:
        why = explainer.explain(row, radius, **options)
    except SufficeError as error:
        return (), "failed", str(error)
    return why.fixed, why.status.value, None


def assert_as_alone(model, rows, radius, claim):
    explainer = Explainer(model)
    options = {"claim": claim, "unit": "raw"}
    result = explainer.explain_batch(np.array(rows, dtype=float), radius, threads=1, **options)
    for k, row in enumerate(rows):
        assert answers(result, k) == answer_alone(explainer, row, radius, **options)


@pytest.mark.parametrize("claim", [AtLeast(5), AtMost(5)])
def test_a_false_claim_with_infinite_drops_is_not_proven(claim):
    model = AdditiveModel([LINE, LINE], task="regression", features=["a", "b"])
    rows = [[1.0, 1.0], [10.0, 0.0], [2.5, 2.5], [5.0, 0.0], [math.nextafter(5.0, 9), 0.0]]
    assert_as_alone(model, rows, math.inf, claim)
    result = Explainer(model).explain_batch(np.array(rows[:2]), math.inf, claim=claim, unit="raw")
    assert result.failed_rows.tolist() == ([0] if claim == AtLeast(5) else [1])


slopes = st.sampled_from([0, 0, 1, -1, 2, 0.1, Fraction(1, 3)])
levels = st.sampled_from([-2, -1, 0, 0.1, 0.5, 1, 2, 5, Fraction(1, 3), Fraction(7, 10)])
cells = st.sampled_from([-3.0, -1.0, 0.0, 0.1, 0.5, 1.0, 2.0, 2.5, 5.0, 0.7, 1 / 3, 1e-16, 1e300, -1e300, 2.0**-1070])


@st.composite
def cases(draw):
    outputs = draw(st.sampled_from([1, 1, 1, 3]))

    def several(one):
        return one if outputs == 1 else st.lists(one, min_size=outputs, max_size=outputs)

    shapes = []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            shapes.append(PiecewiseLinear([0], [draw(several(levels))], draw(several(slopes)), draw(several(slopes))))
        else:
            shapes.append(Steps([0.5], [draw(several(levels)), draw(several(levels))]))
    task = "multiclass" if outputs == 3 else draw(st.sampled_from(["binary", "regression"]))
    model = AdditiveModel(shapes, draw(several(levels)), task, ties=draw(st.sampled_from(["positive", "negative"])))
    thresholds = levels.flatmap(lambda value: st.sampled_from([AtLeast(value), AtMost(value)]))
    claim = draw(
        {
            "binary": st.one_of(thresholds, st.sampled_from([Same(), Beats(0), Beats(1), Within(0), Within("1/3")])),
            "regression": st.one_of(thresholds, st.sampled_from([Within(0), Within(1)])),
            "multiclass": st.sampled_from([Same(), Beats(0), Beats(1), Beats(2)]),
        }[task]
    )
    radius = [draw(st.sampled_from([math.inf, math.inf, math.inf, 1, 0])) for _ in shapes]
    rows = draw(st.lists(st.lists(cells, min_size=len(shapes), max_size=len(shapes)), min_size=1, max_size=6))
    return model, rows, radius, claim


@settings(max_examples=150)
@given(cases())
@example((AdditiveModel([LINE], task="regression"), [[5.0], [4.0], [6.0]], math.inf, AtLeast(5)))
@example((AdditiveModel([LINE, LINE]), [[1e308, 1e308], [1.0, -1.0]], math.inf, Same()))
def test_claims_that_are_false_or_just_true_at_some_rows(case):
    assert_as_alone(*case)


@pytest.mark.parametrize(
    ("margin", "error"),
    [(math.nan, math.nan), (math.nan, 0.0), (1.0, math.nan), (-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 2.0),
     (math.inf, 0.0), (math.inf, math.inf), (2.0**1001, 1.0)],
)  # fmt: skip
@pytest.mark.parametrize("drop", [0.0, 1.0, math.inf])
@pytest.mark.parametrize("features", [1, 3])
def test_no_path_of_the_kernel_settles_a_row_whose_margin_is_not_above_its_error(margin, error, drop, features):
    drops, bounds = np.full((1, features), drop), np.zeros((1, features))
    margins, errors = np.array([margin]), np.array([error])
    sizes, *_ = kernel.decide_rows(drops.T.copy(), bounds.T.copy(), margins, errors, np.empty((1, features), np.int64))
    assert sizes.tolist() == [kernel.OPEN]
    # Of several parts, one such is enough to leave the row open.
    for sure in (0, 1):
        both, doubts = np.full((2, 1), 1.0), np.zeros((2, 1))
        both[1 - sure], doubts[1 - sure] = margin, error
        each = np.arange(features + 1), np.arange(features), np.ones(features, np.int64), np.zeros(features, np.int8)
        sizes, _, fixed = cover_rows(np.stack([drops, drops]), np.stack([bounds, bounds]), both, doubts, *each)
        assert (sizes.tolist(), len(fixed)) == ([kernel.OPEN], 0)


def test_a_sum_that_overflows_settles_nothing():
    steps = [Steps([0], [0, 1.7e308]), Steps([0], [0, 1.7e308]), *(Steps([0], [0, -1.7e308]) for _ in range(3))]
    assert_as_alone(AdditiveModel(steps, 1), [[1.0] * 5, [0.0] * 5, [-1.0] * 5], 0, Same())
    assert suffice.Explainer(AdditiveModel(steps, 1)).predict([1.0] * 5) == 0


def test_a_row_that_cannot_be_decided_leaves_the_others_their_answers():
    """A score that agrees with the logarithm of 9 to more digits than are ever worked out."""
    near = Fraction(int(Decimal(9).ln(Context(prec=5600)).scaleb(5500, Context(prec=5600))) + 1, 10**5500)
    explainer = suffice.Explainer(AdditiveModel([PiecewiseLinear([0], [0], left_slope=1, right_slope=1)]))
    asked = {"radius": 1, "unit": "raw", "claim": ProbabilityAtLeast("0.9")}
    with pytest.raises(suffice.BudgetError, match="agrees with the threshold") as alone:
        explainer.explain([near], **asked)
    result = explainer.explain_batch(np.array([[near], [5]], dtype=object), **asked)
    assert result.statuses.tolist() == ["failed", "proven"]
    assert result.messages == {0: str(alone.value)}
