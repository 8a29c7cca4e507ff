"""Certificates about curved shapes and networks of too many pieces: true ones are accepted, false statements never.

What is true is told by an oracle that tries all sets, with minima in 150 digits (`oracles/curves.py`).
"""

import copy
import json
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise
from math import inf, isqrt

import numpy as np
import pytest
from oracles.curves import PlainCurve, decimal
from oracles.sets import subsets

from suffice import (
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewisePolynomial,
    ReluNetwork,
    Smooth,
    Steps,
)
from suffice.model.writing import to_bytes
from suffice_check import RejectedError, UnreadableError, check
from suffice_check.checker import Checker
from suffice_check.ordered import Number
from suffice_check.roots import with_root

NEAR = decimal(Fraction(1, 10**24))  # sums in the oracle are rounded to 28 digits


def number(rng):
    return Fraction(rng.randint(-6, 6), rng.choice([1, 2, 3]))


def curve(rng):
    knots = sorted(rng.sample([Fraction(t, 2) for t in range(-4, 5)], rng.randint(0, 2)))
    pieces = [[number(rng) for _ in range(rng.randint(1, 4))] for _ in range(len(knots) + 1)]
    return PlainCurve(knots, pieces, [number(rng) for _ in knots] if rng.random() < 0.3 else None)


class World:
    """A model of random curves, a row, and what is true of them."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.count = rng.randint(2, 4)
        self.plains = [curve(rng) for _ in range(self.count)]
        self.row = [number(rng) for _ in range(self.count)]
        here = sum((one(x) for one, x in zip(self.plains, self.row, strict=True)), Fraction(0))
        self.margin = rng.choice([Fraction(1, 2), Fraction(1), Fraction(4), Fraction(9)])
        shapes = [PiecewisePolynomial(one.knots, one.coefficients, one.values) for one in self.plains]
        self.model = AdditiveModel(shapes, self.margin - here)
        self.asked, self.checker = Explainer(self.model), Checker(to_bytes(self.model))
        self.radius = rng.choice([Fraction(1, 2), Fraction(1), Fraction(3)])

    def is_enough(self, fixed, radius):
        """Whether a set suffices; None where that is too close to tell from decimals."""
        moving = [(one, x) for i, (one, x) in enumerate(zip(self.plains, self.row, strict=True)) if i not in fixed]
        left = decimal(self.margin) - sum(decimal(one(x)) - one.lowest(x - radius, x + radius) for one, x in moving)
        return None if abs(left) < NEAR else left > 0

    def certificates(self):
        names, kept = self.model.names, [i for i in range(self.count) if self.rng.random() < 0.5]
        fixed = [names[i] for i in kept]
        asked, place = self.asked, (self.row, self.radius)
        yield asked.explain(*place, unit="raw")
        yield asked.explain(*place, unit="raw", cost={names[0]: 2})
        yield asked.sufficiency(self.row, fixed, self.radius, unit="raw")
        yield asked.contrast(*place, unit="raw", cost={names[0]: 2})
        yield asked.counterfactual(*place, unit="raw")
        yield asked.radius(self.row, fixed, unit="raw")
        yield asked.explanations(*place, unit="raw")
        yield asked.relevance(*place, unit="raw")
        yield asked.curve(self.row, unit="raw")

    def is_true(self, said, radius):
        """Whether a statement is true; None where the oracle does not tell."""
        kind, every = said["kind"], range(self.count)
        if kind == "explanation":
            below = [one for one in subsets(self.count) if len(one) < Fraction(said["lower_bound"])]
            found = [self.is_enough(said["fixed"], radius), *(_not(self.is_enough(one, radius)) for one in below)]
        elif kind == "insufficient":
            found = [_not(self.is_enough(said["fixed"], radius))]
        elif kind == "radius":
            holds, fails = said["holds_at"], said["fails_at"]
            if "e" in f"{holds}{fails}" or "inf" in f"{holds}{fails}":
                return None
            found = [self.is_enough(said["fixed"], Fraction(holds)), fails is None]
            if fails is not None:
                found[1] = _not(self.is_enough(said["fixed"], Fraction(fails)))
        elif kind == "explanations" and said["minimal"] == "size":
            sizes = {len(one) for one in said["sets"]}
            below = [one for one in subsets(self.count) if len(one) < min(sizes)]
            found = [self.is_enough(one, radius) for one in said["sets"]]
            found += [_not(self.is_enough(one, radius)) for one in below] + [len(sizes) == 1]
            if said["is_complete"]:
                others = [
                    one for one in combinations(every, min(sizes)) if sorted(one) not in map(sorted, said["sets"])
                ]
                found += [_not(self.is_enough(one, radius)) for one in others]
        else:
            return None
        return False if False in found else None if None in found else True


def _not(known):
    return None if known is None else not known


def forgeries(rng, document, count):
    """Other statements with the evidence of a true one."""
    said = document["result"]
    for field, content in said.items():
        if field in ("fixed", "changed"):
            for one in (
                [i for i in content if i != rng.choice(content)] if content else None,
                [*content, *{0} - {*content}],
            ):
                if one is not None and one != content:
                    yield {**said, field: one}
        elif field == "lower_bound":
            yield from ({**said, field: str(Fraction(content) + more)} for more in (1, 2))
        elif field in ("holds_at", "fails_at") and content not in (None, "inf", "finite") and "e" not in content:
            for share in (Fraction(999, 1000), Fraction(1001, 1000), Fraction(2), Fraction(1, 2)):
                yield {**said, field: str(Fraction(content) * share)}
        elif field == "sets":
            yield {**said, field: content[:-1]}
            yield {**said, field: [*content, sorted(rng.sample(range(count), max(len(content[0]), 1)))]}


@pytest.mark.parametrize("seed", range(12))
def test_true_statements_are_accepted_and_false_ones_are_not(seed):
    world = World(seed)
    for answer in world.certificates():
        document = json.loads(answer.certificate().text)
        world.checker.check(json.dumps(document).encode())
        has_costs = bool(document["question"]["cost"])
        assert has_costs or world.is_true(document["result"], world.radius) is not False
        for said in forgeries(world.rng, document, world.count):
            forged = copy.deepcopy(document) | {"result": said}
            try:
                world.checker.check(json.dumps(forged).encode())
            except (RejectedError, UnreadableError):
                continue
            assert has_costs or world.is_true(said, world.radius) is not False, (said, document)


def test_equal_drops_with_roots_and_margins_next_to_their_sum_are_told_apart():
    # From 0, t³ - 2t falls by (4/3)·√(2/3), and so does the same with t / 2 in place of t: three equal drops, 4·√(2/3).
    one, same = PiecewisePolynomial([], [[0, -2, 0, 1]]), PiecewisePolynomial([], [[0, -1, 0, "1/8"]])
    root = isqrt(2 * 3 << 1800)  # √(2/3) = √6 / 3
    for near, size in ((root, 1), (root + 1, 0)):
        margin = Fraction(4 * near, 3 << 900)
        model = AdditiveModel([one, same, one], margin)
        asked, place = Explainer(model), ([0, 0, 0], {"x0": 1, "x1": 2, "x2": 1})
        why = asked.explain(*place, unit="raw")
        assert why.size == size
        for kind in (asked.explain, asked.explanations, asked.relevance, asked.contrast):
            check(to_bytes(model), kind(*place, unit="raw").certificate().text.encode())
        costly = asked.contrast(*place, unit="raw", cost={"x0": 2})
        check(to_bytes(model), costly.certificate().text.encode())


def test_of_two_turns_that_share_a_root_the_lower_one_counts():
    # t³ - 2t turns at √(2/3), and the same from 3 on, lower by 1/20: both least values have the root √6.
    shape = PiecewisePolynomial(["3/2"], [[0, -2, 0, 1], ["-421/20", 25, -9, 1]], [5])
    model = AdditiveModel([shape], "11/10", features=[Feature("a", domain=Domain.interval("-1/2", 4))])
    document = json.loads(Explainer(model).explain([0], 4, unit="raw").certificate().text)
    assert document["result"]["fixed"] == [0]  # between the two drops, 1.0887 and 1.1387
    said = {"kind": "explanation", "fixed": [], "lower_bound": "0"}
    forged = document | {"result": said, "evidence": {"witnesses": [], "tree": []}}
    with pytest.raises(RejectedError, match="sufficiency"):
        check(to_bytes(model), json.dumps(forged).encode())


def test_sums_of_roots_compare_as_their_decimals_do():
    rng = random.Random(5)
    squares = [Fraction(one) for one in ("2", "8", "1/2", "3", "12", "3/4", "6", "2/3", "4", "0")]
    with localcontext(prec=120):

        def one():
            found, plain = number(rng), Decimal(0)
            plain += decimal(found)
            for _ in range(rng.randint(0, 3)):
                whole, factor, square = number(rng), number(rng), rng.choice(squares)
                found = found + with_root(whole, factor, square)
                plain += decimal(whole) + decimal(factor) * decimal(square).sqrt()
            return found, plain

        for _ in range(1500):
            (a, x), (b, y) = one(), one()
            if rng.random() < 0.5:  # the same roots, written differently
                more = rng.choice([Fraction(0), Fraction(1, 7)])
                b, y = (a + b) - (b + more), x - decimal(more)
            sign = 0 if abs(x - y) < Decimal(10) ** -90 else 1 if x > y else -1
            assert (a == b, a != b, a < b, a <= b, a > b, a >= b) == (
                not sign, bool(sign), sign < 0, sign <= 0, sign > 0, sign >= 0,
            ), (x, y)  # fmt: skip
            assert (Number(a, 1) > Number(b, -1)) == (sign >= 0)


def test_the_least_value_is_never_reached_from_below():
    """The checker's own infimum against 150 digits: it must not say that a margin suffices which does not."""
    rng = random.Random(7)
    for _ in range(40):
        plain, x = curve(rng), number(rng)
        low = plain.lowest(x - 1, x + 1)
        drop = decimal(plain(x)) - low
        if drop < NEAR:
            continue
        for share, is_enough in ((Fraction(1) - Fraction(1, 10**20), False), (Fraction(1) + Fraction(1, 10**20), True)):
            margin = Fraction(drop) * share
            model = AdditiveModel(
                [PiecewisePolynomial(plain.knots, plain.coefficients, plain.values)], margin - plain(x)
            )
            why = Explainer(model).explain([x], 1, unit="raw")
            assert (why.size == 0) == is_enough
            document = json.loads(why.certificate().text)
            check(to_bytes(model), json.dumps(document).encode())
            if not is_enough:
                said = {"kind": "explanation", "fixed": [], "lower_bound": "0"}
                forged = document | {"result": said, "evidence": {"witnesses": [], "tree": []}}
                with pytest.raises(RejectedError, match="sufficiency"):
                    check(to_bytes(model), json.dumps(forged).encode())


def test_integers_jumps_and_ways_without_end():
    shape = PiecewisePolynomial(["1/2"], [[1, -1, 0, 1], [0, 0, -3, 1]], [5])
    for domain in (Domain.integers(-4, 7), Domain.interval(-inf, 9), Domain.interval(-3, 2), Domain.integers(-5, inf)):
        features = [Feature("a", domain=domain), Feature("b")]
        model = AdditiveModel([shape, Steps([0], [0, 1])], 6, features=features)
        for radius in (1, 3, "inf"):
            why = Explainer(model).explain([1, 1], radius, unit="raw")
            check(to_bytes(model), why.certificate().text.encode())


def test_networks_of_too_many_pieces_are_certified_as_if_they_were_whole():
    rng, sizes = np.random.default_rng(0), [1, 16, 16, 16, 1]

    def network():
        weights = [rng.normal(size=(b, a)) * 1.2 for a, b in pairwise(sizes)]
        return ReluNetwork(weights, [rng.normal(size=b) for b in sizes[1:]])

    model = AdditiveModel([network() for _ in range(4)], 0.5)
    lazy, whole = Explainer(model, max_pieces=20), Explainer(model)
    assert lazy.compiled.is_curved
    assert not whole.compiled.is_curved
    row, checker = [0.1, 0.2, -0.3, 0.5], Checker(to_bytes(model))
    for kind in ("explain", "contrast", "explanations", "relevance"):
        one, other = (getattr(asked, kind)(row, 0.5, unit="raw").certificate().text for asked in (lazy, whole))
        assert one == other
        checker.check(one.encode())
    checker.check(lazy.counterfactual(row, 0.5, unit="raw").certificate().text.encode())
    checker.check(lazy.radius(row, ["x0"], unit="raw").certificate().text.encode())


def test_terms_over_two_features_beside_smooth_shapes_are_refused_by_the_checker():
    steps = PairSteps([0], [0], [[0, 1], [1, 0]])
    model = AdditiveModel([Smooth("exp"), Steps([0], [0, 1])], 3, pairs={("x0", "x1"): steps})
    with pytest.raises(UnreadableError, match="beside smooth shapes"):
        Checker(to_bytes(model))
