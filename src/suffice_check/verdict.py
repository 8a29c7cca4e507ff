"""Is what a certificate says true of a model? Each kind of result, put together from a few steps.

The steps are those of `alone.py`, or of `together.py` for models with terms over two features: an input breaks the
claim, a set suffices, no cheaper one does, no cheaper change breaks the claim.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from suffice_check.alone import Alone
from suffice_check.cells import check_known, ends_of, part_of, split_cells
from suffice_check.certificate import Certificate, Radius, Range, Step, read_evidence
from suffice_check.claims import inequalities
from suffice_check.core import Case, Constraint
from suffice_check.domain import Domain
from suffice_check.model import Model
from suffice_check.ordered import ZERO, Number
from suffice_check.question import as_asked, choices, indices, radii, regions
from suffice_check.ranges import in_range, just_beyond
from suffice_check.reading import RejectedError
from suffice_check.together import Together
from suffice_check.tree import check_irrelevant

ONE = Number(Fraction(1))
Proof = Mapping[str, Any]  # evidence, or a part of it

# What each kind of result takes besides a radius, its unit, what categories may do, immutable features and a claim.
_WISHES = {"fix", "free", "cost", "groups", "max_changed"}
TAKES = {
    "explanation": {*_WISHES, "norm", "arithmetic"},
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {*_WISHES, "arithmetic"},
    "counterfactual": {*_WISHES, "arithmetic"},
    "radius": {"max_changed", "arithmetic"},
    "explanations": _WISHES,
    "relevance": _WISHES - {"cost"},
    "curve": _WISHES,
    "inflation": _WISHES,
}


class Proven:
    """One certificate against one model: row, region and constraints worked out from scratch, then the proof checked.

    Making one raises `RejectedError` where a step fails.
    """

    def __init__(self, model: Model, certificate: Certificate) -> None:
        model = as_asked(certificate.question, model)
        self.model, self.certificate, self.question = model, certificate, certificate.question
        self.row, self.result, self.kind = certificate.row, certificate.result, certificate.kind
        self.count, self.acting = len(model.features), Together if model.pairs else Alone
        self.cells, certificate = split_cells(certificate, model)
        evidence = read_evidence(certificate, self.acting.EVIDENCE)
        for option in sorted(self.question.given() - TAKES[self.kind]):
            raise RejectedError("question", f"{option!r} has no meaning for a result of kind {self.kind!r}")
        self._check_row()
        self.radii, self.choices = radii(self.question, model), choices(self.question, model)
        self.still = {*indices(self.question.immutable, model, "immutable")}
        if self.kind in ("radius", "curve") and self.question.radius != 1:
            raise RejectedError("radius", "radii are looked for, so that the question's own is 1")
        self.claim, self.case = self._case()
        self.is_best = False  # whether what is found reaches its lower bound
        getattr(self, f"_check_{self.kind}")(evidence, **self.result)

    def _check_row(self) -> None:
        if len(self.row) != self.count:
            raise RejectedError("row", f"the model has {self.count} features, the row has {len(self.row)} values")
        for feature, x in zip(self.model.features, self.row, strict=True):
            if not feature.domain.holds(x):
                raise RejectedError("row", f"{feature.name!r} is outside its domain")

    def _case(self) -> tuple[str, Case]:
        """Return what is claimed, in words and seen from the row."""
        model, most = self.model, self.question.max_changed
        here = [feature.ends(x) for feature, x in zip(model.features, self.row, strict=True)]
        both = [term.at(self.row) for term in model.pairs]
        low, high = (
            [sum(column, start) for start, *column in zip(model.intercept, *side, *both, strict=True)]
            for side in zip(*here, strict=True)
        )
        parts, text = inequalities(self.question.claim, self.certificate.enclosure, model, low)
        check_known(self.question.claim, model, low, high)
        constraints = []
        for part, charge in zip(parts, self._charges(len(parts)), strict=True):
            (least, largest), edge = ends_of(part, (tuple(low), tuple(high))), -1 if part.is_strict else 0
            margin, loose = part.constant + least, part.constant + largest + part.gap
            if margin < 0:
                raise RejectedError("claim", "it is false at the row itself")
            constraints.append(Constraint(part, Number(margin - charge, edge), Number(loose + charge, edge)))
        each = [
            part_of(feature, at, parts, self.count, cuts)
            for feature, at, cuts in zip(model.features, here, self.cells, strict=True)
        ]
        # Changes of one feature lie in the ball of any norm; more at once need not.
        few = most if self.question.norm == "inf" else 1
        return text, Case(model, self.row, each, constraints, self.choices, most, few)

    def _charges(self, count: int) -> list[Fraction]:
        """Return by how much each inequality must hold at least: 0, if the certificate does not say more."""
        charges = self.certificate.charges
        if charges is None:
            return [Fraction(0)] * count
        if self.question.arithmetic == "exact" or len(charges) != count or min(charges) < 0:
            raise RejectedError("charges", "there is one from 0 up for each inequality, or none in exact arithmetic")
        return charges

    # --- what all kinds are made of -----------------------------------------------------------------------------------

    def _around(self, at: Radius = ONE) -> Alone | Together:
        """Return the row and its region at a multiple of the radii."""
        if isinstance(at, Number) and at < ZERO:
            raise RejectedError("radius", "a radius is from 0 up")
        return self._inside(regions(self.model, self.row, self.radii, at, self.still))

    def _inside(self, region: list[Domain]) -> Alone | Together:
        return self.acting(self.case, region)

    def _features(self, listed: Collection[int]) -> set[int]:
        if {*listed} - {*range(self.count)} or len({*listed}) != len(listed):
            raise RejectedError("features", "one does not exist, or is listed twice")
        return {*listed}

    def _others(self, listed: Collection[int]) -> list[int]:
        return sorted({*range(self.count)} - self._features(listed))

    def _cost(self, fixed: list[int]) -> int:
        return self.choices.cost(self.choices.held(self._features(fixed)))

    def _most(self, bound: int) -> int:
        """Return what can be freed at most by sets that do not cost less than a bound."""
        return self.choices.cost(self.choices.all - self.choices.free) - bound

    def _check_least(self, around: Alone | Together, bound: int, proof: Proof) -> None:
        """Check that no allowed set that costs less than a bound is sufficient."""
        if bound:
            around.sets(proof).check(proof["tree"], self._most(bound))
        elif any(proof.get(name) for name in ("witnesses", "scenarios", "tree")):
            raise RejectedError("lower bound", "there is evidence for one, and none is claimed")

    def _units(self, cost: Fraction, most: int) -> int:
        """Return a bound on costs, counted in their unit; it is none of more than the set or change that is named."""
        units = cost / self.choices.unit
        if units.denominator != 1 or not 0 <= units <= most:
            reason = "it is not what a set can cost, or more than the one that is named costs"
            raise RejectedError("lower bound", reason)
        self.is_best = units == most
        return int(units)

    def _check_edge(self, radius: Radius, wrong: int) -> None:
        # What suffices is shown up to a radius or just below it; what does not, from a radius or just above it.
        if isinstance(radius, Number) and radius.edge == wrong:
            raise RejectedError("radius", "it is on the wrong side of its end")
        if radius == "finite" and wrong == -1:
            raise RejectedError("radius", "what fails at all finite radii together fails at some finite one: name it")

    # --- the kinds of results -----------------------------------------------------------------------------------------

    def _check_explanation(self, proof: Proof, fixed: list[int], lower_bound: Fraction) -> None:
        """Fixed features suffice, and no allowed set below the bound does."""
        around, cost = self._around(), self._cost(fixed)
        around.check_sufficient(fixed, proof)
        self._check_least(around, self._units(lower_bound, cost), proof)

    def _check_insufficient(self, proof: Proof, fixed: list[int]) -> None:
        """An input that has these features fixed breaks the claim."""
        self._around().check_input(proof["input"], self._others(fixed))

    def _check_contrast(self, proof: Proof, changed: list[int], lower_bound: Fraction) -> int:
        """An input that changes these features alone breaks the claim; no changes below the bound do."""
        chosen, around = self._features(changed), self._around()
        touched = {k for k, item in enumerate(self.choices.items) if not chosen.isdisjoint(item)}
        if touched & self.choices.fix:
            raise RejectedError("features", "one that must be fixed is changed")
        around.check_input(proof["input"], chosen)
        cost = self.choices.cost(touched - self.choices.free)
        around.check_changes(self._units(lower_bound, cost) - 1, proof["fewer"], proof)
        return cost

    def _check_counterfactual(self, proof: Proof, least: Number, **contrast: Any) -> None:
        """The same; and at this cost no change that stays within a multiple of the radii breaks the claim."""
        cost = self._check_contrast(proof, **contrast)
        if not all(isinstance(radius, Fraction) for radius in self.radii) or least.edge > 0 or least > ONE:
            raise RejectedError("radius", "the least change is counted in radii, which are finite")
        self._around(least).check_changes(cost, proof["nearer"], proof)

    def _check_radius(self, proof: Proof, fixed: list[int], holds_at: Radius, fails_at: Radius | None) -> None:
        """Fixed features suffice at one radius, so at every smaller one; not at another, so at no larger one."""
        free = self._others(fixed)
        self._check_edge(holds_at, 1)
        self._around(holds_at).check_sufficient(fixed, proof)
        if (fails_at is None) != (proof["input"] is None):
            raise RejectedError("input", "there is one exactly if the features are said not to suffice somewhere")
        if fails_at is not None:
            self._check_edge(fails_at, -1)
            self._around(fails_at).check_input(proof["input"], free)
            self.is_best = fails_at == after(holds_at)

    def _check_explanations(self, proof: Proof, minimal: str, sets: list[list[int]], is_complete: bool) -> None:
        """Each set is sufficient and minimal; and all others contain one of them, if these are all."""
        around, tree = self._around(), proof["tree"]
        for one, enough in zip(sets, around.each(proof, len(sets)), strict=True):
            around.check_sufficient(one, enough)
        possible = around.sets(proof)
        held = [frozenset(self.choices.held(self._features(one))) for one in sets]
        costs = {self.choices.cost(one) for one in held}
        if len({*held}) < len(held) or not held or (minimal == "size" and len(costs) != 1):
            raise RejectedError("sets", "there is none, one is listed twice, or smallest ones cost differently")
        if minimal == "size":  # all that cost no more contain a listed one, so that none costs less
            (cost,) = costs
            possible.check(tree, self._most(cost + is_complete), held if is_complete else ())
            return
        for kept in held:
            freed = self.choices.open - kept
            if not all(possible.breaks(freed | {k}) for k in kept - self.choices.fix):
                raise RejectedError("sets", "one is not shown to be minimal")
        if is_complete:
            possible.check(tree, None, held)
        elif tree:
            raise RejectedError("tree", "there is one, though the sets are not said to be all")

    def _check_relevance(self, proof: Proof, **listed: list[int]) -> None:
        """Freed alone, a necessary item breaks the claim; a set shows a relevant one; a tree rules an item out.

        Of one that lowers nothing there is nothing to show. Some allowed set suffices: of none, all of this would be
        true.
        """
        around, choices, sets, trees = self._around(), self.choices, proof["sets"], proof["trees"]
        possible, every = around.sets(proof), choices.open | choices.fix
        necessary, relevant, irrelevant = (self._open_items(listed[role]) for role in ROLES)
        if len({*necessary, *relevant, *irrelevant}) < len([*necessary, *relevant, *irrelevant]):
            raise RejectedError("features", "one has two roles")
        if len(sets) != len(relevant) or len(trees) != len(irrelevant):
            raise RejectedError("sets", "there must be one for each relevant item, and a tree for each irrelevant one")
        first, *enough = around.each(proof, 1 + 2 * len(relevant))
        around.check_sufficient(choices.members(every), first)
        if not all(possible.breaks([k]) for k in necessary):
            raise RejectedError("necessary", "a feature is not shown to break the claim alone")
        for k, one, in_some, without in zip(relevant, sets, enough[::2], enough[1::2], strict=True):
            held = choices.held(self._features(one))
            around.check_sufficient(one, in_some)
            if not possible.breaks((choices.open - held) | {k}):  # so that the item is in the set, which suffices
                raise RejectedError("sets", "one does not need the feature that it is to show")
            around.check_sufficient(choices.members(every - {k}), without)  # and missing in another
        for k, tree in zip(irrelevant, trees, strict=True):
            if not tree:
                around.check_idle(choices.items[k])
                continue
            check_irrelevant(
                tree,
                k,
                possible,
                choices,
                lambda fixed, leaf: around.check_sufficient(fixed, {**proof, **(leaf or {})}),
            )

    def _open_items(self, listed: list[int]) -> list[int]:
        """Return the items of some features, whole items that are not decided."""
        chosen = self._features(listed)
        found = [k for k in sorted(self.choices.open) if not chosen.isdisjoint(self.choices.items[k])]
        if chosen != {*self.choices.members(found)}:
            raise RejectedError("features", "one is decided already, or its group is named in part")
        return found

    def _check_curve(self, proof: Proof, steps: list[Step]) -> None:
        """Of each stretch: a set suffices up to its end, and from its start on no cheaper one does."""
        if len(proof["proofs"]) != len(steps) or not steps or steps[0].start != ZERO:
            raise RejectedError("steps", "the first begins at 0, and each has a proof")
        ends = [end for step in steps for end in (step.start, step.end)]
        if any(rank(a) > rank(b) for a, b in pairwise(ends)) or any(a.end == b.start for a, b in pairwise(steps)):
            raise RejectedError("steps", "they are not one after the other")
        for step, evidence in zip(steps, proof["proofs"], strict=True):
            self._check_edge(step.end, 1)
            self._check_edge(step.start, -1)
            cost = self._cost(step.fixed)
            self._around(step.end).check_sufficient(step.fixed, evidence)
            least = 0 if cost == self.choices.cost(self.choices.fix) else cost  # no allowed set costs less than that
            self._check_least(self._around(step.start), least, evidence)
        self.is_best = all(b.start == after(a.end) for a, b in pairwise(steps))

    def _check_inflation(self, proof: Proof, ranges: list[Range], is_widest: bool) -> None:
        """Features may move in ranges together, the others in the region; each is as wide as those before it allow."""
        ranged = [one.feature for one in ranges]
        self._cost(ranged)
        free, region = self._others(ranged), regions(self.model, self.row, self.radii, ONE, self.still)
        given = iter(proof["inputs"])
        for place, one in enumerate(ranges):
            domain, inside, beyond = self.model.features[one.feature].domain, [*region], [*region]
            inside[one.feature] = in_range(domain, one)
            if not inside[one.feature].holds(self.row[one.feature]):
                raise RejectedError("ranges", "the row itself is outside of one")
            for at in just_beyond(domain, one) if is_widest else ():
                beyond[one.feature] = Domain([], [at], [])
                # One that stays in the range breaks nothing, as is shown below.
                self._inside(beyond).check_input(next(given, []), free, ranged[: place + 1])
            region = inside
        if next(given, None) is not None:
            raise RejectedError("input", "there are more than ends of ranges")
        self._inside(region).check_sufficient((), proof, ranged)


ROLES = "necessary", "relevant", "irrelevant"


def after(radius: Radius) -> Radius | None:
    """Return what comes right after a radius."""
    if isinstance(radius, Number):
        return Number(radius.value, radius.edge + 1)
    return "inf" if radius == "finite" else None


def rank(radius: Radius) -> tuple[int, Number]:
    """Return a radius in the order of all."""
    return (0, radius) if isinstance(radius, Number) else (1 if radius == "finite" else 2, ZERO)
