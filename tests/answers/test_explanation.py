"""What an explanation says in words, and how it travels."""

import pickle

import pytest
from builders import RISING

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Explainer,
    ProbabilityAtLeast,
    Table,
)


def test_text_says_what_is_proven():
    explainer = Explainer(AdditiveModel([RISING, RISING, RISING], 0, features=["a", "b", "c"], classes=["no", "yes"]))
    text = str(explainer.explain([3, 1, 1], radius={"a": 4, "b": 3, "c": 1}, unit="raw"))
    assert text.splitlines() == [
        "In short: yes; a (3) settles this: whatever else changes within the region, the prediction stays yes.",
        "Prediction: yes (probability 0.993, margin 5 in log-odds)",
        "Region: each feature within its own radius (in the features' own units)",
        "Proven: fixing 1 of 3 features is enough: whatever the other 2 do within the region, the prediction stays the "
        "same; no smaller set is enough.",
        "  a  = 3  could lower the margin by 4",
        "Probability: whatever the free features do within the region, that of yes stays at or above 0.731.",
        "Slack: in the worst case the free features use 4 of the margin; 1 is left.",
        "Strongest free: b (3), c (1).",
        "If a could also change: 3 -> -1 with b 1 -> -2 would change the prediction to no.",
    ]
    assert "no feature needs to be fixed" in str(explainer.explain([3, 1, 1], radius=0.1, unit="raw"))
    assert "every feature is needed" in str(explainer.explain([0, 0, 0], radius=1, unit="raw"))


def test_an_explanation_survives_pickling():
    explainer = Explainer(AdditiveModel([RISING, Table({"u": 1, MISSING: 0})], 0, features=["a", "b"]))
    why = explainer.explain([1, "u"], radius=3, unit="raw")
    again = pickle.loads(pickle.dumps(why))
    assert str(again) == str(why)
    assert again.counterexample(without="a") == why.counterexample(without="a")


def test_repr_is_short():
    why = Explainer(AdditiveModel([RISING] * 50)).explain([1] * 50, radius=2, unit="raw")
    assert repr(why) == "<Explanation: 1, 25 of 50 features, proven>"


def test_features_that_are_fixed_by_wish_are_not_called_needed():
    explainer = Explainer(AdditiveModel([RISING] * 3, 0, features=list("abc")))
    why = explainer.explain([1, 1, 1], radius="0.01", fix=["a", "b", "c"], unit="raw")
    assert "needed" not in str(why)
    assert str(why).splitlines()[0] == "In short: 1; with all 3 features fixed, nothing can change."
    assert str(why).splitlines()[3] == (
        "Proven: with all 3 features fixed, nothing can change; no smaller set that the preferences allow is enough."
    )
    with pytest.raises(
        suffice.ClaimError, match="without 'a': it is fixed because you asked for it, not because it is"
    ):
        why.counterexample("a")
    needed = explainer.explain([1, 1, 1], radius=4, unit="raw")
    assert "every feature is needed: if any one of them is free, the prediction can change." in str(needed)
    assert str(needed).splitlines()[0] == "In short: 1; this rests on all 3 features."


def test_texts_speak_of_the_claim():
    explainer = Explainer(AdditiveModel([RISING], 0, "regression"))
    assert "the claim stays true" in str(explainer.explain([3], 1, claim=suffice.Within(5), unit="raw"))
    assert "no change within the region can break the claim" in str(
        explainer.contrast([3], 1, claim=suffice.Within(5), unit="raw")
    )
    binary = Explainer(AdditiveModel([RISING], 0)).contrast([3], 2, claim=ProbabilityAtLeast("0.8"), unit="raw")
    assert str(binary).splitlines() == [
        "Prediction: 1 (probability 0.953)",
        "Claim: P(1) stays at or above 0.8",
        "Region: within 2 of the row's value",
        "Proven: changing 1 feature can break the claim; no fewer can.",
        "  x0  3 -> 1",
    ]
