"""Claims that fit, and those that do not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Explainer,
    ProbabilityAtLeast,
    Status,
    Table,
    Within,
)

BAD = [
    ("regression", None, r"a regression has no class, so give a claim: Within, AtLeast or AtMost"),
    ("regression", Beats("k1"), "'k1' is not a class of this model; it has no classes"),
    ("regression", AtLeast(5), "false at the row itself: the score is 2, not at least 5"),
    ("regression", AtMost(1), "false at the row itself: the score is 2, not at most 1"),
    ("regression", "same", r"a claim is Same\(\).*got 'same'"),
    ("multiclass", Beats("k9"), "'k9' is not a class of this model; it has k0, k1"),
    ("multiclass", Beats("k0"), "'k0' is the prediction itself"),
    ("multiclass", Within(1), "Within is about a single score, but this model has 2"),
]


@pytest.mark.parametrize(("task", "claim", "words"), BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_claims_that_do_not_fit(task, claim, words):
    if task == "multiclass":
        model = AdditiveModel([Table({"a": [2, 0]})], [0, 0], task, classes=["k0", "k1"])
    else:
        model = AdditiveModel([Table({"a": 2})], 0, task)
    arguments = {} if claim is None else {"claim": claim}
    with pytest.raises(suffice.ClaimError, match=words):
        Explainer(model).explain(["a"], radius=1, unit="raw", **arguments)


def test_claims_that_make_no_sense():
    with pytest.raises(suffice.ClaimError, match="a distance of 0 or more, got -1"):
        Within(-1)
    with pytest.raises(suffice.ClaimError, match="AtLeast: nan"):
        AtLeast(float("nan"))


@given(st.integers(1, 99), st.integers(-5, 5), st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_a_probability_is_a_threshold_on_the_score(percent, score, drops):
    p = Fraction(percent, 100)
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": -d, "c": d}) for d in drops], score))
    row, certain = ["a"] * len(drops), abs(score) if score else 0
    threshold = math.log(percent / (100 - percent))  # no multiple of 1 comes close, but for p = 1/2
    if certain < threshold:
        with pytest.raises(suffice.ClaimError, match=r"false at the row itself.*probable to be"):
            explainer.explain(row, 1, claim=ProbabilityAtLeast(p), unit="raw")
        return
    why = explainer.explain(row, 1, claim=ProbabilityAtLeast(p), unit="raw")
    room, size = certain - threshold, len(drops)
    for freed, fall in enumerate(np.cumsum(sorted(drops)).tolist(), start=1):
        size = len(drops) - freed if fall <= room else size
    assert (why.size, why.status) == (size, Status.PROVEN)
    contrast = explainer.contrast(row, 1, claim=ProbabilityAtLeast(p), unit="raw")
    if contrast.is_possible:
        there = float(explainer.score(contrast.counterexample))
        assert 1 / (1 + math.exp(-there if score >= 0 else there)) < p


def test_probabilities_that_make_no_sense():
    for p in (0, 1, -1, "1.5"):
        with pytest.raises(suffice.ClaimError, match="between 0 and 1"):
            ProbabilityAtLeast(p)
    three = AdditiveModel([Table({"a": [0, 1, 2]})], [0, 0, 0], "multiclass")
    with pytest.raises(suffice.ClaimError, match="needs a model of two classes, but this is a multiclass model"):
        Explainer(three).explain(["a"], 1, claim=ProbabilityAtLeast("0.9"), unit="raw")
