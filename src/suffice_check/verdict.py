"""Is what a certificate says true of a model? Each kind of result, put together from what `core` and `tree` show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from suffice_check.certificate import KINDS, Certificate, Proof, Radius, Range, Step
from suffice_check.claims import inequalities
from suffice_check.core import Around, Constraint, Part, Witness
from suffice_check.model import Domain, Model
from suffice_check.ordered import ZERO, Number, total
from suffice_check.question import choices, indices, radii, regions
from suffice_check.reading import RejectedError, Value
from suffice_check.scenarios import Scenarios
from suffice_check.tree import Choices, Cover, Node, check_changes

ONE = Number(Fraction(1))
Trees = Sequence[Sequence[Node]]

# What each kind of result takes besides a radius, its unit, immutable features and a claim.
TAKES = {
    "explanation": {"fix", "free", "cost", "groups", "max_changed", "norm", "arithmetic"},
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {"fix", "free", "cost", "groups", "max_changed", "arithmetic"},
    "counterfactual": {"fix", "free", "cost", "groups", "max_changed", "arithmetic"},
    "radius": {"max_changed", "arithmetic"},
    "explanations": {"fix", "free", "cost", "groups", "max_changed"},
    "relevance": {"fix", "free", "groups", "max_changed"},
    "curve": {"fix", "free", "cost", "groups", "max_changed"},
    "inflation": {"fix", "free", "cost", "groups", "max_changed"},
}


class Proven:
    """One certificate against one model: row, region and constraints worked out from scratch, then the proof checked.

    Making one raises `RejectedError` where a step fails.
    """

    def __init__(self, model: Model, certificate: Certificate) -> None:
        self.model, self.certificate, self.question = model, certificate, certificate.question
        self.row, self.result, self.evidence = certificate.row, certificate.result, certificate.evidence
        self.count, self.kind = len(model.features), certificate.kind
        for option in sorted(self.question.given() - TAKES[self.kind]):
            raise RejectedError("question", f"{option!r} has no meaning for a result of kind {self.kind!r}")
        self._check_row()
        self.radii, self.choices = radii(self.question, model), choices(self.question, model)
        self.still = {*indices(self.question.immutable, model, "immutable")}
        if self.kind in ("radius", "curve") and self.question.radius != 1:
            raise RejectedError("radius", "radii are looked for, so that the question's own is 1")
        if self.evidence.keys() != self.wanted():
            raise RejectedError("evidence", "it is of another form than this model and this kind of result need")
        here = [feature.part(x) for feature, x in zip(model.features, self.row, strict=True)]
        both = [term.at(self.row) for term in model.pairs]
        self.scores = [sum(column, start) for start, *column in zip(model.intercept, *here, *both, strict=True)]
        inequality, self.claim = inequalities(self.question.claim, certificate.enclosure, model, self.scores)
        self.constraints = []
        for part, charge in zip(inequality, self._charges(len(inequality)), strict=True):
            margin, edge = part.constant + part.of(self.scores), -1 if part.is_strict else 0
            if margin < 0:
                raise RejectedError("claim", "it is false at the row itself")
            loose = margin + part.gap + charge
            self.constraints.append(Constraint(part, Number(margin - charge, edge), Number(loose, edge)))
        each = zip(model.features, here, strict=True)
        self.parts = [Part(feature, part, inequality, self.count) for feature, part in each]
        self.is_best = False  # whether what is found reaches its lower bound
        getattr(self, f"_check_{self.kind}")(**self.result_fields(), **self.evidence)

    def wanted(self) -> Collection[str]:
        """Return what evidence consists of."""
        return KINDS[self.kind][1].keys()

    def result_fields(self) -> dict[str, object]:
        """Return what is said, without its kind."""
        return {name: content for name, content in self.result.items() if name != "kind"}

    def _check_row(self) -> None:
        if len(self.row) != self.count:
            raise RejectedError("row", f"the model has {self.count} features, the row has {len(self.row)} values")
        for feature, x in zip(self.model.features, self.row, strict=True):
            if not feature.domain.holds(x):
                raise RejectedError("row", f"{feature.name!r} is outside its domain")

    def _charges(self, count: int) -> list[Fraction]:
        """Return by how much each inequality must hold at least: 0, if the certificate does not say more."""
        charges = self.certificate.charges
        if charges is None:
            return [Fraction(0)] * count
        if self.question.arithmetic == "exact" or len(charges) != count or min(charges) < 0:
            raise RejectedError("charges", "there is one from 0 up for each inequality, or none in exact arithmetic")
        return charges

    # --- what all kinds are made of -----------------------------------------------------------------------------------

    def _around(self, at: Radius = ONE) -> Around:
        """Return the row and its region at a multiple of the radii."""
        if isinstance(at, Number) and at < ZERO:
            raise RejectedError("radius", "a radius is from 0 up")
        return self._inside(regions(self.model, self.row, self.radii, at, self.still))

    def _inside(self, region: list[Domain]) -> Around:
        # Changes of one feature lie in the ball of any norm; more at once need not.
        most = self.question.max_changed
        few = most if self.question.norm == "inf" else 1
        return Around(self.parts, self.row, region, self.constraints, most, few)

    def _features(self, listed: Collection[int]) -> set[int]:
        if {*listed} - {*range(self.count)} or len({*listed}) != len(listed):
            raise RejectedError("features", "one does not exist, or is listed twice")
        return {*listed}

    def _others(self, listed: Collection[int]) -> list[int]:
        named = self._features(listed)
        return [i for i in range(self.count) if i not in named]

    def _cover(self, around: Around, witnesses: list[list[Witness]]) -> Cover:
        """Return which sets can be sufficient as far as witnesses can tell."""
        loose = [constraint.loose for constraint in self.constraints]
        return Cover(loose, around.witnessed(witnesses), self.choices, around.few)

    def _most(self, bound: int) -> int:
        """Return what can be freed at most by sets that do not cost less than a bound."""
        return self.choices.cost({*range(len(self.choices.items))} - self.choices.free) - bound

    def _check_least(self, around: Around, bound: int, proof: Proof) -> None:
        """Check that no allowed set that costs less than a bound is sufficient."""
        if bound:
            self._cover(around, proof.witnesses).check(proof.tree, self._most(bound))
        elif proof.witnesses or proof.tree:
            raise RejectedError("lower bound", "there is evidence for one, and none is claimed")

    def _units(self, cost: Fraction, most: int) -> int:
        """Return a bound on costs, counted in their unit."""
        units = cost / self.choices.unit
        if units.denominator != 1 or not 0 <= units <= most:
            raise RejectedError(
                "lower bound", "it is not what a set can cost, or more than the one that is named costs"
            )
        return int(units)

    def _check_changes(self, around: Around, budget: int, trees: Trees) -> None:
        """Check that no changes whose items cost at most so much break the claim."""
        is_plain = {*self.choices.costs} <= {1} and not (self.choices.has_groups and around.most is not None)
        if len(trees) != (0 if is_plain or budget < 0 else len(self.constraints)):
            raise RejectedError("tree", "there must be one for each inequality, or none where costs are all the same")
        within = [k for k in self.choices.open if self.choices.costs[k] <= budget]
        moving = {*self.choices.features(within)}
        for c, constraint in enumerate(self.constraints if budget >= 0 else ()):
            drops = [around.drop(c, i) if i in moving else ZERO for i in range(self.count)]
            known = [drop for drop in drops if drop is not None]
            if len(known) < self.count:
                raise RejectedError("lower bound", "a change within the budget may break the claim, without bound")
            if is_plain:
                check_few(constraint.margin, known, self.choices, budget, around.most)
            else:
                check_changes(trees[c], constraint.margin, known, self.choices, budget, around.most)

    # --- the kinds of results -----------------------------------------------------------------------------------------

    def _check_explanation(self, fixed: list[int], lower_bound: Fraction, **proof: Any) -> None:
        """Fixed features suffice, and no allowed set below the bound does."""
        around, cost = self._around(), self._cost(fixed)
        around.check_sufficient(fixed)
        bound = self._units(lower_bound, cost)
        self._check_least(around, bound, Proof(**proof))
        self.is_best = bound == cost

    def _cost(self, fixed: list[int]) -> int:
        return self.choices.cost(self.choices.held(self._features(fixed)))

    def _check_insufficient(self, fixed: list[int], input: list[Value]) -> None:  # noqa: A002
        """An input that has these features fixed breaks the claim."""
        self._around().check_input(input, self._others(fixed))

    def _check_contrast(
        self, changed: list[int], lower_bound: Fraction, input: list[Value], fewer: Trees,  # noqa: A002
    ) -> int:  # fmt: skip
        """An input that changes these features alone breaks the claim; no changes below the bound do."""
        around = self._around()
        cost = self._check_change(around, changed, input)
        bound = self._units(lower_bound, cost)
        self._check_changes(around, bound - 1, fewer)
        self.is_best = bound == cost
        return cost

    def _check_change(self, around: Around, changed: list[int], input: list[Value]) -> int:  # noqa: A002
        """Check that an input which changes some features, that may change, breaks the claim; return what they cost."""
        chosen = self._features(changed)
        touched = {k for k, item in enumerate(self.choices.items) if not chosen.isdisjoint(item)}
        if touched & self.choices.fix:
            raise RejectedError("features", "one that must be fixed is changed")
        around.check_input(input, chosen)
        return self.choices.cost(touched - self.choices.free)

    def _check_counterfactual(self, least: Number, nearer: Trees, **contrast: Any) -> None:
        """The same; and at this cost no change that stays within a multiple of the radii breaks the claim."""
        cost = self._check_contrast(**contrast)
        self._check_changes(self._nearer(least), cost, nearer)

    def _nearer(self, least: Number) -> Around:
        """Return the row and its region at what is said to be the least change."""
        if None in self.radii or least.edge > 0 or least > ONE:
            raise RejectedError("radius", "the least change is counted in radii, which are finite")
        return self._around(least)

    def _check_radius(
        self,
        fixed: list[int],
        holds_at: Radius,
        fails_at: Radius | None,
        input: list[Value] | None,  # noqa: A002
    ) -> None:
        """Fixed features suffice at one radius, so at every smaller one; not at another, so at no larger one."""
        self._check_edge(holds_at, 1)
        self._around(holds_at).check_sufficient(fixed)
        self._check_failure(fixed, fails_at, input)
        self.is_best = fails_at is not None and fails_at == after(holds_at)

    def _check_failure(self, fixed: list[int], fails_at: Radius | None, input: list[Value] | None) -> None:  # noqa: A002
        """Check that fixed features do not suffice at a radius, if there is one where they are said not to."""
        free = self._others(fixed)
        if (fails_at is None) != (input is None):
            raise RejectedError("input", "there is one exactly if the features are said not to suffice somewhere")
        if fails_at is not None and input is not None:
            self._check_edge(fails_at, -1)
            self._around(fails_at).check_input(input, free)

    def _check_edge(self, radius: Radius, wrong: int) -> None:
        # What suffices is shown up to a radius or just below it; what does not, from a radius or just above it.
        if isinstance(radius, Number) and radius.edge == wrong:
            raise RejectedError("radius", "it is on the wrong side of its end")
        if radius == "finite" and wrong == -1:
            raise RejectedError("radius", "what fails at all finite radii together fails at some finite one: name it")

    def _check_explanations(self, minimal: str, sets: list[list[int]], is_complete: bool, **proof: Any) -> None:
        """Each set is sufficient and minimal; and all others contain one of them, if these are all."""
        around = self._around()
        for one in sets:
            around.check_sufficient(one)
        self._check_minimal(minimal, sets, is_complete, self._cover(around, proof["witnesses"]), proof["tree"])

    def _check_minimal(
        self, minimal: str, sets: list[list[int]], is_complete: bool, cover: Cover | Scenarios, tree: list[Node]
    ) -> None:
        """Check that sufficient sets are minimal, and that there are no others if these are all."""
        held = [frozenset(self.choices.held(self._features(one))) for one in sets]
        costs = {self.choices.cost(one) for one in held}
        if len({*held}) < len(held) or not held or (minimal == "size" and len(costs) != 1):
            raise RejectedError("sets", "there is none, one is listed twice, or smallest ones cost differently")
        if minimal == "size":  # all that cost no more contain a listed one, so that none costs less
            (cost,) = costs
            cover.check(tree, self._most(cost + is_complete), held if is_complete else ())
            return
        for kept in held:
            freed = self.choices.open - kept
            if not all(cover.breaks(freed | {k}) for k in kept - self.choices.fix):
                raise RejectedError("sets", "one is not shown to be minimal")
        if is_complete:
            cover.check(tree, None, held)
        elif tree:
            raise RejectedError("tree", "there is one, though the sets are not said to be all")

    def _check_relevance(
        self, necessary: list[int], relevant: list[int], irrelevant: list[int],
        witnesses: list[list[Witness]], sets: list[list[int]], trees: Trees,
    ) -> None:  # fmt: skip
        """Freed alone, a necessary item breaks the claim; a set shows a relevant one; a tree rules an item out.

        Some allowed set suffices: of none, all of this would be true.
        """
        around = self._around()
        cover = self._cover(around, witnesses)
        roles = [self._open_items(listed) for listed in (necessary, relevant, irrelevant)]
        if len({k for role in roles for k in role}) < sum(map(len, roles)) or len(sets) != len(roles[1]):
            raise RejectedError("features", "one has two roles, or a relevant one has no set")
        if len(trees) != len(roles[2]):
            raise RejectedError("tree", "there must be one for each irrelevant item")
        around.check_sufficient([i for k in self.choices.open | self.choices.fix for i in self.choices.items[k]])
        if not all(cover.breaks([k]) for k in roles[0]):
            raise RejectedError("necessary", "a feature is not shown to break the claim alone")
        for k, one in zip(roles[1], sets, strict=True):
            held = self.choices.held(self._features(one))
            around.check_sufficient(one)
            if not cover.breaks((self.choices.open - held) | {k}):  # so that the item is in the set, which suffices
                raise RejectedError("sets", "one does not need the feature that it is to show")
            if not around.fits(self.choices.features([k])):
                raise RejectedError("relevant", "a feature is not shown to be missing in some sufficient set")
        for k, tree in zip(roles[2], trees, strict=True):
            cover.check_irrelevant(tree, k, around.fits)

    def _open_items(self, listed: list[int]) -> list[int]:
        """Return the items of some features, whole items that are not decided."""
        chosen = self._features(listed)
        found = [k for k in sorted(self.choices.open) if not chosen.isdisjoint(self.choices.items[k])]
        if chosen != {i for k in found for i in self.choices.items[k]}:
            raise RejectedError("features", "one is decided already, or its group is named in part")
        return found

    def _check_curve(self, steps: list[Step], proofs: list[Proof]) -> None:
        """Of each stretch: a set suffices up to its end, and from its start on no cheaper one does."""
        if len(proofs) != len(steps) or not steps or steps[0].start != ZERO:
            raise RejectedError("steps", "the first begins at 0, and each has a proof")
        ends = [end for step in steps for end in (step.start, step.end)]
        if any(rank(a) > rank(b) for a, b in pairwise(ends)) or any(a.end == b.start for a, b in pairwise(steps)):
            raise RejectedError("steps", "they are not one after the other")
        for step, proof in zip(steps, proofs, strict=True):
            self._check_edge(step.end, 1)
            self._check_edge(step.start, -1)
            cost = self._cost(step.fixed)
            self._around(step.end).check_sufficient(step.fixed)
            least = 0 if cost == self.choices.cost(self.choices.fix) else cost  # no allowed set costs less than that
            self._check_least(self._around(step.start), least, proof)
        self.is_best = all(b.start == after(a.end) for a, b in pairwise(steps))

    def _check_inflation(self, ranges: list[Range], is_widest: bool, inputs: list[list[Value]]) -> None:
        """Features may move in ranges together, the others in the region; each is as wide as those before it allow."""
        ranged = [one.feature for one in ranges]
        self._cost(ranged)
        free, region = self._others(ranged), regions(self.model, self.row, self.radii, ONE, self.still)
        around, given = region, iter(inputs)
        for place, one in enumerate(ranges):
            region = [*region]
            domain, x = self.model.features[one.feature].domain, self.row[one.feature]
            region[one.feature] = in_range(domain, one)
            if not region[one.feature].holds(x):
                raise RejectedError("ranges", "the row itself is outside of one")
            for beyond in just_beyond(domain, one) if is_widest else ():
                wider = [*around]
                wider[one.feature] = Domain([], [beyond], [])
                # One that stays in the range breaks nothing, as is shown below.
                self._inside(wider).check_input(next(given, []), free, ranged[: place + 1])
            around = region
        if next(given, None) is not None:
            raise RejectedError("input", "there are more than ends of ranges")
        if not self._inside(region).fits(free, ranged):
            raise RejectedError("sufficiency", "the claim can break within the ranges")


def after(radius: Radius) -> Radius | None:
    """Return what comes right after a radius."""
    if isinstance(radius, Number):
        return Number(radius.value, radius.edge + 1)
    return "inf" if radius == "finite" else None


def rank(radius: Radius) -> tuple[int, Number]:
    """Return a radius in the order of all."""
    return (0, radius) if isinstance(radius, Number) else (1 if radius == "finite" else 2, ZERO)


def in_range(domain: Domain, one: Range) -> Domain:
    """Return the values of a domain in a range: numbers of its spans, some categories, or one code."""
    if one.values is not None:
        if not all(x in domain.categories for x in one.values) and not (
            len(one.values) == 1 and one.values[0] in domain.codes
        ):
            raise RejectedError("ranges", "one has values that are not categories of its feature")
        return Domain([], one.values, [])
    if (one.low is not None and one.low.edge < 0) or (one.high is not None and one.high.edge > 0):
        raise RejectedError("ranges", "an end is on the wrong side")
    return Domain([cut for span in domain.spans if (cut := span.cut(one.low, one.high)) is not None], [], [])


def just_beyond(domain: Domain, one: Range) -> list[Value]:
    """Return what a range would have to hold if it were any wider: the next number on each side, or each label."""
    if one.values is not None:
        is_category = all(x in domain.categories for x in one.values)
        return [x for x in domain.categories if is_category and x not in one.values]
    found: list[Value] = []
    for low, high in ((None, one.low), (one.high, None)):
        end = high or low
        if end is not None:
            limit = Number(end.value, end.edge + (1 if low else -1))
            cuts = [span.cut(limit, None) if low else span.cut(None, limit) for span in domain.spans]
            ends = [cut.low if low else cut.high for cut in cuts if cut is not None]
            known = [place for place in ends if place is not None]
            found += [min(known) if low else max(known)] if known else []
    return found


def check_few(margin: Number, drops: Sequence[Number], choices: Choices, budget: int, most: int | None) -> None:
    """Check that so many items, and those that change at no cost, cannot lower an inequality past its margin."""
    falls = sorted((total(drops[i] for i in choices.items[k]) for k in choices.open), reverse=True)[:budget]
    every = sorted([*falls, *(drops[i] for i in choices.features(()))], reverse=True)
    if total(every if most is None else every[:most]) > margin:
        raise RejectedError("lower bound", "changes below it may be able to break the claim")
