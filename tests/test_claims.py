"""Claims of every kind, against sets and inputs found by trying all of them."""

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice import AdditiveModel, AtLeast, AtMost, Beats, Domain, Explainer, Feature, Same, Status, Table, Within

ROW = "a"
VALUES = ("a", "b", "c")
CLASSES = ("k0", "k1", "k2", "k3")


@st.composite
def table_models(draw):
    """A model of categorical features only, so that a region is a finite set: (task, tables, intercepts, model)."""
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    outputs = draw(st.integers(2, 4)) if task == "multiclass" else 1
    numbers = st.sampled_from([Fraction(k, 3) for k in (-6, -3, -1, 0, 0, 1, 2, 3, 5)])
    count = draw(st.integers(1, 5))
    known = [VALUES[: draw(st.integers(1, 3))] for _ in range(count)]
    tables = [{value: [draw(numbers) for _ in range(outputs)] for value in values} for values in known]
    intercepts = [draw(numbers) for _ in range(outputs)]
    classes = CLASSES[:outputs] if task == "multiclass" else None
    model = AdditiveModel([Table(table) for table in tables], intercepts, task, classes=classes)
    return task, tables, intercepts, model


def scores(tables, intercepts, point):
    return [
        start + sum((table[value][j] for table, value in zip(tables, point, strict=True)), Fraction(0))
        for j, start in enumerate(intercepts)
    ]


def holds(claim, task, here, there):
    """Whether a claim about scores `here` is true at scores `there`, from its definition in words."""
    if isinstance(claim, AtLeast):
        return there[0] >= Fraction(str(claim.value))
    if isinstance(claim, AtMost):
        return there[0] <= Fraction(str(claim.value))
    if isinstance(claim, Within):
        return abs(there[0] - here[0]) <= Fraction(str(claim.delta))
    if task == "binary":
        return (there[0] >= 0) == (here[0] >= 0)
    winner = here.index(max(here))
    if isinstance(claim, Same):
        return there.index(max(there)) == winner
    other = CLASSES.index(claim.other)
    return there[winner] > there[other] or (there[winner] == there[other] and winner < other)


def claims_for(task, here):
    if task == "multiclass":
        winner = here.index(max(here))
        return [Same(), *(Beats(CLASSES[j]) for j in range(len(here)) if j != winner)]
    common = [AtLeast(here[0] - 1), AtLeast(here[0]), AtMost(here[0] + Fraction(2, 3)), Within(1), Within(0)]
    return common if task == "regression" else [Same(), *common]


@settings(max_examples=250)
@given(table_models(), st.data())
def test_smallest_sets_and_contrasts_are_those_of_trying_everything(case, data):
    task, tables, intercepts, model = case
    row = [ROW] * len(tables)
    here = scores(tables, intercepts, row)
    claim = data.draw(st.sampled_from(claims_for(task, here)))
    points = list(product(*tables))
    features = range(len(tables))

    def breaks(moving):
        """Whether some input that differs from the row in these features only makes the claim false."""
        inside = (p for p in points if all(p[i] == ROW or i in moving for i in features))
        return any(not holds(claim, task, here, scores(tables, intercepts, p)) for p in inside)

    sets = [s for k in range(len(tables) + 1) for s in combinations(features, k)]
    sufficient = [s for s in sets if not breaks(set(features) - set(s))]
    explainer = Explainer(model)
    why = explainer.explain(row, radius=1, claim=claim)
    kept = tuple(sorted(model.names.index(name) for name in why.features))
    assert why.status is Status.PROVEN
    assert (why.size, why.lower_bound) == (len(sufficient[0]), len(sufficient[0]))
    assert kept in sufficient
    for fixed in combinations(features, data.draw(st.integers(0, len(tables)))):
        names = [model.names[i] for i in fixed]
        assert explainer.is_sufficient(row, names, radius=1, claim=claim) == (fixed in sufficient)
    for name in why.features:
        point = why.counterexample(without=name)
        assert not holds(claim, task, here, scores(tables, intercepts, list(point.values())))
        assert all(point[other] == ROW for other in why.features if other != name)

    breaking = [s for s in sets if breaks(set(s))]
    contrast = explainer.contrast(row, radius=1, claim=claim)
    assert contrast.is_possible == bool(breaking)
    if breaking:
        point = contrast.counterexample
        changed = {name for name, value in point.items() if value != ROW}
        assert changed <= set(contrast.features)
        assert contrast.size == len(breaking[0])
        assert not holds(claim, task, here, scores(tables, intercepts, list(point.values())))


def test_regression_on_numbers():
    line = suffice.PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    model = AdditiveModel([line, line * -3], 10, "regression", features=["a", Feature("b", Domain.interval(-5, 5))])
    explainer = Explainer(model)
    row = {"a": 1, "b": 1}
    assert explainer.explain(row, radius=1, claim=Within(4)).features == ()
    assert explainer.explain(row, radius=1, claim=Within(3)).size == 1  # either will do
    assert explainer.explain(row, radius=1, claim=Within("2.9")).features == ("b",)
    assert explainer.explain(row, radius=1, claim=AtLeast(7)).features == ("b",)
    text = str(explainer.explain(row, radius=1, claim=Within(3)))
    assert text.startswith("Prediction: 8; to stay at least 5 and at most 11 (tightest margin 3)")
    contrast = explainer.contrast(row, radius=1, claim=AtLeast(7))
    assert contrast.features == ("b",)
    assert explainer.predict(contrast.counterexample) < 7
    assert str(contrast).startswith(
        "Prediction: 8; to stay at least 7\nProven: 1 feature can break the claim; no fewer"
    )


def test_falls_without_bound_break_any_claim():
    line = suffice.PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    explainer = Explainer(AdditiveModel([line, line], 0, features=["a", "b"]))
    contrast = explainer.contrast([1, 1], radius={"a": "inf", "b": 1})
    assert contrast.features == ("a",)
    assert explainer.predict(contrast.counterexample) == 0
    none = explainer.contrast([1, 1], radius=0)
    assert (none.is_possible, none.features, none.size) == (False, (), 0)
    assert "nothing within the region can change it" in str(none)
    with pytest.raises(suffice.ClaimError, match="no input of the region breaks the claim"):
        none.counterexample  # noqa: B018


def test_a_budget_that_ends_is_said():
    # How far each feature can lower and raise the score; no bound at the root settles which set is smallest.
    moves = [(7, 9), (9, 9), (5, 2), (9, 8), (3, 2), (6, 1), (1, 1), (3, 3), (3, 7), (8, 3)]
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": -down, "c": up}) for down, up in moves], 0, "regression"))
    proven = explainer.explain(["a"] * 10, radius=1, claim=Within(11))
    assert (proven.status, proven.size, proven.lower_bound) == (Status.PROVEN, 7, 7)
    hasty = explainer.explain(["a"] * 10, radius=1, claim=Within(11), max_nodes=0)
    assert hasty.status is Status.BOUNDED
    assert hasty.lower_bound < 7 <= hasty.size
    assert f"no set of fewer than {hasty.lower_bound} does (the search ended at its budget)." in str(hasty)
    assert explainer.is_sufficient(["a"] * 10, hasty.features, radius=1, claim=Within(11))


BAD = [
    ("regression", None, r"pass claim=Within\(delta\), AtLeast\(value\) or AtMost\(value\)"),
    ("regression", Beats("k1"), "'k1' is not a class of this model; it has no classes"),
    ("regression", AtLeast(5), "false at the row itself: the score is 2, not at least 5"),
    ("regression", AtMost(1), "false at the row itself: the score is 2, not at most 1"),
    ("regression", "same", r"claim must be Same\(\).*got 'same'"),
    ("multiclass", Beats("k9"), "'k9' is not a class of this model; it has k0, k1"),
    ("multiclass", Beats("k0"), "'k0' is itself the prediction"),
    ("multiclass", Within(1), "Within speaks of one score, but this model has 2"),
]


@pytest.mark.parametrize(("task", "claim", "words"), BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_claims_that_do_not_fit(task, claim, words):
    if task == "multiclass":
        model = AdditiveModel([Table({"a": [2, 0]})], [0, 0], task, classes=["k0", "k1"])
    else:
        model = AdditiveModel([Table({"a": 2})], 0, task)
    arguments = {} if claim is None else {"claim": claim}
    with pytest.raises(suffice.ClaimError, match=words):
        Explainer(model).explain(["a"], radius=1, **arguments)


def test_claims_that_make_no_sense():
    with pytest.raises(suffice.ClaimError, match="from 0 up, got -1"):
        Within(-1)
    with pytest.raises(suffice.ClaimError, match="AtLeast: nan"):
        AtLeast(float("nan"))
