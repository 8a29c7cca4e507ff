"""Whether what a certificate says is so: by brute force over all sets of features, without a look at the evidence.

Another method than the checker's: drops come from `plain.py`, which samples plain functions between known breakpoints;
all sets and all changes are tried; and a radius that is approached from one side is looked at a hair from it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

from plain import TABLE, Plain, value_of

HAIR = Fraction(1, 2**60)
FAR = Fraction(10**9)  # beyond everything: for all finite radii
TAKES = {
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {"fix", "free", "cost", "groups", "max_changed", "arithmetic"},
    "counterfactual": {"fix", "free", "cost", "groups", "max_changed", "arithmetic"},
    "radius": {"max_changed", "arithmetic"},
    "explanations": {"fix", "free", "cost", "groups", "max_changed"},
    "relevance": {"fix", "free", "groups", "max_changed"},
    "curve": {"fix", "free", "cost", "groups", "max_changed"},
    "inflation": {"fix", "free", "cost", "groups", "max_changed"},
}


def is_true(plain: Plain, document) -> bool:
    """Whether a certificate says something, and that is so."""
    try:
        truth = Truth(plain, document)
    except NonsenseError:
        return False
    said = {name: content for name, content in document["result"].items() if name != "kind"}
    return getattr(truth, document["result"]["kind"])(**said)


class NonsenseError(Exception):
    """A certificate says nothing about the model."""


def near(text) -> tuple[Fraction, int]:
    """A number, and on which side of it."""
    side = {"+e": 1, "-e": -1}.get(text[-2:], 0)
    return Fraction(text[:-2] if side else text), side


def subsets(items):
    return chain.from_iterable(combinations(items, count) for count in range(len(items) + 1))


class Truth:
    """A model at a row, and what is so there."""

    def __init__(self, plain: Plain, document) -> None:
        self.plain, self.question, self.count = plain, document["question"], plain.count
        self.row = [value_of(cell) for cell in document["row"]]
        kind, question = document["result"]["kind"], self.question
        if len(self.row) != self.count or not all(plain.is_inside(i, x) for i, x in enumerate(self.row)):
            raise NonsenseError
        for names in (question["immutable"], question["fix"], question["free"]):
            if len(set(names)) < len(names) or not set(names) <= set(plain.features):
                raise NonsenseError
        usual = {
            "fix": [],
            "free": [],
            "cost": {},
            "groups": {},
            "max_changed": None,
            "norm": "inf",
            "arithmetic": "exact",
        }
        given = {name for name, one in usual.items() if question[name] != one}
        if not given <= TAKES.get(kind, given) or ("arithmetic" not in given and document["charges"] is not None):
            raise NonsenseError
        scores = plain.scores(self.row)
        self.parts = plain.inequalities(question["claim"], scores)
        self.margins = [
            constant + sum(f * s for f, s in zip(factors, scores, strict=True)) for factors, constant, _ in self.parts
        ]
        self.charges = [Fraction(charge) for charge in document["charges"] or ["0"] * len(self.parts)]
        if not self.parts or min(self.margins) < 0 or len(self.charges) != len(self.parts) or min(self.charges) < 0:
            raise NonsenseError
        self.names, self.known = list(plain.features), {}
        self.sets = plain.sets(question)
        if plain.radii(question) is None or self.sets is None or set(question["fix"]) & set(question["free"]):
            raise NonsenseError
        if self.items() is None:
            raise NonsenseError

    def items(self):
        """What may be fixed or changed on its own: (features, cost)."""
        groups, cost = self.question["groups"], self.question["cost"]
        grouped = {name for group in groups.values() for name in group}
        alone = {name: [name] for name in self.names if name not in grouped}
        return [
            ([self.names.index(name) for name in members], Fraction(cost.get(item, 1)))
            for item, members in (alone | groups).items()
        ]

    def decided(self, which) -> set[int]:
        """The features of items that must be fixed, or free."""
        named = {self.names.index(name) for name in self.question[which]}
        return {i for members, _ in self.items() if named & set(members) for i in members}

    # --- what can happen ----------------------------------------------------------------------------------------------

    def radii(self, at=("1",)):
        """How far each feature may move at a multiple of the radii: a number near one, all finite ones, or no limit."""
        radii, immutable = self.plain.radii(self.question), {self.names.index(n) for n in self.question["immutable"]}
        if at == "inf":
            return [Fraction(0) if i in immutable else None for i in range(self.count)]
        if at == "finite":
            return [radius and FAR for radius in radii]
        factor, side = near(at) if isinstance(at, str) else (Fraction(1), 0)
        return [None if radius is None else radius * max(factor + side * HAIR, 0) for radius in radii]

    def can_break(self, changed, sign, radii, most=None, always=()) -> bool:
        """Whether changes of some features, so many at once, and of others break the claim, for certain or at all."""
        drops = [{i: self.drop(c, i, radii[i]) for i in (*changed, *always)} for c in range(len(self.parts))]
        for (_, _, is_strict), margin, falls, charge in zip(self.parts, self.margins, drops, self.charges, strict=True):
            limit = margin + sign * charge
            for some in combinations(changed, len(changed) if most is None else min(most, len(changed))):
                both = (*some, *always)
                fall, is_attained = sum((falls[i][0] for i in both), Fraction(0)), all(falls[i][1] for i in both)
                if fall > limit or (fall == limit and is_strict and is_attained):
                    return True
        return False

    def drop(self, c, i, radius):
        """How far a feature can lower one part of the claim; found once for each radius."""
        if (c, i, radius) not in self.known:
            self.known[c, i, radius] = self.plain.drop(i, self.row[i], radius, self.parts[c][0])
        return self.known[c, i, radius]

    def others(self, listed):
        return [i for i in range(self.count) if i not in listed]

    def suffices(self, fixed, at="1") -> bool:
        return not self.can_break(self.others(fixed), -1, self.radii(at), self.question["max_changed"])

    def fails(self, fixed, at="1") -> bool:
        most = self.question["max_changed"] if self.question["norm"] == "inf" else 1  # one change lies in every ball
        return self.can_break(self.others(fixed), 1, self.radii(at), most)

    def is_list(self, listed) -> bool:
        return len(set(listed)) == len(listed) and set(listed) <= set(range(self.count))

    def cost(self, fixed):
        """What an allowed set costs; None if it is not allowed."""
        return next((cost for features, cost in self.sets if features == frozenset(fixed)), None)

    def none_below(self, bound, at="1") -> bool:
        return all(self.fails(features, at) for features, cost in self.sets if cost < bound)

    # --- what is said -------------------------------------------------------------------------------------------------

    def explanation(self, fixed, lower_bound) -> bool:
        cost, least = self.cost(fixed), Fraction(lower_bound)
        is_allowed = self.is_list(fixed) and cost is not None and 0 <= least <= cost
        return is_allowed and self.suffices(fixed) and self.none_below(least)

    def insufficient(self, fixed) -> bool:
        return self.is_list(fixed) and self.fails(fixed)

    def contrast(self, changed, lower_bound) -> bool:
        if not self.is_list(changed) or set(changed) & self.decided("fix"):
            return False
        breaks = self.can_break(changed, 1, self.radii(), self.question["max_changed"])
        return breaks and self.no_change(lambda cost: cost < Fraction(lower_bound), "1")

    def no_change(self, is_meant, at) -> bool:
        """Whether no changes of a cost that is meant break the claim."""
        free, fix = self.decided("free"), self.decided("fix")
        paid = [(members, cost) for members, cost in self.items() if not set(members) & (free | fix)]
        return not any(
            self.can_break(
                [*free, *(i for members, _ in some for i in members)], -1, self.radii(at), self.question["max_changed"]
            )
            for some in subsets(paid)
            if is_meant(sum((cost for _, cost in some), Fraction(0)))
        )

    def counterfactual(self, changed, lower_bound, least) -> bool:
        if not self.contrast(changed, lower_bound):
            return False
        spent = sum(
            (c for m, c in self.items() if set(m) & set(changed) and not set(m) & self.decided("free")), Fraction(0)
        )
        return None not in self.radii() and near(least) <= (1, 0) and self.no_change(lambda cost: cost <= spent, least)

    def radius(self, fixed, holds_at, fails_at) -> bool:
        if self.question["radius"] != "1" or not self.is_list(fixed) or not self.are_radii([holds_at, fails_at]):
            return False
        return self.suffices(fixed, holds_at) and (fails_at is None or self.fails(fixed, fails_at))

    def are_radii(self, radii) -> bool:
        return all(one in ("inf", "finite", None) or near(one) >= (0, 0) for one in radii)

    def explanations(self, minimal, sets, is_complete) -> bool:
        listed = [frozenset(one) for one in sets]
        if not all(map(self.is_list, sets)) or len(set(listed)) < len(listed) or not listed:
            return False
        enough = {features: cost for features, cost in self.sets if self.suffices(features)}
        if minimal == "size":
            all_minimal = {features for features, cost in enough.items() if cost == min(enough.values())}
        else:
            all_minimal = {features for features in enough if not any(other < features for other in enough)}
        return set(listed) <= all_minimal and (not is_complete or set(listed) == all_minimal)

    def relevance(self, necessary, relevant, irrelevant) -> bool:
        enough = [features for features, _ in self.sets if self.suffices(features)]
        smallest = [features for features in enough if not any(other < features for other in enough)]
        decided = self.decided("fix") | self.decided("free")
        every, some = set(range(self.count)).intersection(*smallest), set().union(*smallest)
        roles = [*necessary, *relevant, *irrelevant]
        return (
            len(set(roles)) == len(roles)
            and set(roles) <= set(range(self.count)) - decided
            and set(necessary) <= every
            and set(relevant) <= some - every
            and not set(irrelevant) & some
        )

    def curve(self, steps) -> bool:
        if self.question["radius"] != "1" or not steps or steps[0]["from"] != "0":
            return False
        for step in steps:
            cost = self.cost(step["fixed"]) if self.is_list(step["fixed"]) else None
            if cost is None or not self.are_radii([step["from"], step["holds_at"]]):
                return False
            if not self.suffices(step["fixed"], step["holds_at"]) or not self.none_below(cost, step["from"]):
                return False
        return True

    def inflation(self, ranges, is_widest) -> bool:
        ranged, reach = [one["feature"] for one in ranges], self.radii()
        if not self.is_list(ranged) or self.cost(ranged) is None:
            return False
        free, most = self.others(ranged), self.question["max_changed"]
        for place, one in enumerate(ranges):
            i = one["feature"]
            wider = list(self.wider(i, one)) if is_widest else []
            for radius in wider:
                if not self.can_break(free, 1, [*reach[:i], radius, *reach[i + 1 :]], most, ranged[: place + 1]):
                    return False
            reach[i] = self.inside(i, one)
            if reach[i] is None or not self.plain.reaches(i, self.row[i], reach[i], self.row[i]):
                return False
        return not self.can_break(free, -1, reach, most, ranged)

    def inside(self, i, one):
        """What a range holds, an interval or labels; nothing if the row is not in it."""
        x = self.row[i]
        if "values" in one:
            values = frozenset(map(value_of, one["values"]))
            return values if x in values and not isinstance(x, Fraction) else None
        if not isinstance(x, Fraction) or (i == 2 and x == -9 and self.count == 5):
            return None
        ends = (near(one[end]) if one[end] else (sign * FAR, 0) for end, sign in (("low", -1), ("high", 1)))
        (low, above), (high, below) = ends
        found = low + above * HAIR, high + below * HAIR
        return found if found[0] <= x <= found[1] and above >= 0 >= below else None

    def wider(self, i, one):
        """The range made wider by as little as can be, on each side where the domain goes on."""
        found = self.inside(i, one)
        if isinstance(found, frozenset):
            yield from (found | {label} for label in TABLE if found <= set(TABLE) and label not in found)
        elif found is not None:
            for side, text in ((-1, one["low"]), (1, one["high"])):
                end, edge = near(text or "0")
                step = self.plain.next_number(i, end if edge else end + side * HAIR, side, HAIR)
                if text is not None and step is not None:
                    yield (step, found[1]) if side < 0 else (found[0], step)
