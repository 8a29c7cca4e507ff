"""How far a feature can lower the margin, and where."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import RISING
from oracles.smooth import CLOSE, FUNCTIONS, exactly

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    ReluNetwork,
    Smooth,
    Status,
    Steps,
    Table,
)
from suffice.core.drops import enclose_drops
from suffice.numbers.exact import rational


def test_witnesses_attain_the_drops():
    hat = ReluNetwork([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    explainer = Explainer(AdditiveModel([hat, Steps([0], [-1, 1])], 1, features=["a", "b"]))
    why = explainer.explain([1, 0.5], radius=2, unit="raw")
    assert why.drops == {"a": 2, "b": 2}
    assert why.witnesses == {"a": Fraction(3), "b": Fraction(-3, 2)}


def test_a_drop_that_is_only_approached_has_no_witness_and_a_strict_claim_may_use_it_up():
    falling = RISING * -1 + Steps([1], [0, 5])  # comes close to -1 left of 1, never gets there
    model = AdditiveModel([falling], 1, features=["a"], ties="negative")  # the claim is score > 0
    why = Explainer(model).explain([0], radius=1, unit="raw")
    assert (why.prediction, why.drops, why.witnesses) == (1, {"a": 1}, {"a": None})
    assert why.features == ()  # the score comes close to 0 and stays above


def test_whole_domain_regions_and_drops_without_bound():
    explainer = Explainer(AdditiveModel([RISING, Steps([0], [-1, 1])], 1, features=["a", "b"]))
    why = explainer.explain([5, 2], radius=math.inf, unit="raw")
    assert why.drops == {"a": math.inf, "b": 2}
    assert why.features == ("a",)
    assert explainer.predict(why.counterexample(without="a")) == 0
    assert why.witnesses["a"] is None
    assert "any amount" in str(why)


def test_categories_codes_and_missing_values():
    shapes = [Table({"red": 1, "green": -3, "blue": 2}), Table({MISSING: -9, -7: 4}, otherwise=RISING)]
    features = ["colour", Feature("months", Domain.integers(0, 100) | Domain.codes(MISSING, -7))]
    explainer = Explainer(AdditiveModel(shapes, 0, features=features))
    why = explainer.explain({"colour": "red", "months": 5}, radius=2, unit="raw")
    assert why.drops == {"colour": 4, "months": 2}  # any colour; 3 to 7 months, never missing
    assert why.witnesses == {"colour": "green", "months": Fraction(3)}
    assert explainer.explain({"colour": "red", "months": 5}, radius=0, unit="raw").drops == {"colour": 0, "months": 0}
    assert explainer.explain({"colour": "red", "months": 5}, radius=math.inf, unit="raw").drops == {
        "colour": 4,
        "months": 14,
    }
    for nothing in (None, math.nan, np.nan, MISSING):
        why = explainer.explain({"colour": "blue", "months": nothing}, radius=9, unit="raw")
        assert (why.prediction, why.drops) == (0, {"colour": 0, "months": 0})  # a code stays where it is
    why = explainer.explain({"colour": "blue", "months": math.nan}, radius=math.inf, unit="raw")
    assert why.counterexample(without="months") == {"colour": "blue", "months": Fraction(100)}


def test_dead_features_and_equal_drops_are_ordinary():
    dead = ReluNetwork([[[0.0]], [[0.0]]], [None, None])
    explainer = Explainer(AdditiveModel([dead, RISING, RISING, dead], 0))
    why = explainer.explain([0, 1, 1, 0], radius=1.5, unit="raw")
    assert why.features == ("x1",)  # of two equal drops the later feature is freed
    assert why.slack == Fraction(1, 2)
    nothing = Explainer(AdditiveModel([dead, dead], 0)).explain([0, 0], radius=math.inf, unit="raw")
    assert (nothing.features, nothing.margin, nothing.prediction) == ((), 0, 1)  # step(0) = 1


def test_drops_beyond_floats_are_compared_exactly():
    huge = [Table({"a": 0, "b": f"-{k}e400", "c": f"{k}e400"}) for k in (1, 2, 3)]
    why = Explainer(AdditiveModel(huge, 0, "regression")).explain(
        ["a"] * 3, 1, claim=suffice.Within("3e400"), unit="raw"
    )
    assert (why.size, why.status) == (1, Status.PROVEN)


@pytest.mark.parametrize("at", [Fraction(1), Fraction(1, 3)])
def test_the_drop_of_a_smooth_feature_lies_between_its_floor_and_its_ceiling(at):
    # Few bits, so that an end that is taken for the other one shows.
    (curve,) = Smooth("tanh").compile()
    row, region = (rational(at),), [Domain.interval(at - 1, at + 1)]
    found = enclose_drops([curve], [curve.value(row[0], 2)], row, region, 2)
    true = exactly(FUNCTIONS["tanh"], at) - exactly(FUNCTIONS["tanh"], at - 1)
    (ceiling,), (floor,) = found.ceilings, found.floors
    assert Fraction(str(floor.value)) < true - CLOSE
    assert true + CLOSE < Fraction(str(ceiling.value))
    assert ceiling.value - floor.value < rational("1e-8")
