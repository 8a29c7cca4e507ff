"""Preferences, thresholds on probabilities, balls and deployed arithmetic, asked of the library as users do."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_claims import ROW, claims_for, holds, scores, table_models

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    ReluNetwork,
    Status,
    Steps,
    Table,
)
from suffice.rounding import rounding_errors

RISING = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)


def drop_model(*drops, margin):
    """A binary model whose features can lower the score by given amounts, from the row of all "a"."""
    return Explainer(AdditiveModel([Table({"a": 0, "b": -drop}) for drop in drops], margin))


# --- preferences --------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(table_models(), st.data())
def test_preferences_and_budgets_against_trying_everything(case, data):
    task, tables, intercepts, model = case
    count = len(tables)
    row, here = [ROW] * count, scores(tables, intercepts, [ROW] * count)
    claim = data.draw(st.sampled_from(claims_for(task, here)))
    most = data.draw(st.sampled_from([None, 1, 2]))
    wishes = [data.draw(st.sampled_from(["", "", "", "keep", "free"])) for _ in range(count)]
    keep, free = ({i for i in range(count) if wishes[i] == wish} for wish in ("keep", "free"))
    group = data.draw(st.sets(st.sampled_from(range(count)), min_size=2)) if count > 2 else set()
    group = set() if group & (keep | free) else group
    price = {i: data.draw(st.sampled_from([1, 2, Fraction(1, 2)])) for i in range(count) if i not in group}
    points = list(product(*tables))

    def is_sufficient(kept):
        inside = [
            p
            for p in points
            if all(p[i] == ROW for i in kept) and (most is None or sum(value != ROW for value in p) <= most)
        ]
        return all(holds(claim, task, here, scores(tables, intercepts, p)) for p in inside)

    def cost(kept):
        return sum(price[i] for i in kept if i not in group) + (3 if group & set(kept) else 0)

    allowed = [
        set(kept)
        for size in range(count + 1)
        for kept in combinations(range(count), size)
        if keep <= set(kept) and not free & set(kept) and len(group & set(kept)) in (0, len(group))
    ]
    enough = [kept for kept in allowed if is_sufficient(kept)]
    named = {model.names[i]: value for i, value in price.items()} | ({"tied": 3} if group else {})
    wanted = {
        "claim": claim,
        "keep": [model.names[i] for i in keep],
        "free": [model.names[i] for i in free],
        "groups": {"tied": [model.names[i] for i in group]} if group else {},
        "cost": named,
        "at_most": most,
    }
    explainer = Explainer(model)
    if not enough:
        with pytest.raises(suffice.PreferenceError, match="cannot all be free"):
            explainer.explain(row, 1, **wanted)
        return
    why = explainer.explain(row, 1, **wanted)
    kept = {model.names.index(name) for name in why.features}
    least = min(map(cost, enough))
    assert kept in enough
    assert (why.cost, why.lower_bound, cost(kept), why.status) == (least, least, least, Status.PROVEN)
    every = explainer.explanations(row, 1, **wanted)
    found = [frozenset(model.names.index(name) for name in names) for names in every]
    assert sorted(map(sorted, found)) == sorted(sorted(kept) for kept in enough if cost(kept) == least)
    assert every.count() == (len(found), len(found))
    assert list(every) == list(every)
    wanted["minimal"] = "subset"
    found = [{model.names.index(name) for name in names} for names in explainer.explanations(row, 1, **wanted)]
    assert sorted(map(sorted, found)) == sorted(sorted(k) for k in enough if not any(other < k for other in enough))


def test_costs_by_hand():
    explainer = drop_model(3, 2, 2, margin=4)
    row = ["a"] * 3
    assert explainer.explain(row, 1).features == ("x0",)
    why = explainer.explain(row, 1, cost={"x0": 5, "x1": "0.5"})
    assert (why.features, why.cost, why.lower_bound) == (("x1", "x2"), Fraction(3, 2), Fraction(3, 2))
    assert "no set that the preferences allow costs less than their 3/2." in str(why)
    kept = explainer.explain(row, 1, keep=["x1"])
    assert (kept.size, kept.lower_bound, "x1" in kept.features) == (2, 2, True)
    assert explainer.explain(row, 1, free=["x0"]).features == ("x1", "x2")


def test_a_group_counts_as_one():
    explainer = drop_model(3, 3, 1, margin=4)
    why = explainer.explain(["a"] * 3, 1, groups={"address": ["x0", "x1"]})
    assert (set(why.features), why.size, why.cost, why.status) == ({"x0", "x1"}, 2, 1, Status.PROVEN)
    assert explainer.explain(["a"] * 3, 1, groups=[["x0", "x1"]]).cost == 1


BAD = [
    ({"keep": ["x0"], "free": ["x0"]}, "'x0' is to be kept and to be free"),
    ({"keep": ["x0"], "free": ["x1"], "groups": {"g": ["x0", "x1"]}}, "the group 'g' is to be kept and to be free"),
    ({"groups": {"g": []}}, "the group 'g' is empty"),
    ({"groups": {"g": ["x0"], "h": ["x0", "x1"]}}, "'x0' is in the groups 'g' and 'h'"),
    ({"groups": {"x1": ["x0", "x2"]}}, "the name 'x1' is taken"),
    ({"groups": "x0"}, "groups must be lists of features"),
    ({"cost": {"x0": 0}}, "the cost of 'x0' is 0; it must be above 0"),
    ({"cost": {"x0": "dear"}}, "the cost of 'x0': 'dear' is not a number"),
    ({"cost": {"x0": 1}, "groups": {"g": ["x0", "x1"]}}, "'x0' is in the group 'g'"),
    ({"cost": [1, 2]}, "cost must be a mapping"),
    ({"free": ["x0", "x1"]}, r"'x0', 'x1' cannot all be free: together they can lower the margin of 4 by 5"),
    ({"at_most": 0}, "at_most must be a whole number of features from 1 up, got 0"),
]


@pytest.mark.parametrize(("wishes", "words"), BAD, ids=range(len(BAD)))
def test_preferences_that_cannot_be_met(wishes, words):
    with pytest.raises(suffice.PreferenceError, match=words):
        drop_model(3, 2, 2, margin=4).explain(["a"] * 3, 1, **wishes)


def test_unknown_names_in_preferences():
    for wishes in ({"keep": ["y"]}, {"free": ["y"]}, {"groups": [["y"]]}, {"cost": {"y": 1}}):
        with pytest.raises(suffice.FeatureNameError, match="'y' is not a feature"):
            drop_model(1, margin=4).explain(["a"], 1, **wishes)


def test_other_words_are_refused():
    explainer = drop_model(1, margin=4)
    with pytest.raises(suffice.ClaimError, match="minimal must be 'size' or 'subset'"):
        explainer.explanations(["a"], 1, minimal="all")
    with pytest.raises(suffice.RadiusError, match="norm must be 1, 2 or"):
        explainer.explain(["a"], 1, norm=3)
    with pytest.raises(suffice.ClaimError, match="semantics must be 'exact', 'float32' or 'float64', got 'float16'"):
        explainer.explain(["a"], 1, semantics="float16")


def test_budgets_that_end_are_said():
    moves = [(7, 9), (9, 9), (5, 2), (9, 8), (3, 2), (6, 1), (1, 1), (3, 3), (3, 7), (8, 3)]
    model = AdditiveModel([Table({"a": 0, "b": -down, "c": up}) for down, up in moves], 0, "regression")
    explainer, question = Explainer(model), {"claim": suffice.Within(11), "max_nodes": 0}
    with pytest.raises(suffice.BudgetError, match="only known to lie between"):
        explainer.explanations(["a"] * 10, 1, **question)
    numbers = [PiecewiseLinear([0], [0], left_slope=down, right_slope=up) for down, up in moves]
    with pytest.raises(suffice.BudgetError, match="at the radius 11/54 the least cost is only known to lie between"):
        Explainer(AdditiveModel(numbers, 0, "regression")).curve([0] * 10, until=1, **question)


# --- thresholds on probabilities ----------------------------------------------------------------------------------


@given(st.integers(1, 99), st.integers(-5, 5), st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_a_probability_is_a_threshold_on_the_score(percent, score, drops):
    p = Fraction(percent, 100)
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": -d, "c": d}) for d in drops], score))
    row, certain = ["a"] * len(drops), abs(score) if score else 0
    threshold = math.log(percent / (100 - percent))  # no multiple of 1 comes close, but for p = 1/2
    if certain < threshold:
        with pytest.raises(suffice.ClaimError, match=r"false at the row itself.*probable to be"):
            explainer.explain(row, 1, claim=ProbabilityAtLeast(p))
        return
    why = explainer.explain(row, 1, claim=ProbabilityAtLeast(p))
    room, size = certain - threshold, len(drops)
    for freed, fall in enumerate(np.cumsum(sorted(drops)).tolist(), start=1):
        size = len(drops) - freed if fall <= room else size
    assert (why.size, why.status) == (size, Status.PROVEN)
    contrast = explainer.contrast(row, 1, claim=ProbabilityAtLeast(p))
    if contrast.is_possible:
        there = float(explainer.score(contrast.counterexample))
        assert 1 / (1 + math.exp(-there if score >= 0 else there)) < p


def test_a_probability_that_a_score_nearly_has_is_decided():
    """A threshold 1e-30 beside a sum of drops: the first enclosure does not tell, a closer one does."""
    for step, size in ((Fraction(1, 10**60), 1), (Fraction(-1, 10**60), 0)):
        low, high = suffice.claims.logit(suffice.rational.rational("0.8"), 400)
        near = Fraction(int(low.p), int(low.q))
        explainer = drop_model(Fraction(2), margin=near + 2 - step)
        assert explainer.explain(["a"], 1, claim=ProbabilityAtLeast("0.8")).size == size
        assert high > low


def test_probabilities_that_make_no_sense():
    for p in (0, 1, -1, "1.5"):
        with pytest.raises(suffice.ClaimError, match="between 0 and 1"):
            ProbabilityAtLeast(p)
    three = AdditiveModel([Table({"a": [0, 1, 2]})], [0, 0, 0], "multiclass")
    with pytest.raises(suffice.ClaimError, match="speaks of two classes, but this is a multiclass model"):
        Explainer(three).explain(["a"], 1, claim=ProbabilityAtLeast("0.9"))


# --- balls --------------------------------------------------------------------------------------------------------


def test_a_ball_is_answered_by_its_box_and_says_so():
    explainer = Explainer(AdditiveModel([RISING] * 3, 0))
    why = explainer.explain([1, 1, 1], radius=2, norm=2)
    # The box lets all move by 2 at once, one axis of the ball only one: nothing between 0 and 2 is ruled out.
    assert (why.size, why.lower_bound, why.status) == (2, 0, Status.BOUNDED)
    assert "the box around the ball of the 2-norm was searched" in str(why)
    assert explainer.explain([1, 1, 1], radius=4, norm=1).status is Status.PROVEN  # each alone breaks it
    assert explainer.explain([1, 1, 1], radius=1, norm=1).size == 0


# --- deployed arithmetic ------------------------------------------------------------------------------------------


def forward(network, x, kind, rng):
    """The network's forward pass in a float type, every sum in a random order."""
    h = np.array([x], dtype=kind)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        rows = []
        for w, b in zip(weight.astype(kind), bias.astype(kind), strict=True):
            terms = np.append(w * h, b)
            total = kind(0)
            for term in rng.permutation(terms):
                total = kind(total + term)
            rows.append(total)
        h = np.array(rows, dtype=kind)
        if k < len(network.weights) - 1:
            h = np.maximum(h, kind(0))
    return h


@pytest.mark.parametrize(("name", "kind"), [("float32", np.float32), ("float64", np.float64)])
def test_rounding_stays_within_the_charge(name, kind):
    rng = np.random.default_rng(0)
    for _ in range(20):
        widths = [1, *rng.integers(1, 9, size=rng.integers(1, 4)), 1]
        weights = [rng.normal(size=(o, i)).astype(kind) for i, o in pairwise(widths)]
        network = ReluNetwork(weights, [rng.normal(size=o).astype(kind) for o in widths[1:]])
        center, scale = float(rng.normal()), float(rng.uniform(0.5, 3))
        model = AdditiveModel([network] * 2, 0.1, features=[Feature("a", center=center, scale=scale), "b"])
        explainer = Explainer(model)
        row = rng.normal(size=2).tolist()
        question = explainer._ask(row, 1, "raw", (), AtLeast(-1000))
        (charge,) = rounding_errors(model, question.region, name)
        charge = Fraction(str(charge))
        assert charge < (1e-3 if kind is np.float32 else 1e-11)
        for _ in range(50):
            a, b = (np.array(row) + rng.uniform(-1, 1, size=2)).tolist()
            scaled = kind((kind(a) - kind(center)) / kind(scale))
            parts = [forward(network, scaled, kind, rng)[0], forward(network, kind(b), kind, rng)[0], kind(0.1)]
            computed = kind(0)
            for part in rng.permutation(np.array(parts, dtype=kind)):
                computed = kind(computed + part)
            assert abs(Fraction(float(computed)) - explainer.score([a, b])) <= charge


def test_the_charge_is_taken_from_the_margin_and_reported():
    network = ReluNetwork([np.ones((3, 1), np.float32), np.ones((1, 3), np.float32)], [np.zeros(3, np.float32), None])
    explainer = Explainer(AdditiveModel([network] * 2, 0))
    exact, deployed = (explainer.explain([1, 1], radius=1, semantics=kind) for kind in ("exact", "float32"))
    assert exact.size == 0  # both may fall to a score of exactly 0, which is positive
    assert (deployed.size, deployed.lower_bound, deployed.status) == (1, 0, Status.BOUNDED)
    assert exact.margin - deployed.margin == Fraction(str(deployed.charged[0])) > 0
    assert "Charged: up to" in str(deployed)
    assert "rounding error of float32 was charged" in str(deployed)
    with pytest.raises(suffice.ClaimError, match="rounding alone may break the claim"):
        explainer.explain([0, 0], radius=1, semantics="float32")


def charge(shapes, row, *, radius=0, intercept=0, kind="float32", features=None, **question):
    """What is charged for a regression, and its exact score."""
    explainer = Explainer(AdditiveModel(shapes, intercept, "regression", features=features))
    low = question.pop("claim", AtLeast(explainer.score(row) - 10**30))
    (found, *_) = explainer.explain(row, radius, claim=low, semantics=kind, **question).charged
    return Fraction(str(found)), explainer.score(row)


def summed(terms):
    """A sum in float32, from left to right."""
    total = np.float32(0)
    for term in terms:
        total = np.float32(total + np.float32(term))
    return Fraction(float(total))


TINY = 2.0**-24  # 1 + TINY is 1 in float32, again and again


def test_the_charge_covers_a_sum_that_loses_every_term():
    """The bounds are nearly attained: a 1 swallows a thousand tiny terms, in a layer and in the sum over features."""
    weights = np.array([[1.0] + [TINY] * 1000], dtype=np.float32)
    ones = ReluNetwork([np.zeros((1001, 1), np.float32), weights], [np.ones(1001, np.float32), None])
    found, exact = charge([ones], [0])
    assert exact - summed(weights[0]) <= found < 4 * (exact - summed(weights[0]))
    constants = [ReluNetwork([np.zeros((1, 1), np.float32)], [np.array([w], np.float32)]) for w in weights[0, :200]]
    found, exact = charge(constants, [0] * 200)
    assert exact - summed(weights[0, :200]) <= found < 4 * (exact - summed(weights[0, :200]))


def test_the_charge_covers_rounded_inputs_and_scalings():
    identity = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    found, exact = charge([identity], [1000000.03])
    assert abs(exact - Fraction(float(np.float32(1000000.03)))) <= found
    scaled = [Feature("a", center=1000000.03, scale=3)]
    found, exact = charge([identity], [1000000.0], features=scaled)
    assert abs(exact - Fraction(float(np.float32(1000000.0) - np.float32(1000000.03))) / 3) <= found
    code = [Feature("a", suffice.Domain.interval(0, 1) | suffice.Domain.codes(1000000.03))]
    found, exact = charge([identity], [1000000.03], features=code)
    assert abs(exact - Fraction(float(np.float32(1000000.03)))) <= found


def test_the_charge_covers_exponential_and_leaky_units():
    exu = ReluNetwork([np.array([[60.3]]), np.array([[1.0]])], [np.zeros(1), np.zeros(1)], exu=True)
    found, exact = charge([exu], [1])
    assert abs(exact - Fraction(float(np.exp(np.float32(60.3))))) <= found
    leaky = ReluNetwork([np.array([[1.0]]), np.array([[1.0]])], [np.zeros(1), np.zeros(1)], "leaky_relu")
    found, exact = charge([leaky], [-1000003])
    assert abs(exact - Fraction(float(np.float32(0.01) * np.float32(-1000003)))) <= found


def test_the_charge_covers_tables_and_their_sums():
    thirds = Table({"a": Fraction(1, 3), "b": 5}) + Table({"a": Fraction(-1, 3), "b": 5})
    found, exact = charge([thirds * Fraction(1, 7)], ["a"])
    assert exact == 0 < found
    found, exact = charge([Table({7: Fraction(1, 3)})], [7])
    assert abs(exact - Fraction(float(np.float32(1 / 3)))) <= found


def test_every_side_of_a_claim_is_charged():
    identity = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    at_least, _ = charge([identity], [3], radius=1)
    at_most, _ = charge([identity], [3], radius=1, claim=suffice.AtMost(100))
    within, _ = charge([identity], [3], radius=1, claim=suffice.Within(100))
    assert at_least == at_most == within / 2 > 0  # within compares two computed scores
    two = ReluNetwork([np.ones((2, 1), np.float32)], [np.array([0, 5], np.float32)])
    why = Explainer(AdditiveModel([two], [0, 0], "multiclass")).explain([3], 1, semantics="float32")
    assert Fraction(str(why.charged[0])) > at_least  # both scores are computed
    negative = Explainer(AdditiveModel([identity], -100)).explain([3], 1, semantics="float32")
    assert Fraction(str(negative.charged[0])) > 0


OVERFLOWS = [
    ([np.array([[1e30]]), np.array([[1e20]]), np.array([[1e-45]])], "float32"),
    ([np.array([[1e39]]), np.array([[1e-39]])], "float32"),
    ([np.array([[1e200]]), np.array([[1e200]]), np.array([[1e-300]])], "float64"),
]


@pytest.mark.parametrize(("weights", "kind"), OVERFLOWS, ids=range(3))
def test_floats_that_overflow_on_the_way_have_no_bound(weights, kind):
    network = ReluNetwork(weights, [np.zeros(1)] * len(weights))
    with pytest.raises(suffice.ClaimError, match=f"{kind} may overflow within this region"):
        charge([network], [1], radius=1, kind=kind)


def test_shapes_that_jump_have_no_small_rounding_error():
    explainer = Explainer(AdditiveModel([Steps([0], [1, 2])], 0))
    with pytest.raises(suffice.ClaimError, match="the shape of 'x0' jumps or is no network"):
        explainer.explain([1], radius=1, semantics="float32")
    inside = Table({2: 3}, otherwise=ReluNetwork([[[1.0]]], [[0.0]]))
    with pytest.raises(suffice.ClaimError, match="the shape of 'x0' jumps"):
        Explainer(AdditiveModel([inside], 5, features=[Feature("x0", suffice.Domain.reals())])).explain(
            [1], radius=2, semantics="float32"
        )
    with pytest.raises(suffice.ClaimError, match="the region of 'x0' has no end"):
        explainer.explain([1], radius=math.inf, semantics="float32")


# --- what may and may not be said ---------------------------------------------------------------------------------


def test_features_that_are_kept_by_wish_are_not_called_needed():
    explainer = Explainer(AdditiveModel([RISING] * 3, 0, features=list("abc")))
    why = explainer.explain([1, 1, 1], radius="0.01", keep=["a", "b", "c"])
    assert "needed" not in str(why)
    assert "all 3 features are fixed, so that nothing moves; no smaller set that the preferences allow does." in str(
        why
    )
    with pytest.raises(suffice.ClaimError, match="without 'a': it is kept by preference, not by need"):
        why.counterexample("a")
    needed = explainer.explain([1, 1, 1], radius=4)
    assert "every feature is needed; with any one of them free the prediction can change." in str(needed)


def test_counterexamples_break_the_claim_for_certain():
    network = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    deployed = Explainer(AdditiveModel([network] * 2, 0)).explain([1, 1], radius=1, semantics="float32")
    for name in deployed.features:  # by rounding alone, if at all
        with pytest.raises(suffice.ClaimError, match="no input is known to break the claim"):
            deployed.counterexample(name)
    ball = Explainer(AdditiveModel([RISING] * 3, 0)).explain([1, 1, 1], radius=1.6, norm=1)
    for name in ball.features:  # two full steps leave the ball
        with pytest.raises(suffice.ClaimError, match="the box around the ball"):
            ball.counterexample(name)
    alone = Explainer(AdditiveModel([RISING] * 3, 0)).explain([1, 1, 1], radius=4, norm=1)
    point = alone.counterexample("x0")
    assert sum(value != 1 for value in point.values()) == 1


def test_texts_speak_of_the_claim():
    explainer = Explainer(AdditiveModel([RISING], 0, "regression"))
    assert "the claim stays true" in str(explainer.explain([3], 1, claim=suffice.Within(5)))
    assert "nothing within the region can break the claim" in str(explainer.contrast([3], 1, claim=suffice.Within(5)))
    binary = Explainer(AdditiveModel([RISING], 0)).contrast([3], 2, claim=ProbabilityAtLeast("0.8"))
    assert "to stay at least 0.8 probable to be 1\nProven: 1 feature can break the claim" in str(binary)


def test_an_enclosure_that_does_not_tell_is_never_passed_on():
    """A sum of drops that lies between the first enclosure's ends: every question is decided, or says why not."""
    (_, first), (_, closer) = (suffice.claims.logit(suffice.rational.rational("0.8"), bits) for bits in (128, 512))
    between = (first + closer) / 2
    fall = Fraction(int(between.p), int(between.q)) - 3
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": fall}), Table({"a": 0, "b": "-1/1000"})], 3))
    row, claim = ["a", "a"], ProbabilityAtLeast("0.8")
    assert explainer.is_sufficient(row, ["x1"], 1, claim=claim)
    assert explainer.contrast(row, 1, claim=claim).size == 2
    assert explainer.counterfactual(row, 1, claim=claim).size == 2
    assert set(explainer.inflate(row, 1, claim=claim).ranges) <= {"x0", "x1"}
    assert explainer.explain(row, 1, claim=claim).size == 1
    for minimal in ("size", "subset"):
        with pytest.raises(suffice.BudgetError, match="nearly equals the threshold"):
            list(explainer.explanations(row, 1, claim=claim, minimal=minimal))


NONSENSE = [
    ({"max_nodes": "x"}, suffice.BudgetError, "max_nodes must be a whole number"),
    ({"max_seconds": 10**400}, suffice.BudgetError, "max_seconds must be a number of seconds"),
    ({"semantics": []}, suffice.ClaimError, "semantics must be"),
    ({"norm": "x"}, suffice.RadiusError, "norm must be"),
    ({"cost": {"x0": "1e-400"}}, suffice.PreferenceError, "the costs have no common unit"),
    ({"cost": {"x0": "1e400"}}, suffice.PreferenceError, "the costs have no common unit"),
]


@pytest.mark.parametrize(("given", "kind", "words"), NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_gets_one_sentence(given, kind, words):
    with pytest.raises(kind, match=words):
        drop_model(1, 2, margin=2).explain(["a", "a"], 1, **given)


def test_drops_beyond_floats_are_compared_exactly():
    huge = [Table({"a": 0, "b": f"-{k}e400", "c": f"{k}e400"}) for k in (1, 2, 3)]
    why = Explainer(AdditiveModel(huge, 0, "regression")).explain(["a"] * 3, 1, claim=suffice.Within("3e400"))
    assert (why.size, why.status) == (1, Status.PROVEN)


def test_counts_of_subset_minimal_sets_keep_to_their_budget():
    found = drop_model(*[1] * 40, margin=20).explanations(["a"] * 40, 1, minimal="subset")
    low, high = found.count(max_nodes=100)
    assert low <= math.comb(40, 20) <= high
    assert drop_model(1, 1, 1, margin=1).explanations(["a"] * 3, 1, minimal="subset").count() == (3, 3)


def test_a_range_knows_its_numbers():
    explainer = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", suffice.Domain.integers(-9, 9))]))
    found = explainer.inflate([3], radius=9).ranges["a"]
    assert [k for k in (-1, 0, 9, 10, 2.5, np.int64(3), np.float32(3), math.nan, math.inf, "3") if k in found] == [
        0,
        9,
        3,
        3,
    ]
    with pytest.raises(suffice.PreferenceError, match="'a' is named twice"):
        explainer.inflate([3], radius=9, features=["a", "a"])
    points = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", suffice.Domain.points(-1, 1, 2, 3))]))
    assert str(points.inflate([2], radius=9).ranges["a"]) == "[1, 3]"
    joined = suffice.Domain.interval(0, 2) | suffice.Domain.interval(1, 3)
    overlapping = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", joined)]))
    assert str(overlapping.inflate(["1/2"], 9, features=["a"]).ranges["a"]) == "[0, 3]"


def test_a_radius_on_reals_and_integers():
    domain = suffice.Domain.interval(0, 1) | suffice.Domain.integers(3, 10)
    explainer = Explainer(AdditiveModel([RISING * -1], "4.2", features=[Feature("a", domain)]))
    assert explainer.radius(["1/2"], []) == suffice.Limit(Fraction(9, 2), is_attained=False)
    assert explainer.counterfactual(["1/2"], radius=9).least_change == Fraction(1, 2)
