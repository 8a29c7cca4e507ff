"""From a question to what the kernel needs: which claims rows can fall under, and tables of values and drops.

In: an `Explainer`, radii, a claim. Out: a plan, whose `answer` takes cells and gives `Answers`.
Guaranteed: an answer that is not left open is the one that `Explainer.explain` gives for the row.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.batch import kernel
from suffice.batch.tables import ROUNDING, TINY, WIDER, Floats, Tables, flatten, tabulate
from suffice.claims import AtLeast, AtMost, Beats, Claim, Same, Within
from suffice.rational import ZERO, Rational, nearest_float, rational
from suffice.shapes.pieces import Pieces

if TYPE_CHECKING:
    from suffice.explain import Explainer

Mask = NDArray[np.bool_]
Whole = NDArray[np.int32]


class Answers(NamedTuple):
    """Columns of answers; where a row is left open its size is `kernel.OPEN` and nothing else of it counts."""

    classes: Whole  # index of the predicted class; -1 for a regression
    scores: Floats  # of a regression: the prediction; NaN where there is more than one score
    score_errors: Floats
    sizes: Whole
    margins: Floats
    margin_errors: Floats
    kept: Whole  # the kept features of all rows that are not open, end to end


class Plan(Protocol):
    """What answers many rows of one question."""

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        """Answer rows of cells, of shape (features, rows); `vague` is of the same shape, or empty."""


def make_plan(explainer: Explainer, radii: Sequence[Rational | None], claim: Claim) -> Plan:
    """Return the plan for a question; one that leaves every row open where the kernel does not know the claim."""
    is_class_claim, task = type(claim) in (Same, Beats), explainer.model.task
    if type(claim) in (AtLeast, AtMost) or (is_class_claim and task == "binary"):
        return _OnePart(explainer, radii, claim)
    if type(claim) is Within or (is_class_claim and task == "multiclass"):
        return _SeveralParts(explainer, radii, claim)
    return LeaveOpen()


class LeaveOpen:
    """Leaves every row open."""

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        """Return answers of which each is open."""
        empty = np.full(cells.shape[1], np.nan)
        none = np.full(cells.shape[1], kernel.OPEN, np.int32)
        return Answers(none, empty, empty, none, empty, empty, np.zeros(0, np.int32))


class _OnePart:
    """Claims of one part over one score: a binary class stays, a score stays above or below a value."""

    def __init__(self, explainer: Explainer, radii: Sequence[Rational | None], claim: Claim) -> None:
        self.model, self.claim = explainer.model, claim
        sides = _sides(claim)
        values, terms = explainer._oriented((1,)), len(self.model.features)
        drops = [explainer._oriented((sign,)) for sign, _ in sides]
        self.tables = flatten(
            [
                tabulate(domain, radii[i], values=[values[i]], drops=[part[i] for part in drops], terms=terms)
                for i, domain in enumerate(self.model.domains)
            ]
        )
        constants = [_rounded(sign * self.model.intercept[0] + constant, terms) for sign, constant in sides]
        self.sides = kernel.Sides(
            np.array([float(sign) for sign, _ in sides]),
            np.array([near for near, _ in constants]),
            np.array([error for _, error in constants]),
        )
        self.intercept = _rounded(self.model.intercept[0], terms)

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        sums, errors, sizes, margins, margin_errors, kept = kernel.decide_one(self.tables, self.sides, cells, vague)
        scores, score_errors = sums + self.intercept[0], (errors + self.intercept[1]) * WIDER
        classes = np.full(len(sizes), -1, np.int32)
        if self.model.task == "binary":
            classes[scores > score_errors] = 1
            classes[scores < -score_errors] = 0
            is_open = classes < 0
            if isinstance(self.claim, Beats):  # a class does not beat itself: the row gets its error
                is_open |= classes == self.model.classes.index(self.claim.other)
            sizes, kept = _reopen(sizes, kept, is_open)
        return Answers(classes, scores, score_errors, sizes, margins, margin_errors, kept)


def _sides(claim: Claim) -> list[tuple[int, Rational]]:
    """Return the claims `sign · score + constant` that a row can fall under."""
    if isinstance(claim, AtLeast):
        return [(1, -claim.value)]
    if isinstance(claim, AtMost):
        return [(-1, claim.value)]
    return [(1, ZERO), (-1, ZERO)]


class _SeveralParts:
    """Claims of several parts: the winner against other classes, a score within a distance of the row's own."""

    def __init__(self, explainer: Explainer, radii: Sequence[Rational | None], claim: Claim) -> None:
        self.explainer, self.radii, self.claim = explainer, radii, claim
        self.model = explainer.model
        self.terms = len(self.model.features)
        self.values = flatten(
            [
                tabulate(domain, ZERO, values=pieces, terms=self.terms)
                for domain, pieces in zip(self.model.domains, explainer._pieces, strict=True)
            ]
        )
        self.intercept = [_rounded(value, self.terms) for value in self.model.intercept]
        self._tables: dict[tuple[int, ...], Tables] = {}
        self._lock = threading.Lock()

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        outputs, rows = len(self.intercept), cells.shape[1]
        sums, doubts = kernel.add_up(self.values, outputs, cells, vague)
        scores = sums.T + np.array([near for near, _ in self.intercept])
        errors = (doubts.T + np.array([error for _, error in self.intercept])) * WIDER
        winners = self._winners(scores, errors)
        sizes = np.full(rows, kernel.OPEN, np.int32)
        margins, margin_errors = np.full(rows, np.nan), np.full(rows, np.nan)
        found: list[tuple[NDArray[np.int64], Whole, Whole]] = []
        for winner in np.unique(winners[winners >= 0]).tolist():
            chosen = np.flatnonzero(winners == winner)
            group_margins, group_errors = self._margins(winner, scores[chosen], errors[chosen])
            drops, bounds = self._drops(winner, cells, vague, chosen)
            if len(drops) == 1:
                group_sizes, *_, kept = kernel.decide_rows(
                    drops[0], bounds[0], group_margins[0], group_errors[0], np.empty(drops[0].shape, np.int64)
                )
                tightest = np.zeros(len(chosen), np.int64)
            else:
                group_sizes, tightest, kept = kernel.decide_several(drops, bounds, group_margins, group_errors)
            sizes[chosen] = group_sizes
            margins[chosen] = group_margins[tightest, np.arange(len(chosen))]
            margin_errors[chosen] = group_errors[tightest, np.arange(len(chosen))]
            found.append((chosen, group_sizes, kept))
        classes = winners if self.model.task == "multiclass" else self._classes(scores[:, 0], errors[:, 0])
        kept = end_to_end(sizes, found)
        if self.model.task == "binary":
            sizes, kept = _reopen(sizes, kept, classes < 0)
        shown, shown_errors = (scores[:, 0], errors[:, 0]) if outputs == 1 else (margins * np.nan, margins * np.nan)
        return Answers(classes.astype(np.int32), shown, shown_errors, sizes, margins, margin_errors, kept)

    def _classes(self, scores: Floats, errors: Floats) -> NDArray[np.int64]:
        if self.model.task == "regression":
            return np.full(len(scores), -1)
        return np.where(scores > errors, 1, np.where(scores < -errors, 0, -1))

    def _winners(self, scores: Floats, errors: Floats) -> NDArray[np.int64]:
        """Return the group of each row, the class with the largest score; -1 where the errors leave that open."""
        if len(self.intercept) == 1:
            return np.where(np.isfinite(scores[:, 0]) & np.isfinite(errors[:, 0]), 0, -1)
        winners = np.argmax(scores, axis=1)
        each = np.arange(len(scores))
        ahead = scores[each, winners][:, None] - scores
        is_sure = ahead > (errors[each, winners][:, None] + errors) * WIDER
        is_sure[each, winners] = True
        winners[~is_sure.all(axis=1)] = -1
        if isinstance(self.claim, Beats):  # a class does not beat itself: the row gets its error
            winners[winners == self.model.classes.index(self.claim.other)] = -1
        return np.asarray(winners)

    def _rivals(self, winner: int) -> list[int]:
        if isinstance(self.claim, Beats):
            return [self.model.classes.index(self.claim.other)]
        return [j for j in range(len(self.intercept)) if j != winner]

    def _margins(self, winner: int, scores: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """Return the margin of each part (first index) of each row, and its error."""
        if isinstance(self.claim, Within):  # the row's own score is in the middle: both margins are the distance
            delta = nearest_float(self.claim.delta)
            error = 0.0 if np.isfinite(delta) and rational(delta) == self.claim.delta else ROUNDING * delta * 2 + TINY
            return np.full((2, len(scores)), delta), np.full((2, len(scores)), error)
        rivals = self._rivals(winner)
        margins = scores[:, [winner]] - scores[:, rivals]
        doubts = (errors[:, [winner]] + errors[:, rivals] + 2 * ROUNDING * np.abs(margins)) * WIDER
        return np.ascontiguousarray(margins.T), np.ascontiguousarray(doubts.T)

    def _drops(self, winner: int, cells: Floats, vague: Mask, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        if isinstance(self.claim, Within):
            parts: list[tuple[int, ...]] = [(1,), (-1,)]
        else:
            count = len(self.intercept)
            parts = [tuple((j == winner) - (j == rival) for j in range(count)) for rival in self._rivals(winner)]
        chosen, marks = np.ascontiguousarray(cells[:, rows]), vague[:, rows] if len(vague) else vague
        found = [kernel.all_drops(self._table(factors), chosen, np.ascontiguousarray(marks)) for factors in parts]
        return np.stack([drops for drops, _ in found]), np.stack([bounds for _, bounds in found])

    def _table(self, factors: tuple[int, ...]) -> Tables:
        """Return the tables of the drops of one part, made when the first row needs them."""
        with self._lock:
            if factors not in self._tables:
                functions: Sequence[Pieces] = self.explainer._oriented(factors)
                each = zip(self.model.domains, self.radii, functions, strict=True)
                features = [tabulate(domain, radius, drops=[one], terms=self.terms) for domain, radius, one in each]
                self._tables[factors] = flatten(features)
            return self._tables[factors]


def _rounded(constant: Rational, terms: int) -> tuple[float, float]:
    """Return the nearest float, and its error with the constant's share in the rounding of a sum."""
    near = nearest_float(constant)
    return near, ROUNDING * (terms + 4) * abs(near) * WIDER + TINY


def _reopen(sizes: Whole, kept: Whole, is_open: Mask) -> tuple[Whole, Whole]:
    """Return sizes and kept features with some more rows left open."""
    if not is_open.any():
        return sizes, kept
    of_row = np.repeat(np.arange(len(sizes)), np.maximum(sizes, 0))
    return np.where(is_open, np.int32(kernel.OPEN), sizes), kept[~is_open[of_row]]


def end_to_end(sizes: Whole, groups: Sequence[tuple[NDArray[np.int64], Whole, Whole]]) -> Whole:
    """Return the kept features of all rows in the order of the rows, from groups of (rows, sizes, kept features)."""
    ends = np.cumsum(np.maximum(sizes, 0))
    starts = ends - np.maximum(sizes, 0)
    kept = np.empty(ends[-1] if len(ends) else 0, np.int32)
    for rows, group_sizes, group_kept in groups:
        lengths = np.maximum(group_sizes, 0)
        inner = np.arange(len(group_kept)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept[np.repeat(starts[rows], lengths) + inner] = group_kept
    return kept
