"""From a question to what the kernel needs: which claims rows can fall under, and tables of values and drops.

In: a compiled model and a question. Out: a plan, whose `answer` takes cells and gives `Answers`.
Guaranteed: an answer that is not left open is the one that the search gives for the row.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.batch import kernel
from suffice.batch.answering import (
    NO_BOUNDS,
    NO_MARKS,
    Answers,
    LeaveOpen,
    ManyRows,
    Mask,
    Plan,
    Single,
    Whole,
    predicted_classes,
)
from suffice.batch.charges import EITHER, INNER, OUTER, Charge, Charges
from suffice.batch.chords import Chords
from suffice.batch.covers import cover_rows
from suffice.batch.limits import decide_limited
from suffice.batch.lookup import ROUNDING, TINY, WIDER, Floats, Tables, flatten
from suffice.batch.tabulate import FeatureChords, tabulate
from suffice.batch.weighed import decide_weighed
from suffice.errors import ClaimError
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.question.claim import NO_CLASS, Claim, Part
from suffice.question.preferences import Choices
from suffice.question.question import BUDGETS, Question
from suffice.solvers import cover_kernel
from suffice.solvers.covers import MOST_COST


def make_plan(compiled: Compiled, question: Question) -> Plan:
    """Return the plan for a question; one that leaves every row open where the kernel does not know the question."""
    known = {"categories", "immutable", "fix", "free", "cost", "groups", "arithmetic", *BUDGETS}
    limits = {"max_changed", "norm"}
    if question.given - known - limits or not Chords.can_be_made(compiled):
        return LeaveOpen()
    if compiled.is_curved and question.arithmetic != "exact":  # a row says why it is refused
        return LeaveOpen()
    parts = parts_by_class(compiled.model, question.claim)
    is_simple, choices = has_one_part(compiled, parts) and _tells_class(parts), question.choices
    if is_simple and choices.is_plain and not question.given & limits:
        return _OnePart(compiled, question, parts)
    if is_simple and (
        choices.is_plain or (choices.is_counting and not choices.has_groups and not question.given & limits)
    ):
        return _Limited(compiled, question, parts)
    if question.given & limits:
        return LeaveOpen()
    if sum(choices.costs) > MOST_COST:
        return LeaveOpen()
    return _Weighed(compiled, question, parts) if is_simple else _SeveralParts(compiled, question, parts)


Parts = Mapping[int, tuple[Part, ...]]


def has_one_part(compiled: Compiled, parts: Parts) -> bool:
    """Whether a claim has one part at most whatever is predicted, over one score, against a given value."""
    is_relative = any(part.is_relative for some in parts.values() for part in some)
    return len(compiled.model.intercept) == 1 and all(len(some) < 2 for some in parts.values()) and not is_relative


def _tells_class(parts: Parts) -> bool:
    """Whether a row at which a part holds is of the class that the part is about, or all classes share one part.

    The probability of a class may be at least 0.3 where the other is predicted: then the class is to be asked for.
    """
    each = [(winner, part) for winner, some in parts.items() for part in some]
    is_one = len({(part.factors, part.constant, part.gap) for _, part in each}) < 2
    # Class 1 is predicted where the score is 0 or more.
    return is_one or all(part.factors[0] * (2 * winner - 1) > 0 >= part.constant + part.gap for winner, part in each)


def parts_by_class(model: AdditiveModel, claim: Claim) -> Parts:
    """Return the inequalities of a claim for each class that may be predicted; none where the claim cannot be made."""
    found = {}
    for winner in reversed(range(len(model.classes))) if model.classes else (NO_CLASS,):
        try:
            found[winner] = claim.parts(model, winner)
        except ClaimError:
            found[winner] = ()
    return found


class _Charged(ManyRows):
    """A plan for rows of which rounding may take something from the margins.

    The set that is told is proven with all of that taken off, and what is ruled out is ruled out with all of it added.
    Most rows are the same for every margin between; those that are not are decided once with each.
    """

    def __init__(self, compiled: Compiled, question: Question, parts: Parts) -> None:
        self.model, self.parts = compiled.model, parts
        self.charges = Charges.made(compiled, question)
        self.choices = question.choices

    def decide(self, cells: Floats, vague: Mask, charge: Charge | None, side: int) -> Answers:
        """Answer rows with margins less what is charged (`INNER`), with it added (`OUTER`), or anything between."""
        raise NotImplementedError

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        if self.charges is None:
            return self.decide(cells, vague, None, EITHER)
        charge = self.charges.of(cells, vague)
        found = self.decide(cells, vague, charge, EITHER)
        rows = np.flatnonzero((found.sizes == kernel.OPEN) & np.isfinite(charge.off).all(axis=0))
        least = found.least if len(found.least) else found.sizes.copy()
        if not len(rows):
            return found._replace(least=least)
        some = np.ascontiguousarray(cells[:, rows]), vague[:, rows] if len(vague) else vague, charge.cut(rows)
        inner, outer = self.decide(*some, INNER), self.decide(*some, OUTER)
        is_open = ((inner.sizes < 0) | (outer.sizes < 0)) & (inner.sizes != kernel.REFUSED)
        sizes, fixed = _reopen(inner.sizes, inner.fixed, is_open)
        least[rows] = outer.least if len(outer.least) else self._least(inner, outer)
        all_sizes = found.sizes.copy()
        all_sizes[rows] = sizes
        others = np.flatnonzero(found.sizes != kernel.OPEN)
        groups = [(others, found.sizes[others], found.fixed), (rows, sizes, fixed)]
        return found._replace(sizes=all_sizes, least=least, fixed=end_to_end(all_sizes, groups))

    def _least(self, inner: Answers, outer: Answers) -> Whole:
        """Return the least number of features; where these differ in cost, the size if nothing costs less, else 0."""
        if self.choices.is_counting and not self.choices.has_groups:
            return outer.sizes
        return np.where(self._costs(inner) == self._costs(outer), inner.sizes, 0).astype(np.int32)

    def _costs(self, found: Answers) -> NDArray[np.int64]:
        """Return what the fixed features of each row cost."""
        first, members, costs, _ = _items(self.choices)
        each = np.zeros(len(members), np.int64)
        each[members[first[:-1]]] = costs  # an item is fixed if its first feature is
        ends = np.cumsum(np.maximum(found.sizes, 0))
        added = np.concatenate([[0], np.cumsum(each[found.fixed])])
        return np.asarray(added[ends] - added[ends - np.maximum(found.sizes, 0)])


class _OnePart(_Charged):
    """Claims of one part over one score: a binary class stays, a score stays above or below a value."""

    def __init__(self, compiled: Compiled, question: Question, parts: Parts) -> None:
        super().__init__(compiled, question, parts)
        every = (part for some in parts.values() for part in some)
        sides = list(dict.fromkeys((part.factors[0], part.constant, part.gap) for part in every))
        chords, terms = Chords.kept(compiled, question.radii), len(self.model.features)
        values, drops = chords.of((1,)), [chords.of((sign,)) for sign, *_ in sides]
        self.tables = flatten(
            tabulate(
                [
                    FeatureChords(domain, question.radii[i], [values[i]], [part[i] for part in drops])
                    for i, domain in enumerate(question.domains(self.model))
                ],
                terms,
            )
        )
        constants = [_rounded(sign * self.model.intercept[0] + constant, terms, gap) for sign, constant, gap in sides]
        self.sides = kernel.Sides(
            np.array([float(sign) for sign, *_ in sides]),
            np.array([near for near, _ in constants]),
            np.array([error for _, error in constants]),
        )
        self.intercept = _rounded(self.model.intercept[0], terms)

    def decide(self, cells: Floats, vague: Mask, charge: Charge | None, side: int) -> Answers:
        return self._told(*self._decided(cells, vague, _slack(charge, side)), charge=charge, side=side)

    def _decided(self, cells: Floats, vague: Mask, slack: kernel.Slack) -> Any:
        return kernel.decide_one(self.tables, self.sides, cells, vague, slack)

    def _told(
        self,
        sums: Floats,
        errors: Floats,
        sizes: Whole,
        margins: Floats,
        margin_errors: Floats,
        fixed: Whole,
        *,
        charge: Charge | None,
        side: int,
    ) -> Answers:
        scores, score_errors = sums + self.intercept[0], (errors + self.intercept[1]) * WIDER
        classes, is_sure = predicted_classes(self.model, scores[:, None], score_errors[:, None])
        for winner, some in self.parts.items():
            if not some:  # the claim cannot be made of such a row: it gets its error
                is_sure &= classes != winner
        if charge is not None:
            margins, margin_errors = _slack(charge, INNER).on(margins, margin_errors)
            if side == INNER:  # rounding alone may break the claim
                sizes[margins < -margin_errors] = kernel.REFUSED
        sizes, fixed = _reopen(sizes, fixed, ~is_sure)
        return Answers(classes.astype(np.int32), scores, score_errors, sizes, margins, margin_errors, fixed)

    def single(self, cells: Floats) -> Single | None:
        """Answer one row, in one compiled call."""
        charge = 0.0
        if self.charges is not None:
            charge = float(self.charges.of(cells, NO_MARKS).slack((1,), EITHER).doubt[0])
        total, off, size, fixed = kernel.decide_single(self.tables, self.sides, cells, NO_MARKS, charge)
        if size == kernel.OPEN:
            return None
        score, error = np.array([[total + self.intercept[0]]]), np.array([[(off + self.intercept[1]) * WIDER]])
        classes, is_sure = predicted_classes(self.model, score, error)
        winner = int(classes[0])
        return (tuple(fixed.tolist()), winner) if is_sure[0] and self.parts[winner] else None


class _Limited(_OnePart):
    """The same with features that are always fixed or always free, a limit on changes, or a ball."""

    def __init__(self, compiled: Compiled, question: Question, parts: Parts) -> None:
        super().__init__(compiled, question, parts)
        _, members, _, decided = _items(question.choices)
        self.decided = np.zeros(len(members), np.int8)
        self.decided[members[decided == cover_kernel.KEPT]] = 1
        self.decided[members[decided == cover_kernel.FREED]] = -1
        self.most = len(members) if question.max_changed is None else question.max_changed
        self.is_ball = question.is_ball

    def decide(self, cells: Floats, vague: Mask, charge: Charge | None, side: int) -> Answers:
        slack = _slack(charge, side)
        found = decide_limited(self.tables, self.sides, cells, vague, slack, self.decided, self.most, self.is_ball)
        # In a ball one feature alone can do what it does in the box, and that is all that is ruled out.
        return self._told(*found[:-1], charge=charge, side=side)._replace(
            least=found[-1] if self.is_ball else NO_BOUNDS
        )

    def single(self, cells: Floats) -> Single | None:
        return ManyRows.single(self, cells)


class _Weighed(_OnePart):
    """The same with costs and groups."""

    def __init__(self, compiled: Compiled, question: Question, parts: Parts) -> None:
        super().__init__(compiled, question, parts)
        self.items = _items(question.choices)

    def _decided(self, cells: Floats, vague: Mask, slack: kernel.Slack) -> Any:
        return decide_weighed(self.tables, self.sides, cells, vague, slack, self.items)

    def single(self, cells: Floats) -> Single | None:
        return ManyRows.single(self, cells)


class _SeveralParts(_Charged):
    """Claims of several parts: the winner against other classes, a score within a distance; or costs of all kinds."""

    def __init__(self, compiled: Compiled, question: Question, parts: Parts) -> None:
        super().__init__(compiled, question, parts)
        self.chords, self.radii = Chords.kept(compiled, question.radii), question.radii
        self.domains = question.domains(compiled.model)
        self.terms = len(self.model.features)
        self.values = flatten(
            tabulate(
                [
                    FeatureChords(domain, ZERO, values)
                    for domain, *values in zip(
                        self.model.domains, *map(self.chords.of, _units(self.model)), strict=True
                    )
                ],
                self.terms,
            )
        )
        self.intercept = [_rounded(value, self.terms) for value in self.model.intercept]
        self.is_plain, self.items = question.choices.is_plain, _items(question.choices)
        self._tables: dict[tuple[int, ...], Tables] = {}
        self._lock = threading.Lock()

    def decide(self, cells: Floats, vague: Mask, charge: Charge | None, side: int) -> Answers:
        outputs, rows = len(self.intercept), cells.shape[1]
        sums, doubts = kernel.add_up(self.values, outputs, cells, vague)
        scores = sums.T + np.array([near for near, _ in self.intercept])
        errors = (doubts.T + np.array([error for _, error in self.intercept])) * WIDER
        classes, is_sure = predicted_classes(self.model, scores, errors)
        sizes = np.full(rows, kernel.OPEN, np.int32)
        margins, margin_errors = np.full(rows, np.nan), np.full(rows, np.nan)
        found: list[tuple[NDArray[np.int64], Whole, Whole]] = []
        for winner, parts in self.parts.items():
            chosen = np.flatnonzero(is_sure & (classes == winner))
            if not parts or not len(chosen):
                continue
            each = [_margins(part, scores[chosen], errors[chosen]) for part in parts]
            group_margins, group_errors = (np.stack(column) for column in zip(*each, strict=True))
            decided = group_margins, group_errors
            if charge is not None:
                own = charge.cut(chosen)
                decided = _with_slack(parts, own, side, *decided)
                group_margins, group_errors = _with_slack(parts, own, INNER, group_margins, group_errors)
            group_sizes, tightest, fixed = self._decide(parts, cells, vague, chosen, *decided)
            if charge is not None and side == INNER:  # rounding alone may break the claim
                group_sizes[(group_margins < -group_errors).any(axis=0)] = kernel.REFUSED
            sizes[chosen] = group_sizes
            margins[chosen] = group_margins[tightest, np.arange(len(chosen))]
            margin_errors[chosen] = group_errors[tightest, np.arange(len(chosen))]
            found.append((chosen, group_sizes, fixed))
        shown, shown_errors = (scores[:, 0], errors[:, 0]) if outputs == 1 else (margins * np.nan, margins * np.nan)
        fixed = end_to_end(sizes, found)
        return Answers(classes.astype(np.int32), shown, shown_errors, sizes, margins, margin_errors, fixed)

    def _decide(
        self,
        parts: Sequence[Part],
        cells: Floats,
        vague: Mask,
        rows: NDArray[np.int64],
        margins: Floats,
        errors: Floats,
    ) -> tuple[Whole, NDArray[np.int64], Whole]:
        """Return size, tightest part and fixed features of some rows."""
        chosen, marks = np.ascontiguousarray(cells[:, rows]), vague[:, rows] if len(vague) else vague
        each = [kernel.all_drops(self._table(part.factors), chosen, np.ascontiguousarray(marks)) for part in parts]
        drops, bounds = np.stack([one for one, _ in each]), np.stack([one for _, one in each])
        if len(parts) > 1 or not self.is_plain:
            sizes, tightest, fixed = cover_rows(drops, bounds, margins, errors, *self.items)
            return sizes, tightest, fixed
        by_feature = np.ascontiguousarray(drops[0].T), np.ascontiguousarray(bounds[0].T)
        sizes, fixed = kernel.decide_rows(*by_feature, margins[0], errors[0], np.empty(drops[0].shape, np.int64))
        return sizes, np.zeros(len(rows), np.int64), fixed

    def _table(self, factors: tuple[int, ...]) -> Tables:
        """Return the tables of the drops of one part, made when the first row needs them."""
        with self._lock:
            if factors not in self._tables:
                each = zip(self.domains, self.radii, self.chords.of(factors), strict=True)
                asked = [FeatureChords(domain, radius, drops=[one]) for domain, radius, one in each]
                self._tables[factors] = flatten(tabulate(asked, self.terms))
            return self._tables[factors]


def _units(model: AdditiveModel) -> list[tuple[int, ...]]:
    """Return the factors of each score alone."""
    every = range(len(model.intercept))
    return [tuple(int(j == k) for k in every) for j in every]


def _items(choices: Choices) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """Return the items as `cover_rows` takes them."""
    decided = np.full(len(choices.items), cover_kernel.OPEN, np.int8)
    decided[sorted(choices.free)] = cover_kernel.FREED
    decided[sorted(choices.fix)] = cover_kernel.KEPT
    first = np.cumsum([0, *map(len, choices.items)])
    return first, np.concatenate(choices.items).astype(np.int64), np.array(choices.costs, np.int64), decided


def _slack(charge: Charge | None, side: int) -> kernel.Slack:
    """Return what is added to the margins of a claim of one part over one score."""
    return kernel.NO_SLACK if charge is None else charge.slack((1,), side)


def _with_slack(
    parts: Sequence[Part], charge: Charge, side: int, margins: Floats, errors: Floats
) -> tuple[Floats, Floats]:
    """Return the margins of all parts (first index), and their errors, with what is charged taken off or added."""
    each = [charge.slack(part.factors, side).on(*one) for part, *one in zip(parts, margins, errors, strict=True)]
    return np.stack([one for one, _ in each]), np.stack([one for _, one in each])


def _margins(part: Part, scores: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the margin of a part at each row, and its error."""
    near, error = nearest_float(part.constant), 0.0
    if not (np.isfinite(near) and rational(near) == part.constant):
        error = ROUNDING * abs(near) * 2 + TINY
    error += nearest_float(part.gap) * WIDER  # the true constant may be larger by as much
    if part.is_relative:  # the row's own score is in the middle: the margin is the distance
        return np.full(len(scores), near), np.full(len(scores), error)
    used = [j for j, factor in enumerate(part.factors) if factor]
    terms = [part.factors[j] * scores[:, j] for j in used] + ([np.full(len(scores), near)] if near else [])
    margins, doubts = terms[0], errors[:, used].sum(axis=1) + error
    for term in terms[1:]:  # a product with 1 or -1 is exact, a sum off by half of its last place
        margins = margins + term
        doubts = doubts + 2 * ROUNDING * np.abs(margins)
    return np.ascontiguousarray(margins), np.ascontiguousarray(doubts * WIDER)


def _rounded(constant: Rational, terms: int, gap: Rational = ZERO) -> tuple[float, float]:
    """Return the nearest float, and its error with the constant's share in the rounding of a sum.

    The true constant may be larger by as much as the gap.
    """
    near = nearest_float(constant)
    return near, (ROUNDING * (terms + 4) * abs(near) + nearest_float(gap)) * WIDER + TINY


def _reopen(sizes: Whole, fixed: Whole, is_open: Mask) -> tuple[Whole, Whole]:
    """Return sizes and fixed features with some more rows left open."""
    if not is_open.any():
        return sizes, fixed
    of_row = np.repeat(np.arange(len(sizes)), np.maximum(sizes, 0))
    return np.where(is_open, np.int32(kernel.OPEN), sizes), fixed[~is_open[of_row]]


def end_to_end(sizes: Whole, groups: Sequence[tuple[NDArray[np.int64], Whole, Whole]]) -> Whole:
    """Return the fixed features of all rows in the order of the rows, from groups of (rows, sizes, fixed features)."""
    ends = np.cumsum(np.maximum(sizes, 0))
    starts = ends - np.maximum(sizes, 0)
    fixed = np.empty(ends[-1] if len(ends) else 0, np.int32)
    for rows, group_sizes, group_fixed in groups:
        lengths = np.maximum(group_sizes, 0)
        inner = np.arange(len(group_fixed)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        fixed[np.repeat(starts[rows], lengths) + inner] = group_fixed
    return fixed
