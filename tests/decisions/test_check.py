"""Assertions about boxes of inputs, against going through all of them."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.small import Small, table_of

import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    AtMost,
    BoxError,
    CertificateError,
    ClaimError,
    Domain,
    Explainer,
    Feature,
    FeatureNameError,
    PairSteps,
    ProbabilityAtLeast,
    ReluNetwork,
    Same,
    Steps,
    Table,
    UnsettledError,
    Within,
)


def some_box(small):
    """Random conditions, and the values that meet each."""
    box, allowed = {}, [list(values) for values in small.values]
    for i, values in enumerate(small.values):
        kind = small.random.choice(["none", "range", "values", "one", "both"])
        numbers = [value for value in values if small.is_number(i, value)]
        if kind == "none" or (kind in ("range", "both") and not numbers):
            continue
        if kind == "range" or kind == "both":
            low, high = sorted(small.random.choices(numbers, k=2))
            low, high = small.random.choice([(low, high), (None, high), (low, None)])
            meets = [v for v in numbers if (low is None or v >= low) and (high is None or v <= high)]
            written = (low, high) if small.random.random() < 0.5 else {"from": low, "to": high}
            box[f"f{i}"] = written if kind == "range" else [written, *small.codes[i]]
            allowed[i] = meets if kind == "range" else meets + [v for v in small.codes[i] if v not in meets]
        else:
            meets = small.random.sample(values, 1 if kind == "one" else small.random.randint(1, len(values)))
            box[f"f{i}"] = meets[0] if kind == "one" else meets if small.random.random() < 0.5 else set(meets)
            allowed[i] = meets
    return box, allowed


def some_claim(small):
    """A random claim, the class it is about, by how much it holds at a row, and whether it does."""
    if small.task != "multiclass" and (small.task == "regression" or small.random.random() < 0.4):
        value = small.random.choice([Fraction(k, 2) for k in range(-6, 7)])
        if small.random.random() < 0.5:
            return (
                AtLeast(value),
                None,
                lambda row: small.score(row)[0] - value,
                lambda row: small.score(row)[0] >= value,
            )
        return AtMost(value), None, lambda row: value - small.score(row)[0], lambda row: small.score(row)[0] <= value
    outcome = small.random.choice(small.classes)
    return Same(), outcome, lambda row: min(small.lead(row, outcome)), lambda row: small.decides(row) == outcome


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))])
def test_a_verdict_is_that_of_going_through_the_box(block, pairs):
    for seed in range(100 * block, 100 * block + (100 if not pairs else 40)):
        small = Small(seed, pairs=pairs, most=3)
        explainer = Explainer(small.model)
        (box, allowed), (claim, outcome, margin, holds) = some_box(small), some_claim(small)
        rows = [small.some_row() for _ in range(8)]
        found = explainer.check(box, outcome, claim=claim, table=table_of(small, rows))
        every = list(itertools.product(*allowed))
        assert bool(found) == all(map(holds, every)), seed
        inside = [k for k, row in enumerate(rows) if all(v in a for v, a in zip(row, allowed, strict=True))]
        assert found.rows == len(inside)
        assert list(found.violations) == [k for k in inside if not holds(rows[k])]
        if found:
            assert found.margin == min(map(margin, every))
        else:
            point = list(found.counterexample.values())
            assert not holds(point)
            assert all(is_among(value, some) for value, some in zip(point, allowed, strict=True))
        check_certificate(explainer, found)


def is_among(value, allowed):
    """Whether a value is listed, or lies between two neighbours that are."""
    return value in allowed or any(
        isinstance(a, Fraction) and isinstance(b, Fraction) and a < value < b and b - a == Fraction(1, 4)
        for a, b in itertools.product(allowed, repeat=2)
    )


def check_certificate(explainer, found):
    parts = [found.box.region[i] for i in found.box.conditions] if found else []
    if any(len(part.spans) + len(part.codes_) > 1 or (part.categories_ and part.codes_) for part in parts):
        with pytest.raises(CertificateError, match="joins several ranges"):
            found.certificate()
        return
    certificate = found.certificate()
    assert suffice_check.check(explainer.compiled.content, certificate.text.encode()).startswith("Proven: ")


def test_the_certificate_of_an_assertion_about_two_features_holds_in_its_box_alone():
    """Below 25 with a debt of 10 or more is what it must keep out of."""
    age, debt = Feature("age", Domain.interval(18, 99)), Feature("debt", Domain.interval(0, 50))
    both = PairSteps([25], [10], [[0, -3], [0, 0]])
    model = AdditiveModel([None, None], 2, features=[age, debt], classes=["no", "yes"], pairs={("age", "debt"): both})
    explainer = Explainer(model)
    found = explainer.check({"age": (25, 60)}, "yes")
    document = found.certificate().document
    assert document["result"]["ranges"] == [{"feature": 0, "low": "25", "high": "60"}]
    for low, is_accepted in (("25", True), ("24", False), ("25-e", False)):
        document["result"]["ranges"][0]["low"] = low
        if is_accepted:
            assert suffice_check.check(explainer.compiled.content, json.dumps(document).encode())
        else:
            with pytest.raises((suffice_check.RejectedError, suffice_check.UnreadableError)):
                suffice_check.check(explainer.compiled.content, json.dumps(document).encode())


LOAN = AdditiveModel(
    [Steps([10, 20], [-1, 0, 2]), Table({"own": 1, "rent": 0, MISSING: -3})],
    intercept=0,
    classes=["refuse", "grant"],
    features=[Feature("income", Domain.interval(0, 50)), Feature("housing")],
)


def test_a_probability_is_compared_with_a_threshold_that_is_not_rational():
    explainer = Explainer(LOAN)
    box = {"income": (20, None), "housing": ["own", "rent"]}
    level = 1 / (1 + math.exp(-2))  # the probability of the lowest score
    assert explainer.check(box, "grant", claim=ProbabilityAtLeast(Fraction(level) - Fraction(1, 10**9)))
    assert not explainer.check(box, "grant", claim=ProbabilityAtLeast(Fraction(level) + Fraction(1, 10**9)))


def test_a_probability_of_a_class_that_is_not_predicted_can_be_claimed():
    explainer = Explainer(LOAN)
    box = {"income": (None, 5), "housing": "rent"}
    found = explainer.check(box, "grant", claim=ProbabilityAtLeast("0.25"))
    assert found  # 1 / (1 + e) is 0.2689...
    with pytest.raises(CertificateError, match="below 1/2"):
        found.certificate()
    assert not explainer.check(box, "grant", claim=ProbabilityAtLeast("0.27"))


def test_rows_that_cannot_be_read_are_told_apart():
    found = Explainer(LOAN).check(
        {"income": (20, None)}, "grant", table=table_rows([30, "own"], [99, "own"], [30, None])
    )
    assert found.rows == 2
    assert found.violations == (2,)
    assert list(found.failed) == [1]
    assert "Left out: 1 row; row 1: " in str(found)


def table_rows(*rows):
    return np.array(rows, dtype=object)


@pytest.mark.parametrize(
    ("box", "error", "said"),
    [
        ({"wage": 1}, FeatureNameError, "'wage' is not a feature"),
        ({"income": (60, None)}, BoxError, "no number of 'income' lies in the range"),
        ({"income": (1, 2, 3)}, BoxError, "the condition on 'income' is"),
        ({"income": {"above": 3}}, BoxError, "the condition on 'income' is"),
        ({"income": []}, BoxError, "lists no value"),
        ({"income": ("low", 3)}, BoxError, "the condition on 'income'"),
        ({"housing": "caravan"}, BoxError, "names caravan, outside its domain"),
        ({"housing": (1, 2)}, BoxError, "no number of 'housing'"),
        ([("income", 1)], BoxError, "a box is a mapping"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(box, error, said):
    with pytest.raises(error) as caught:
        Explainer(LOAN).check(box, "grant")
    assert said in str(caught.value)


def test_a_claim_needs_a_class_of_the_model_and_no_row():
    explainer = Explainer(LOAN)
    with pytest.raises(ClaimError, match="must name a class of the model"):
        explainer.check({})
    with pytest.raises(ClaimError, match="must name a class of the model"):
        explainer.check({}, "maybe")
    with pytest.raises(ClaimError, match="a row's own score"):
        explainer.check({}, claim=Within(1))


def test_rounding_is_charged_where_the_model_is_deployed_in_floats():
    network = ReluNetwork(weights=[[[1.0]], [[1.0]]], biases=[[0.0], [0.0]])
    explainer = Explainer(AdditiveModel([network], Fraction(1, 10**9), features=["x"], classes=["n", "y"]))
    assert explainer.check({"x": (0, 1)}, "y")
    with pytest.raises(UnsettledError, match="rounding"):
        explainer.check({"x": (0, 1)}, "y", arithmetic="float32")


def test_a_box_is_told_with_all_its_digits():
    explainer = Explainer(AdditiveModel([Steps([1], [1, -1])], features=["a"], classes=["no", "yes"]))
    found = explainer.check({"a": (0, "0.9999999")}, "yes")
    assert found
    assert "wherever a is in [0, 0.9999999]" in str(found)
