"""From a question about a model with pair terms to what its compiled loop needs: the model in whole units, cut up.

In: a compiled model of one score whose parts are all constant between cuts, and a question. Out: a plan. Where the
region of a row ends depends on which cuts the row's value, and that less or more the radius, is past. Of a float this
is told by another float: the least one that is past the cut. So no look-up ever errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import fmpq

from suffice.batch import pair_kernel as kernel
from suffice.batch.answering import Answers, LeaveOpen, ManyRows, Mask, Plan, predicted_classes
from suffice.batch.lookup import WIDER, Floats
from suffice.batch.plan import Parts, parts_by_class
from suffice.core.case import landscape_of
from suffice.core.landscape import Landscape
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.question.claim import NO_CLASS
from suffice.question.question import BUDGETS, Question
from suffice.shapes.axis import Axis, Cut, Interval


def make_pair_plan(compiled: Compiled, question: Question) -> Plan:
    """Return the plan of a claim over one score; one that leaves every row open where it is none such."""
    parts = parts_by_class(compiled.model, question.claim)
    is_known = not question.given - {"categories", "immutable", *BUDGETS} and len(compiled.model.intercept) == 1
    if compiled.is_curved or not is_known or any(part.gap for some in parts.values() for part in some):
        return LeaveOpen()
    landscape = landscape_of(compiled, (1,))
    if not (all(landscape.tables.is_table) and all(map(_is_simple, compiled.model.domains))):
        return LeaveOpen()
    if any(slope for ladder in landscape.ladders for slope in ladder.line.slopes):
        return LeaveOpen()
    plan = _Pairs(compiled, question, parts, landscape)
    return plan if plan.is_usable else LeaveOpen()


def _is_simple(domain: Domain) -> bool:
    """Whether a domain has one span of numbers at most, and no numbers that are labels."""
    return len(domain.spans) < 2 and len(domain.labels) == len(domain.categories_) + len(domain.codes_)


class _Pairs(ManyRows):
    """Claims over one score, of one part or two."""

    def __init__(self, compiled: Compiled, question: Question, parts: Parts, landscape: Landscape) -> None:
        model = self.model = compiled.model
        self.landscape, self.tables = landscape, landscape.tables
        self.turned = self.tables._replace(values=-self.tables.values)
        domains = question.domains(model)
        features = [_Feature(landscape, i, domain, question.radii[i]) for i, domain in enumerate(domains)]
        # Half a unit for each feature, each pair, the intercept and the claim's constant, twice for a difference.
        self.error = len(domains) + len(landscape.pairs) + 2
        sides = [parts.get(winner, ()) for winner in ((1, 0) if NO_CLASS not in parts else (NO_CLASS, NO_CLASS))]
        intercept = landscape.in_units(model.intercept[0])
        constants = [landscape.in_units(part.constant) for some in sides for part in some]
        size = sum(max(map(abs, feature.mains)) for feature in features) + max(map(abs, [intercept, *constants]))
        self.is_usable = size < landscape.limit >> 5
        if not self.is_usable:  # some may not even be written in 64 bits
            return
        self.steps, self.sides = _flat(features), np.zeros((3, max(1, *map(len, sides)), 3), np.int64)
        self.exact = np.zeros(self.sides.shape[:1])  # margins that are counted from the row's own score
        for k, some in enumerate(sides):
            for c, part in enumerate(some):
                self.sides[k, c] = part.factors[0], landscape.in_units(part.constant), part.is_relative
                self.exact[k] = nearest_float(part.constant)
        self.sides[2, 0, 0] = intercept

    def answer(self, cells: Floats, vague: Mask) -> Answers:
        limit = self.landscape.limit
        units, is_read, sizes, fixed = kernel.settle(
            self.steps, self.tables, self.turned, self.sides, self.error, limit, cells, vague
        )
        unit = math.ldexp(1.0, -self.landscape.bits)
        scores = np.where(is_read, units * unit, np.nan)
        errors = (self.error * unit + np.abs(scores) * 2.0**-52) * WIDER
        classes, _ = predicted_classes(self.model, scores[:, None], errors[:, None])
        side = np.where(units > 0, 0, 1)
        # Two parts are the two sides of a distance, which is the margin of both.
        sign, constant, is_relative = (self.sides[side, 0, k] for k in range(3))
        margins = np.where(is_relative != 0, self.exact[side], sign * scores + constant * unit)
        margin_errors = (2 * self.error * unit + (np.abs(scores) + np.abs(margins)) * 2.0**-50) * WIDER
        return Answers(classes.astype(np.int32), scores, errors, sizes, margins, margin_errors, fixed)


class _Feature:
    """One feature, cut up so finely that its own part and its pair terms are constant in every cell."""

    def __init__(self, landscape: Landscape, i: int, domain: Domain, radius: Rational | None) -> None:
        ladder, function = landscape.ladders[i], landscape.mains[i]
        cuts = {*ladder.axis.cuts, *(Cut(knot, side) for knot in function.knots for side in (0, 1))}
        axis = Axis(tuple(sorted(cuts)) if domain.spans else (), domain.labels)
        span = domain.spans[0] if domain.spans else None
        self.is_integral = span is not None and span.is_integers
        reach = radius or ZERO
        reach = fmpq(reach.floor()) if self.is_integral else reach
        self.thresholds = [[_least_past(cut, shift) for cut in axis.cuts] for shift in (ZERO, -reach, reach)]
        inside = [_inside(axis.interval(k), self.is_integral) for k in range(axis.numbers)]
        values: list[Value | None] = [*inside, *domain.labels]
        if span is None:
            values[0] = None
        self.has_value = [value is not None for value in values]
        self.mains = [0 if value is None else landscape.in_units(function(value)) for value in values]
        self.wide = [0 if value is None else ladder.axis.cell_of(value) for value in values]
        for k in range(1, axis.numbers):  # a cell without a value is not looked at; it belongs to the one before
            if values[k] is None:
                self.wide[k] = self.wide[k - 1]
        low, high = (None, None) if span is None else (span.low, span.high)
        if self.is_integral:
            low, high = None if low is None else fmpq(low.ceil()), None if high is None else fmpq(high.floor())
        self.ends = (1, 0) if span is None else _ends(axis.cells_between(low, high))
        self.low = -math.inf if low is None else _float_from(low, 1)
        self.high = math.inf if high is None else _float_from(high, -1)
        if span is None:
            self.low, self.high = math.inf, -math.inf
        self.missing = next((k for k, label in enumerate(domain.labels) if not isinstance(label, str)), -1)
        self.categories = len(domain.categories_)
        self.ranks = _ranks(domain, radius)
        self.reach = 2 if radius is None else 1 if radius else 0


def _ranks(domain: Domain, radius: Rational | None) -> int:
    """Return how many places away those categories are, in order, that one may become within a radius."""
    count = len(domain.categories_)
    if not count or radius is None:
        return count
    reached = domain.around(domain.categories_[0], radius).categories_  # from the first one on
    return len(reached) - 1 if domain.is_ordered else count if len(reached) > 1 else 0


def _ends(cells: range) -> tuple[int, int]:
    return cells[0], cells[-1]


def _inside(cell: Interval, is_integral: bool) -> Rational | None:
    """Return a number of a cell, an integer where only these count; None if there is none."""
    low, high = cell.low, cell.high
    if is_integral:
        if low is None:
            return fmpq(0) if high is None else fmpq(high.ceil() - 1)
        first = fmpq(low.ceil()) if cell.has_low or low.q != 1 else low + 1
        return first if high is None or first < high or (first == high and cell.has_high) else None
    if low is None:
        return ZERO if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def _least_past(cut: Cut, shift: Rational) -> float:
    """Return the least float that, shifted, is past a cut."""
    place = cut.place - shift
    near = nearest_float(place)
    if math.isinf(near):
        return near
    exact = rational(near)
    return math.nextafter(near, math.inf) if exact < place or (exact == place and cut.side) else near


def _float_from(end: Rational, side: int) -> float:
    """Return the float nearest to an end that is not outside it."""
    near = nearest_float(end)
    if math.isinf(near) or (rational(near) - end) * side >= 0:
        return near
    return math.nextafter(near, side * math.inf)


def _flat(features: Sequence[_Feature]) -> kernel.Steps:
    """Return the features one after the other."""
    here, least, most = (
        np.concatenate([np.zeros(0), *(np.array(one.thresholds[k]) for one in features)]) for k in range(3)
    )
    return kernel.Steps(
        np.cumsum([0, *(len(one.thresholds[0]) for one in features)]),
        here,
        least,
        most,
        np.cumsum([0, *(len(one.mains) for one in features)]),
        np.array([value for one in features for value in one.mains], dtype=np.int64),
        np.array([cell for one in features for cell in one.wide], dtype=np.int64),
        np.array([is_any for one in features for is_any in one.has_value], dtype=np.bool_),
        np.array([one.ends for one in features], dtype=np.int64),
        np.array([one.low for one in features]),
        np.array([one.high for one in features]),
        np.array([one.is_integral for one in features]),
        np.array([one.missing for one in features], dtype=np.int64),
        np.array([one.categories for one in features], dtype=np.int64),
        np.array([one.ranks for one in features], dtype=np.int64),
        np.array([one.reach for one in features], dtype=np.int64),
    )
