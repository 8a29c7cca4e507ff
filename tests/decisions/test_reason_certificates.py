"""Certificates of reasons: accepted as they are, and whatever is accepted after a change of them is true."""

from __future__ import annotations

import copy
import itertools
import json
from fractions import Fraction

import pytest
from oracles.small import Small

import suffice_check
from suffice import MISSING, AdditiveModel, Explainer, Steps
from suffice_check import RejectedError, UnreadableError

SLOW = [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))]


def value_of(cell):
    return MISSING if "missing" in cell else Fraction(cell["number"]) if "number" in cell else cell["label"]


def is_so(small, document):
    """Whether a certificate of reasons is true: every input of the lists is tried."""
    question, result = document["question"], document["result"]
    row = [value_of(cell) for cell in document["row"]]
    lists = [
        [row[i]] if name in question["immutable"] else [value_of(cell) for cell in question["radius"][name]]
        for i, name in enumerate(small.names)
    ]
    breaking = [
        {i for i, value in enumerate(point) if value != row[i]}
        for point in itertools.product(*lists)
        if small.decides(point) != small.decides(row)
    ]
    if result["kind"] == "explanation":
        return not any(changed.isdisjoint(result["fixed"]) for changed in breaking)
    groups = [[small.names.index(name) for name in members] for members in question["groups"].values()]
    items = groups + [[i] for i in range(len(row)) if not any(i in group for group in groups)]
    counts = [sum(not changed.isdisjoint(item) for item in items) for changed in breaking]
    return any(changed <= set(result["changed"]) for changed in breaking) and all(
        count >= Fraction(result["lower_bound"]) for count in counts
    )


def changed(document, small):
    """The same with one thing changed."""
    document, pick = copy.deepcopy(document), small.random.choice
    result, radius, name = document["result"], document["question"]["radius"], pick(small.names)
    other = {"number": "7/2"} if pick([0, 1]) else {"label": pick(["red", "blue"])}
    if (kind := pick(["drop", "add", "row", "set", "bound", "input", "immutable", "plain", "fewer"])) == "drop":
        radius[name].pop(pick(range(len(radius[name]))))
    elif kind == "add":
        radius[name].append(pick([other, {"missing": True}, {"number": pick("01234")}]))
    elif kind == "row":
        document["row"][small.names.index(name)] = pick(radius[name])
    elif kind == "set":
        which = "changed" if "changed" in result else "fixed"
        result[which] = small.random.sample(range(len(small.names)), pick(range(len(small.names) + 1)))
    elif kind == "bound":
        result["lower_bound"] = pick(["0", "1", "2", "3"])
    elif kind == "input" and "input" in document["evidence"]:
        document["evidence"]["input"][small.names.index(name)] = pick([*radius[name], other])
    elif kind == "immutable":
        document["question"]["immutable"].append(name)
    elif kind == "plain":
        radius[name] = pick(["inf", "1", "0"])
    elif "fewer" in document["evidence"]:
        document["evidence"]["fewer"] = []
    return document


def certificates(seeds, *, pairs):
    for seed in seeds:
        small = Small(seed, pairs=pairs, tasks=("binary", "binary", "multiclass"), most=4)
        count = len(small.names)
        grouped = small.random.sample(small.names, 2) if count > 2 and small.random.random() < 0.4 else []
        held = [name for name in small.names if small.random.random() < 0.1]
        explainer = Explainer(small.model)
        why = explainer.reasons(
            small.some_row(), small.some_row(), immutable=held, groups={"both": grouped} if grouped else {}
        )
        document = why.certificate().document
        if document["question"]["radius"] != "inf":  # the two values are all that there are
            yield small, explainer.compiled.content, document


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", SLOW)
def test_what_is_accepted_is_true_as_it_is_and_after_a_change(block, pairs):
    accepted = rejected = 0
    for small, content, document in certificates(range(9000 + 100 * block, 9000 + 100 * block + 60), pairs=pairs):
        assert suffice_check.check(content, json.dumps(document).encode()).startswith("Proven: ")
        assert is_so(small, document)
        for _ in range(10):
            attack = changed(document, small)
            try:
                suffice_check.check(content, json.dumps(attack).encode())
            except (RejectedError, UnreadableError):
                rejected += 1
                continue
            accepted += 1
            if all(isinstance(one, list) for one in attack["question"]["radius"].values()):
                assert is_so(small, attack), attack
    assert accepted > 20
    assert rejected > 100


STEPS = Explainer(AdditiveModel([Steps([1], [-1, 2]), Steps([1], [0, -1])], features=["a", "b"]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": []}, "leaves out the row"),
        ({"a": [{"number": "2"}]}, "leaves out the row"),
        ({"a": [{"number": "0"}, {"label": "x"}]}, "leaves out the row or its domain"),
    ],
)
def test_values_must_hold_the_row_and_be_of_the_domain(change, said):
    document = STEPS.reasons([0, 0], [2, 0]).certificate().document
    document["question"]["radius"] |= change
    with pytest.raises(RejectedError, match=said):
        suffice_check.check(STEPS.compiled.content, json.dumps(document).encode())


def test_what_is_proven_names_the_values():
    told = suffice_check.check(STEPS.compiled.content, STEPS.reasons([0, 0], [2, 0]).certificate().text.encode())
    assert "changing 'a' alone can break the claim that the prediction stays 0; no fewer features can" in told
    assert "'a' one of 0 and 2" in told


def test_lists_have_no_multiples():
    explainer = STEPS
    document = explainer.counterfactual([0, 0], 3, unit="raw").certificate().document
    document["question"]["radius"] = {"a": [{"number": "0"}, {"number": "2"}], "b": "1"}
    with pytest.raises(RejectedError):
        suffice_check.check(explainer.compiled.content, json.dumps(document).encode())
