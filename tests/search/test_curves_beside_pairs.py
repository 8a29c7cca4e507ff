"""Questions about models with curves beside products, against the exact minima of quadratic forms and all sets."""

import hashlib
import json
from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil, floor

import numpy as np
import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.squares import World

import suffice
import suffice_check
from suffice import (
    AdditiveModel,
    AtLeast,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewisePolynomial,
    Product,
    RadiusError,
    Status,
    Steps,
)
from suffice.core.case import Case
from suffice.model.writing import to_bytes
from suffice.question.question import Question
from suffice_check.curves import below

LINE = PiecewisePolynomial([], [[0, 1]])


def squares(first, second, product, intercept, *, low=-2, high=2):
    """`intercept` + first · x² + second · y² + product · x · y, on a box."""
    box = Domain.interval(low, high)
    return AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, first]]), PiecewisePolynomial([], [[0, 0, second]])],
        intercept,
        "binary",
        [Feature("x", box), Feature("y", box)],
        pairs={("x", "y"): Product(PiecewisePolynomial([], [[0, product]]), LINE)},
    )


def worlds(first, count):
    """Random worlds whose claim holds at the row, every third with a tie, and what the oracle admits."""
    for seed in range(first, first + count):
        world = World(seed)
        if seed % 3 == 0:
            world.with_tie()
        sets = [freed for size in range(world.count + 1) for freed in combinations(range(world.count), size)]
        admitted = {freed: world.admits(freed, world.radii) for freed in sets}
        if admitted[()]:
            options = {"unit": "raw"} | ({"claim": world.claim} if world.claim is not None else {})
            radii = dict(zip(world.names, world.radii, strict=True))
            yield world, Explainer(world.model()), radii, options, admitted


def breaks(world, point):
    scores = world.scores([x if x in world.labels[i] else Fraction(x) for i, x in enumerate(point)])
    values = [
        (constant + sum(w * s for w, s in zip(weights, scores, strict=True)), is_strict)
        for weights, constant, is_strict in world.inequalities()
    ]
    return any(value < 0 or (value == 0 and is_strict) for value, is_strict in values)


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_smallest_sets_are_those_of_all_sets(first):
    for world, explainer, radii, options, admitted in worlds(first, 8):
        why = explainer.explain(world.row, radii, **options)
        best = min(world.count - len(freed) for freed, is_so in admitted.items() if is_so)
        assert why.status is Status.PROVEN
        assert why.size == best
        free = tuple(i for i in range(world.count) if i not in why.fixed)
        assert admitted[free]
        least = min(world.lowest(part, free, world.radii) for part in world.inequalities())
        assert 0 <= why.slack <= least
        for name in why.features:
            point = why.counterexample(name)
            assert breaks(world, [point[one] for one in world.names])


def test_every_set_is_told_to_suffice_or_broken():
    for world, explainer, radii, options, admitted in worlds(100, 6):
        for freed, is_so in admitted.items():
            fixed = [name for i, name in enumerate(world.names) if i not in freed]
            found = explainer.sufficiency(world.row, fixed, radii, **options)
            assert bool(found) == is_so
            if not is_so:
                assert breaks(world, [found.counterexample[name] for name in world.names])


def test_contrasts_and_nearest_inputs_break_and_nothing_smaller_does():
    for world, explainer, radii, options, admitted in worlds(200, 5):
        least = min((len(freed) for freed, is_so in admitted.items() if not is_so), default=None)
        for found in (
            explainer.contrast(world.row, radii, **options),
            explainer.counterfactual(world.row, radii, **options),
        ):
            assert found.is_possible == (least is not None)
            if least is not None:
                assert found.size == least == found.lower_bound
                assert breaks(world, [found.counterexample[name] for name in world.names])


def test_what_seemed_to_break_a_claim_may_not_once_curves_are_known_better():
    world = World(2002)
    radii = dict(zip(world.names, world.radii, strict=True))
    found = Explainer(world.model()).counterfactual(world.row, radii, unit="raw", max_changed=1)
    singles = [(i,) for i in range(world.count) if not world.admits((i,), world.radii)]
    assert found.is_possible == bool(singles)


def test_radii_are_enclosed():
    for world, explainer, _, options, _ in worlds(300, 5):
        found = explainer.radius(world.row, world.names[:1], **options)
        free = tuple(range(1, world.count))
        if found.radius == float("inf"):
            assert world.admits(free, [Fraction(100)] * world.count)
        else:
            near = Fraction(1, 2**20) * max(found.radius, 1)
            assert not found.radius or world.admits(free, [found.radius] * world.count)
            assert not world.admits(free, [found.radius + near] * world.count)


@pytest.mark.parametrize(("less", "is_enough"), [(Fraction(1, 1000), True), (Fraction(-1, 1000), False)])
def test_a_joint_minimum_inside_the_box_is_told_apart_from_a_bound(less, is_enough):
    """2x² + 3y² - xy is lowest at 0 and 0, where both move at once."""
    explainer = Explainer(squares(2, 3, -1, 0))
    found = explainer.sufficiency([1, Fraction(1, 3)], [], "inf", claim=suffice.AtLeast(-less))
    assert bool(found) == is_enough


def test_a_tie_that_tangents_do_not_tell_is_bounded_and_said():
    explainer, row, claim = Explainer(squares(2, 3, -1, 0)), [1, Fraction(1, 3)], suffice.AtLeast(0)
    why = explainer.explain(row, "inf", claim=claim)
    assert (why.lower_bound, why.size, why.status) == (0, 1, Status.BOUNDED)
    assert "not told by the tangents" in str(why)
    found = explainer.sufficiency(row, [], "inf", claim=claim)
    assert found.status is Status.BOUNDED
    assert "not told by the tangents" in str(found)
    with pytest.raises(suffice.UnsettledError, match="not told by the tangents"):
        bool(found)
    assert explainer.contrast(row, "inf", claim=claim).status is not Status.PROVEN


def test_more_tangents_bring_the_grounds_together():
    explainer = Explainer(squares(1, 1, -1, 1))
    case = Case.of(explainer.compiled, Question.read(explainer.model, "inf"), [1, 2])
    gaps = []
    for _ in range(6):
        (constraint,) = case.constraints
        falls = [one.fall([0, 1]).value for one in (constraint.inner, constraint.outer)]
        assert falls[0] >= 3 >= falls[1]  # from 1 - 2 + 4 to 0
        gaps.append(falls[0] - falls[1])
        constraint.inner.ground.visited.add(constraint.inner.worst([0, 1]).labels)
        case = case.refined()
    assert gaps[-1] <= gaps[0] / 2**8


def test_curves_whose_pair_terms_are_steps_need_no_end():
    """Along a step a curve has its own minimum; only what varies for ever is refused."""
    steps = suffice.PairSteps(suffice.Bins(cuts=[0]), suffice.Bins(cuts=[0]), [[0, 1], [1, 0]])
    model = AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, 1]]), PiecewisePolynomial([], [[0, -2, 1]])],
        3,
        "binary",
        [Feature("x"), Feature("y")],
        pairs={("x", "y"): steps},
    )
    why = Explainer(model).explain([1, 1], "inf")
    assert why.size == 0
    assert Explainer(model).explain_batch(np.array([[1.0, 1.0]]), "inf").sizes[0] == 0
    assert why.status is Status.PROVEN
    endless = AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, 1]]), LINE], 3, "binary", [Feature("x"), Feature("y")],
        pairs={("x", "y"): Product(LINE, LINE)},
    )  # fmt: skip
    with pytest.raises(RadiusError, match="goes on for ever"):
        Explainer(endless).explain([1, 1], "inf")


def minimal(world, admitted):
    """All sets that suffice while none of their proper subsets does, as the oracle has them."""
    every = set(range(world.count))
    free = [freed for freed, is_so in admitted.items() if is_so]
    most = [one for one in free if not any(set(one) < set(other) for other in free)]
    return {tuple(sorted(every.difference(freed))) for freed in most}


def test_roles_are_those_of_all_minimal_sets():
    for world, explainer, radii, options, admitted in worlds(400, 8):
        found = explainer.relevance(world.row, radii, **options)
        sets = minimal(world, admitted)
        assert found.status is Status.PROVEN
        for i, name in enumerate(world.names):
            held = [i in one for one in sets]
            role = found.necessary if all(held) else found.relevant if any(held) else found.irrelevant
            assert name in role


def test_all_minimal_sets_are_listed_and_counted():
    for world, explainer, radii, options, admitted in worlds(500, 8):
        every = minimal(world, admitted)
        smallest = {one for one in every if len(one) == min(map(len, every))}
        for kind, sets in (("subset", every), ("size", smallest)):
            found = explainer.explanations(world.row, radii, minimal=kind, **options)
            each = [tuple(sorted(world.names.index(name) for name in names)) for names in found]
            assert len(each) == len(sets)
            assert set(each) == sets
            assert found.count() == (len(sets), len(sets))


def test_scenarios_that_no_input_attains_rule_out_no_set():
    """What the tangents below a curve break may not be broken: only places on it rule a smallest set out."""
    box = Domain.interval(-2, 2)
    model = AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, 1]]), Steps([0], [0, "1.2"]), Steps([0], [0, "0.5"]), Steps([0], [0, 0])],
        "-1.185",
        "binary",
        [Feature(name, box) for name in "xyvw"],
        pairs={("x", "w"): Product(PiecewisePolynomial([], [[0, "0.2"]]), LINE)},
    )
    # Of a margin of 1.715, x² + x/5 takes 1.21 (its tangents 1.225), y takes 1.2 and v 0.5.
    options = {"unit": "raw", "immutable": ["w"], "claim": AtLeast(0), "minimal": "size"}
    assert sorted(Explainer(model).explanations([1, 1, 1, 1], 2, **options)) == [("x",), ("y",)]


def reached(world, i, one):
    """What a range holds, for the oracle; and intervals, or values, just beyond it."""
    if one.values:
        every = world.labels[i] if world.kinds[i] == "category" else one.values
        return list(one.values), [label for label in every if label not in one.values]
    (start, stop), low, high, near = world.ends[i], one.low, one.high, Fraction(1, 2**20)
    if world.kinds[i] == "integer":
        inside = [Fraction(n) for n in range(int(low), int(high) + 1)]
        return inside, [n for n in (inside[0] - 1, inside[-1] + 1) if start <= n <= stop]
    beyond = [(low - near, low)] if low - near >= start else []
    return [(low, high)], beyond + ([(high, high + near)] if high + near <= stop else [])


def test_ranges_hold_together_and_are_as_wide_as_those_before_allow():
    for world, explainer, radii, options, _ in worlds(602, 8):
        found = explainer.inflate(world.row, radii, **options)
        free, before = tuple(map(world.names.index, found.free)), {}
        for name, one in found.ranges.items():
            i = world.names.index(name)
            inside, beyond = reached(world, i, one)
            assert world.admits(free, world.radii, reach={**before, i: inside})
            for more in beyond:
                assert not world.admits(free, world.radii, reach={**before, i: [*inside, more]})
            before[i] = inside


def test_ranges_do_not_count_among_the_changes():
    explainer = Explainer(squares(1, 1, 1, -1))
    # x² + y² + x·y - 1 at 2 and 2 is 11. With x fixed, y may go anywhere: then 4 + y² + 2·y - 1 is 2 or more.
    found = explainer.inflate([2, 2], features=["x"], radius="inf", max_changed=1)
    # x may go down to where x² - 1 - x²/4 is 0, the least over y.
    low = found.ranges["x"].low
    assert low**2 * Fraction(3, 4) >= 1
    assert (low - Fraction(1, 2**20)) ** 2 * Fraction(3, 4) < 1


def test_a_range_without_end_along_a_product_is_refused():
    model = AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, 1]]), LINE], 3, "binary", [Feature("x"), Feature("y")],
        pairs={("x", "y"): Product(LINE, LINE)},
    )  # fmt: skip
    with pytest.raises(suffice.ClaimError, match=r"no range for 'x'.* a domain with ends"):
        Explainer(model).inflate([1, 1], features=["x"], radius="0.1", unit="raw")


def accepted(explainer, answer):
    """What the checker says of an answer's certificate."""
    return suffice_check.check(explainer.compiled.content, answer.certificate().text.encode())


def test_every_answer_has_a_certificate_that_the_checker_accepts():
    for world, explainer, radii, options, admitted in worlds(700, 2):
        for answer in (
            explainer.explain(world.row, radii, **options),
            explainer.contrast(world.row, radii, **options),
            explainer.counterfactual(world.row, radii, **options),
            explainer.relevance(world.row, radii, **options),
            explainer.explanations(world.row, radii, **options),
            explainer.explanations(world.row, radii, minimal="subset", **options),
            explainer.radius(world.row, world.names[:1], **options),
            explainer.curve(world.row, until=2, **options),
            explainer.inflate(world.row, radii, **options),
        ):
            assert accepted(explainer, answer)
        for freed in admitted:
            fixed = [name for i, name in enumerate(world.names) if i not in freed]
            assert accepted(explainer, explainer.sufficiency(world.row, fixed, radii, **options))


def test_the_checker_needs_tangents_close_to_a_minimum():
    """2x² + 3y² - xy is 0 or more: a certificate whose tangents are taken elsewhere does not show it by much."""
    explainer = Explainer(squares(2, 3, -1, 0))
    document = explainer.sufficiency([1, Fraction(1, 3)], [], "inf", claim=AtLeast("-0.01")).certificate().document
    content = explainer.compiled.content
    suffice_check.check(content, json.dumps(document).encode())
    for i in (0, 1):
        forged = json.loads(json.dumps(document))
        bins, edges = forged["evidence"]["bins"], forged["evidence"]["messages"][0]
        kept = [k for k, cut in enumerate(bins[i]) if abs(Fraction(cut.removesuffix("-e"))) > Fraction(1, 4)]
        for step in edges:
            for edge in step["messages"]["edges"]:
                edge[2 + i] = edge[2 + i] and [edge[2 + i][0], edge[2 + i][1], *(edge[2 + i][2 + k] for k in kept)]
        bins[i] = [bins[i][k] for k in kept]
        with pytest.raises(suffice_check.RejectedError, match="sufficiency"):
            suffice_check.check(content, json.dumps(forged).encode())


def test_the_checker_refuses_a_product_of_curves():
    model = squares(1, 1, 1, 5)
    why = Explainer(model).explain([1, 1], "0.1", unit="raw").certificate().document
    square = PiecewisePolynomial([], [[0, 0, 1]])
    curved = AdditiveModel([square] * 2, 5, "binary", model.features, pairs={("x", "y"): Product(square, LINE)})
    content = to_bytes(curved)
    why["model"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(suffice_check.RejectedError, match="a factor of a product is curved"):
        suffice_check.check(content, json.dumps(why).encode())


@given(
    powers=st.lists(st.fractions(-5, 5, max_denominator=6), min_size=1, max_size=4),
    low=st.fractions(-4, 4, max_denominator=4),
    width=st.fractions(Fraction(1, 4), 5, max_denominator=4),
    places=st.lists(st.fractions(-4, 9, max_denominator=8), max_size=5),
    is_integers=st.booleans(),
)
@example([0, 0, 0, 1], Fraction(-1), Fraction(2), [], False)
@example([0, 0, 0, 1], Fraction(-3), Fraction(6), [Fraction(1, 2)], True)
@example([0, 0, 1], Fraction(0), Fraction(5), [Fraction(5, 2)], True)
def test_the_line_that_the_checker_takes_for_a_curve_is_nowhere_above_it(powers, low, width, places, is_integers):
    powers, high = [Fraction(one) for one in powers], low + width

    def curve(t):
        return sum(c * t**k for k, c in enumerate(powers))

    points = below(powers, low, high, places, is_integers)
    points = [(low, curve(low)), *points, (high, curve(high))]
    values = range(ceil(low), floor(high) + 1) if is_integers else [low + width * k / 60 for k in range(61)]
    for (a, first), (b, last) in pairwise(points):
        assert a < b or (a, first) == (b, last)
        inside = [Fraction(t) for t in values if a < t < b]
        if is_integers and low in (a, b) and low.denominator != 1:
            inside = []  # the ends are no integers, and what is between one and the first integer is none
        assert all(curve(t) >= first + (last - first) * (t - a) / (b - a) for t in inside)


def test_a_batch_has_the_answers_of_single_rows():
    explainer = Explainer(squares(1, 2, -1, -2))
    table = np.array([[1.0, 1.0], [2.0, -1.0], [0.5, 0.25]])
    found = explainer.explain_batch(table, 1, unit="raw")
    for k, row in enumerate(table):
        assert found.sizes[k] == explainer.explain(row, 1, unit="raw").size


def test_tangents_are_below_a_curve_and_places_on_it():
    from suffice.core.tangents import _corners, _first
    from suffice.shapes.axis import Interval

    (curve,) = PiecewisePolynomial([1], [[0, 1, 0, -1], [0, 0, 1]]).compile()
    inside = Interval(fmpq(-2), True, fmpq(3), False)
    places = (fmpq(1, 3), fmpq(5, 2))
    lower = _corners(curve, inside, places, _first, is_integers=False, is_inner=True)
    on = _corners(curve, inside, places, _first, is_integers=False, is_inner=False)
    assert all(one.value <= curve(one.at) for one in lower if not one.side)
    assert all(one.value == curve(one.at) for one in on if not one.side)
    for slope in (fmpq(k, 3) for k in range(-30, 31)):
        below = min(one.value + slope * one.at for one in lower)
        above = min(one.value + slope * one.at for one in on)
        grid = min(curve(fmpq(k, 50)) + slope * fmpq(k, 50) for k in range(-100, 150))
        assert below <= grid
        assert below <= above <= below + 2


def test_a_table_with_cells_between_two_cuts_stands_beside_a_curve():
    box = Domain.interval(-2, 2)
    model = AdditiveModel(
        [PiecewisePolynomial([], [[0, 0, 1]]), Steps([0], [0, 0])],
        1,
        "binary",
        [Feature("x", box), Feature("y", box)],
        pairs={("x", "y"): PairSteps([-1, 1], [0], [[0, 0], [0, -1], [0, -2]])},
    )
    explainer = Explainer(model)
    # The score is 5 at the row. Both together can lower it to 0, at x = 0 and at x = 1 with y ≥ 0, and no further.
    assert explainer.explain([-2, -2], 4, unit="raw", claim=AtLeast(0)).size == 0
    assert explainer.explain([-2, -2], 4, unit="raw", claim=AtLeast("0.001")).size == 1
    assert not explainer.sufficiency([-2, -2], [], 4, unit="raw", claim=AtLeast("0.001"))
