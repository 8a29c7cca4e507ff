"""Features that stay: with a deviation of 0 at every radius, immutable ones always, fixed ones where charged."""

import math
from itertools import combinations

import pytest

import suffice
import suffice_check
from suffice import AdditiveModel, Domain, Explainer, Feature, ReluNetwork, Status, Steps

FALLING = Steps([0], [-1, 1])


@pytest.mark.parametrize("deviations", [(0,), (0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("immutable", [(), ("a",), ("b",)])
def test_a_deviation_of_0_stays_at_every_radius_but_is_free_on_the_whole_domain(deviations, immutable, tmp_path):
    names = "ab"[: len(deviations)]
    features = [
        Feature(name, Domain.interval(-5) | Domain.codes(-9), deviation=d)
        for name, d in zip(names, deviations, strict=True)
    ]
    model = AdditiveModel([FALLING] * len(names), features=features)
    explainer, row = Explainer(model), [1] * len(names)
    asked = {"immutable": [name for name in immutable if name in names]}
    model.save(tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    curve = explainer.curve(row, **asked)
    assert curve.at(math.inf).cost == explainer.explain(row, math.inf, **asked).size
    for size in range(len(names) + 1):
        for fixed in combinations(names, size):
            largest = explainer.radius(row, fixed, **asked)
            holds_everywhere = explainer.is_sufficient(row, fixed, math.inf, **asked)
            assert (largest.radius == math.inf and largest.is_attained) == holds_everywhere
            assert explainer.is_sufficient(row, fixed, 1000, **asked) == (largest.radius > 1000)
            assert suffice_check.check(content, largest.certificate().text.encode())


def test_rounding_is_charged_only_where_features_move():
    """A fixed feature stays at the row, so that its unbounded domain does no harm."""
    line = ReluNetwork([[[1.0]]], [[0.0]])
    model = AdditiveModel([line, line], 1, features=[Feature("a", Domain.interval(-2, 2)), "b"])
    explainer, row = Explainer(model), [1, 3]
    asked = {"arithmetic": "float32", "unit": "raw"}
    largest = explainer.radius(row, ["b"], **asked)
    assert (largest.radius, largest.status) == (math.inf, Status.BOUNDED)
    assert explainer.is_sufficient(row, ["b"], math.inf, **asked)
    verdict = explainer.sufficiency(row, ["b"], math.inf, **asked)
    assert verdict.certificate().document["charges"]
    assert explainer.explain(row, math.inf, fix=["b"], **asked).features == ("b",)
    assert not explainer.contrast(row, math.inf, fix=["b"], **asked).is_possible
    with pytest.raises(suffice.ClaimError, match="the region of 'b' is unbounded"):
        explainer.is_sufficient(row, ["a"], math.inf, **asked)


def test_what_is_fixed_is_charged_for_one_value():
    steep = ReluNetwork([[[1000.0]]], [[0.0]])
    flat = ReluNetwork([[[0.001]]], [[0.0]])
    explainer = Explainer(AdditiveModel([steep, flat], 5))
    asked = {"arithmetic": "float32", "unit": "raw"}
    free, fixed = (explainer.explain([1, 1], 0.5, fix=fix, **asked).charged[0] for fix in ((), ("x0",)))
    assert 0 < fixed < free
