"""Every row of a batch is answered as `Explainer.explain` answers it, on models and rows made to be awkward."""

import math
from fractions import Fraction

import numpy as np
import pytest
from awkward import preferences, questions
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice import Domain, Explainer, Feature, PiecewiseLinear, Same, Table


def assert_same_as_one_row(explainer, result, rows, radius, claim, **options):
    counts = not options.get("groups") and len(set(options.get("cost", {}).values())) < 2
    for k, row in enumerate(rows):
        if k in result.messages:
            with pytest.raises((suffice.RowError, suffice.ClaimError, suffice.PreferenceError)) as refused:
                explainer.explain(list(row), radius, claim=claim, unit="raw", **options)
            assert (result.statuses[k], result.sizes[k], result.messages[k]) == ("failed", -1, str(refused.value))
            continue
        why = explainer.explain(list(row), radius, claim=claim, unit="raw", **options)
        assert result.fixed_of(k) == why.fixed
        assert (result.sizes[k], result.lower_bounds[k]) == (why.size, why.bound if counts else 0)
        assert result.statuses[k] == why.status.value
        assert abs(Fraction(result.margins[k]) - why.margin) <= Fraction(result.margin_errors[k])
        if explainer.model.task == "regression":
            assert abs(Fraction(result.predictions[k]) - why.prediction) <= Fraction(result.prediction_errors[k])
        else:
            assert result.predictions[k] == why.prediction


@settings(max_examples=100)
@given(questions())
def test_each_row_is_answered_as_one_row_is(question):
    model, radius, claim, rows = question
    explainer = Explainer(model)
    table = np.empty((len(rows), len(model.features)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = row
    result = explainer.explain_batch(table, radius, claim=claim, threads=1, unit="raw")
    assert_same_as_one_row(explainer, result, rows, radius, claim)


@settings(max_examples=100)
@given(questions(), st.data())
def test_so_it_is_with_preferences(question, data):
    model, radius, claim, rows = question
    options = data.draw(preferences(len(model.features)))
    explainer = Explainer(model)
    table = np.empty((len(rows), len(model.features)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = row
    result = explainer.explain_batch(table, radius, claim=claim, threads=1, unit="raw", **options)
    assert_same_as_one_row(explainer, result, rows, radius, claim, **options)


def test_preferences_are_settled_without_exact_arithmetic():
    random = np.random.default_rng(0)
    shapes = [PiecewiseLinear([-2, 0, 2], random.normal(size=(3, 3)).tolist()) for _ in range(6)]
    explainer = Explainer(suffice.AdditiveModel(shapes, [0, 0, 0], "multiclass"))
    rows = random.normal(size=(300, 6))
    costs = {f"x{i}": 1 + i % 3 for i in range(6)}
    for options in ({}, {"fix": ["x0"]}, {"cost": costs}, {"groups": [["x1", "x4"]]}):
        result = explainer.explain_batch(rows, 0.5, unit="raw", **options)
        assert result.was_exact.mean() < 0.02


def test_of_equal_drops_the_one_that_is_only_approached_comes_last():
    rising = PiecewiseLinear([0, 1], [0, 3])
    features = [Feature(name, Domain.interval(0, 10)) for name in ("approached", "attained")]
    model = suffice.AdditiveModel([Table({0: 5}, otherwise=rising), rising], -4, features=features)
    result = Explainer(model).explain_batch(np.array([[5.0, 5.0], [6.0, 7.0]]), radius=10, unit="raw")
    assert result.features_of(0) == result.features_of(1) == ("attained", "approached")
    assert_same_as_one_row(Explainer(model), result, [[5.0, 5.0], [6.0, 7.0]], 10, Same())


SHAPES = [
    (PiecewiseLinear([0, 1], [0, 1]), Domain.interval(0, 1), 1),
    (PiecewiseLinear([0, 3], [0, 1]), Domain.interval(0, 3), 3),
]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_drops_that_only_rounding_tells_apart_are_ordered_exactly(order):
    # At x and 3x the drops of the two features are both x; floats give one of them exactly, the other within rounding.
    # A third feature, which cannot move, keeps the margin so small that both are kept.
    falling = PiecewiseLinear([0, 1], [0.001, -1.999])
    features = [*(Feature(f"f{i}", SHAPES[i][1]) for i in order), Feature("held", Domain.interval(0, 1))]
    explainer = Explainer(suffice.AdditiveModel([*(SHAPES[i][0] for i in order), falling], 0, features=features))
    x = np.arange(20, 1024) / 1024
    rows = np.stack([*(x * SHAPES[i][2] for i in order), x], axis=1)
    result = explainer.explain_batch(rows, radius=math.inf, immutable=["held"], unit="raw")
    assert (result.order == [0, 1, -1]).all()  # equal drops: the earlier feature first
    assert result.was_exact.all()


@pytest.mark.parametrize(("ties", "size"), [("positive", 0), ("negative", 1)])
def test_a_drop_that_uses_the_margin_up_is_settled_exactly(ties, size):
    shape, domain, factor = SHAPES[1]
    explainer = Explainer(suffice.AdditiveModel([shape], 0, features=[Feature("f", domain)], ties=ties))
    x = np.arange(20, 1024)[:, None] / 1024
    assert (explainer.explain_batch(x * factor, radius=math.inf, unit="raw").sizes == size).all()
