"""What a model makes of each of its columns, and how that looks in the columns that the user has.

A model inside a pipeline, a search or another wrapper is read bare first. Its functions of one column each, its
*parts*, are then put behind what comes before them. A continuous part goes through a column's exact function; a jump is
put where the column's own float arithmetic crosses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard

import numpy as np
from flint import fmpq

from suffice.adapters.assemble import compose, is_continuous, split_jumps, step_pieces, to_shape
from suffice.adapters.column import Column, Columns, Finite, Numeric, Raw, Unused, as_number, single
from suffice.adapters.draft import UNSEEN, Cell, Draft, with_domain
from suffice.adapters.floats import first_at_least
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain, Span
from suffice.model.term import Term
from suffice.numbers.enclosure import FIRST_BITS, middle
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Curves, Enclosed, Function, Pieces, Shape, Table
from suffice.shapes.combining import combined

_REALS = Span(None, None)
_ALL = Domain.reals()


@dataclass(frozen=True, slots=True)
class Part:
    """A function of one column, one for each score, and the values of the column that it takes."""

    pieces: tuple[Function, ...]
    domain: Domain = _ALL

    @property
    def shape(self) -> Shape:
        """The part as a shape of a model."""
        values = (*self.domain.categories_, *self.domain.codes_)
        labels: dict[Any, Any] = {value: [one(value) for one in self.pieces] for value in values}
        return to_shape(self.pieces, labels) if self.domain.spans else Table(labels)

    def at(self, value: float) -> list[Rational] | None:
        """Return what is added to each score at a number or NaN; None if the model takes no such value."""
        if math.isnan(value):
            label: Any = MISSING if MISSING in self.domain.codes_ else UNSEEN
            return [one(label) for one in self.pieces] if label in self.domain.codes_ else None
        number = rational(value)
        if self.domain.holds(number):
            return [one(number) for one in self.pieces]
        return [one(UNSEEN) for one in self.pieces] if UNSEEN in self.domain.codes_ else None

    def times(self, factors: Sequence[Rational]) -> Part:
        """Return the part with each score's function multiplied by a factor of its own."""
        return replace(self, pieces=tuple(combined([(f, one)]) for f, one in zip(factors, self.pieces, strict=True)))

    def with_zero_missing(self) -> Part:
        """Return the part of a model that takes the zeros of a sparse table for missing cells."""
        if MISSING not in self.domain.codes_:
            return self
        spikes = (_spike(ZERO, one(MISSING) - one(ZERO)) for one in self.pieces)
        pieces = (
            combined([(ONE, _unlabelled(one)), (ONE, spike)]).with_labels(one.labels)
            for one, spike in zip(self.pieces, spikes, strict=True)
        )
        return replace(self, pieces=tuple(pieces))


def parts_of(draft: Draft) -> list[Part]:
    """Return a read model's part for each of its columns."""
    model = draft.model
    if model.pairs:
        raise AdapterError(
            f"{draft.source} has terms over two columns; what is around it here is read only around models without "
            "them: fit it with depth 1, or with interactions=0"
        )
    return mains_of(model)


def mains_of(model: AdditiveModel) -> list[Part]:
    """Return what a model makes of each of its columns alone."""
    return [Part(pieces, domain) for pieces, domain in zip(model.compile(), model.domains, strict=True)]


def sum_parts(weighted: Iterable[tuple[Rational, Part]]) -> Part:
    """Return the weighted sum of some parts over one column, on the values that all of them take."""
    factors, parts = zip(*weighted, strict=True)
    mine = aligned(parts)
    columns = zip(*(part.pieces for part in mine), strict=True)
    return Part(tuple(combined(list(zip(factors, one, strict=True))) for one in columns), mine[0].domain)


def aligned(parts: Sequence[Part]) -> Sequence[Part]:
    """Return parts over one column on the values that all of them take.

    A category that a model never saw is `UNSEEN` to it, if it takes such categories, whoever else knows its name.
    """
    if len({part.domain for part in parts}) == 1:
        return parts
    domains = [part.domain for part in parts]
    known = {cell: None for domain in domains for cell in (*domain.categories_, *domain.codes_)}
    cells = [cell for cell in known if all(_taken_as(domain, cell) is not None for domain in domains)]
    codes = [cell for cell in cells if all(cell not in domain.categories_ for domain in domains)]
    spans = list(domains[0].spans)
    for domain in domains[1:]:
        spans = [both for one in spans for other in domain.spans if (both := _both(one, other)) is not None]
    if not cells and not spans:
        raise AdapterError("the models that are put together take no value of a column in common")
    ordered = {domain.categories_ for domain in domains if domain.is_ordered}
    names = tuple(cell for cell in cells if cell not in codes)
    is_ordered = len(ordered) == 1 and set(names) <= set(*ordered)
    if is_ordered:
        names = tuple(cell for cell in next(iter(ordered)) if cell in names)
    domain = Domain(tuple(spans), names, tuple(codes), is_ordered)
    return [_on(part, domain) for part in parts]


def _taken_as(domain: Domain, cell: Any) -> Any:
    """Return what a domain has a category or code for: itself, UNSEEN, or None if it does not take it."""
    if domain.holds(cell):
        return cell
    return UNSEEN if cell is not MISSING and UNSEEN in domain.codes_ else None


def _both(one: Span, other: Span) -> Span | None:
    """Return the numbers that lie in both of two spans."""
    lows, highs = ([end for end in ends if end is not None] for ends in ((one.low, other.low), (one.high, other.high)))
    low, high, is_integers = max(lows, default=None), min(highs, default=None), one.is_integers or other.is_integers
    if low is not None and high is not None:
        return Span(None, None, is_integers).cut(low, high)
    if is_integers:
        low, high = None if low is None else fmpq(low.ceil()), None if high is None else fmpq(high.floor())
    return Span(low, high, is_integers)


def _on(part: Part, domain: Domain) -> Part:
    """Return a part on fewer values, and on categories that it takes for unseen ones."""
    labels = {cell: _taken_as(part.domain, cell) for cell in (*domain.categories_, *domain.codes_)}
    if domain.spans:
        named = {
            cell: at for cell, at in labels.items() if not isinstance(cell, fmpq)
        }  # numbers are places on the line
        labelled = [_unlabelled(one).with_labels({c: one(at) for c, at in named.items()}) for one in part.pieces]
        return Part(tuple(labelled), domain)
    return Part(Table({cell: [one(at) for one in part.pieces] for cell, at in labels.items()}).compile(), domain)


# --- behind other columns ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Behind:
    """A part in a column that the user has, and how its categories are written in the user's table."""

    part: Part
    originals: Mapping[Cell, Any]


def behind(columns: Sequence[tuple[Column, Part]], outputs: int, name: Callable[[], str]) -> Behind:
    """Return what is made of one column that the user has; `name` tells which it is, for messages."""
    if all(isinstance(column, Raw) and not column.fills for column, _ in columns):
        domains = {part.domain for _, part in columns}
        if len(domains) == 1:
            return Behind(sum_parts((ONE, part) for _, part in columns), {})
    finite = [column for column, _ in columns if isinstance(column, Finite)]
    if finite:
        return _table(columns, finite, outputs, name)
    if all(isinstance(column, Raw) and not part.domain.spans for column, part in columns):
        return Behind(sum_parts((ONE, _filled(part, column.fills)) for column, part in columns), {})  # type: ignore[union-attr]
    numbers = [(as_number(column, "model"), part) for column, part in columns]
    pieces = [through(part, number, name) for number, part in numbers]
    summed = [combined([(ONE, one[j]) for one in pieces]) for j in range(outputs)]
    for at in {at for number, _ in numbers for at in number.points}:
        rows = [part.at(number.points.get(at, _number_at(number, at))) for number, part in numbers]
        row = _sum(rows)
        if row is None:
            raise AdapterError(f"{name()} may be {at}, which an imputer turns into something that the model refuses")
        summed = [_set_at(one, rational(at), value) for one, value in zip(summed, row, strict=True)]
    missing = _sum(part.at(number.missing) if number.missing is not None else None for number, part in numbers)
    lows = [number.low for number, _ in numbers if number.low is not None]
    highs = [number.high for number, _ in numbers if number.high is not None]
    domain = Domain((Span(max(lows) if lows else None, min(highs) if highs else None),))
    if missing is not None:
        labelled = [one.with_labels({MISSING: value}) for one, value in zip(summed, missing, strict=True)]
        return Behind(Part(tuple(labelled), domain | Domain.codes(MISSING)), {})
    return Behind(Part(tuple(summed), domain), {})


def _filled(part: Part, fills: Mapping[Cell, Any]) -> Part:
    """Return a part over categories, of a column in which an imputer has put something in the place of some cells."""
    values: dict[Any, Any] = {cell: cell for cell in (*part.domain.categories_, *part.domain.codes_)}
    for cell, fill in fills.items():
        at = cell if isinstance(cell, str) or cell is MISSING else rational(float(cell))
        label = fill if isinstance(fill, str) or fill is None else rational(float(fill))
        values[at] = label if label in values else UNSEEN if fill is not None and UNSEEN in values else None
    kept = {cell: value for cell, value in values.items() if value is not None}
    entries = {cell: [one(value) for one in part.pieces] for cell, value in kept.items()}
    codes = [cell for cell in (MISSING, UNSEEN) if cell in entries]
    domain = Domain.categories(*(cell for cell in entries if cell not in codes))
    return Part(Table(entries).compile(), domain | Domain.codes(*codes) if codes else domain)


def through(part: Part, number: Numeric, name: Callable[[], str]) -> Sequence[Function]:
    """Return a part as a function of the number that its column is computed from."""
    if _REALS not in part.domain.spans and _has_few_values(number.pieces):
        return _of_few(part, number.pieces, name)
    if _REALS not in part.domain.spans:
        raise AdapterError(
            f"the model takes {name()} for categories ({part.domain}), but an earlier step makes numbers of it; use an "
            "encoder, such as OrdinalEncoder"
        )
    if number.is_plain:
        return [_unlabelled(one) for one in part.pieces]
    return [_through(_unlabelled(one), number, name) for one in part.pieces]


def _of_few(part: Part, inner: Pieces, name: Callable[[], str]) -> list[Pieces]:
    """Return a part over categories as a function of a number of which an earlier step makes these categories."""
    rows = [part.at(nearest_float(value)) for value in (*inner.offsets, *inner.values)]
    if any(row is None for row in rows):
        raise AdapterError(f"an earlier step makes a category of {name()} that the model does not take")
    count = len(inner.offsets)
    columns = [list(column) for column in zip(*rows, strict=True)]
    return [Pieces.tidy(inner.knots, inner.slopes, one[:count], one[count:]) for one in columns]


def _through(outer: Function, number: Numeric, name: Callable[[], str]) -> Function:
    if isinstance(outer, Enclosed):
        if number.pieces is None:
            raise AdapterError(f"{number.smooth}, and a smooth model is not read behind it; leave the step out")
        return compose(outer, number.pieces)
    if isinstance(outer, Curves) and number.pieces is not None and is_continuous(outer):
        return compose(outer, number.pieces)
    if isinstance(outer, Curves):
        why = number.smooth or "a curve jumps"
        raise AdapterError(f"{why}, so the model has no exact pieces in {name()}; leave the step before it out")
    assert isinstance(outer, Pieces)
    line, steps, at_knots = split_jumps(outer)
    is_flat = not any(line.slopes)
    if not is_flat and number.pieces is None:
        raise AdapterError(
            f"{number.smooth}, so the model has no exact pieces in {name()}; use QuantileTransformer with uniform "
            "output, KBinsDiscretizer, SplineTransformer(degree=1), or boosted trees after it"
        )
    made = Pieces.affine(ZERO, line.offsets[0]) if is_flat else compose(line, number.pieces)  # type: ignore[arg-type]
    jumps = [k for k in range(len(outer.knots)) if not steps[k] == at_knots[k] == steps[k + 1]]
    if not jumps:
        return combined([(ONE, made), (ONE, Pieces.affine(ZERO, steps[0]))])
    if number.floats is None and _has_few_values(number.pieces):
        return compose(outer, number.pieces)  # few values, all of them floats, so nothing is rounded on the way
    if number.floats is None:
        raise AdapterError(
            f"the model jumps in a column that does not increase with {name()}, so the place of the jump is not known; "
            "leave the step before it out"
        )
    reaches = first_at_least(number.floats, np.array([float_from(outer.knots[k]) for k in jumps]))
    passes = first_at_least(number.floats, np.array([float_above(outer.knots[k]) for k in jumps]))
    cuts, values = [], [steps[0]]
    for k, reached, passed in zip(jumps, reaches, passes, strict=True):
        cuts += [reached, passed]
        values += [at_knots[k], steps[k + 1]]
    return combined([(ONE, made), (ONE, step_pieces(cuts, values, "left"))])


def float_from(knot: Rational) -> float:
    """Return the smallest float from a number up."""
    near = nearest_float(knot)
    return near if not math.isfinite(near) or rational(near) >= knot else math.nextafter(near, math.inf)


def float_above(knot: Rational) -> float:
    """Return the smallest float above a number."""
    first = float_from(knot)
    return math.nextafter(first, math.inf) if math.isfinite(first) and rational(first) == knot else first


def _table(
    columns: Sequence[tuple[Column, Part]], finite: Sequence[Finite], outputs: int, name: Callable[[], str]
) -> Behind:
    """Return the part of a column of categories: the sum, for each category, of what is made of it."""
    listed = {id(column.cells): column.cells for column in finite}.values()  # most columns share theirs
    cells = [cell for cell in finite[0].cells if all(cell in known for known in listed)]
    base = [ZERO] * outputs
    rows: dict[Cell, list[Rational] | None] = {cell: [ZERO] * outputs for cell in cells}
    for column, part in columns:
        own = column.values if isinstance(column, Finite) else {cell: _value(column, cell, name) for cell in cells}
        usual = None if not isinstance(column, Finite) or column.rest is None else part.at(column.rest)
        if usual is None:  # no value that most categories share
            usual = [ZERO] * outputs
            own = {cell: own.get(cell) for cell in cells}
        base = [a + b for a, b in zip(base, usual, strict=True)]
        known: dict[Any, list[Rational] | None] = {}
        for cell, value in own.items():
            if value not in known:
                known[value] = None if value is None else part.at(float(value))
            found, row = known[value], rows.get(cell)
            if row is not None:
                rows[cell] = None if found is None else [a + b - c for a, b, c in zip(row, found, usual, strict=True)]
    entries = {cell: [a + b for a, b in zip(base, row, strict=True)] for cell, row in rows.items() if row is not None}
    if not entries:
        raise AdapterError(f"the model takes no category of {name()} that the encoder before it knows")
    codes = [cell for cell in (MISSING, UNSEEN) if cell in entries]
    names = [cell for cell in entries if cell not in codes]
    order = next((column.order for column in finite if column.order), ())
    if order and set(names) <= set(order):
        domain = Domain.ordered(*(cell for cell in order if cell in entries and cell not in codes))  # type: ignore[arg-type]
    else:
        domain = Domain.categories(*names)  # type: ignore[arg-type]
    domain = domain | Domain.codes(*codes) if codes else domain
    return Behind(Part(Table(entries).compile(), domain), finite[0].cells)  # type: ignore[arg-type]


def _value(column: Column, cell: Cell, name: Callable[[], str]) -> float | None:
    """Return what a column of numbers is at a category that is a number."""
    number = as_number(column, "model")
    if cell is MISSING:
        return number.missing
    if not isinstance(cell, float) or number.floats is None:
        raise AdapterError(f"{name()} is used both by its categories and as a number; encode it one way only")
    return number.points.get(cell, _number_at(number, cell))


def _number_at(number: Numeric, at: float) -> float:
    if number.floats is None:
        assert number.pieces is not None
        return nearest_float(middle(number.pieces.value(rational(at), FIRST_BITS)))
    return float(number.floats(np.array([at]))[0])


def _sum(parts: Iterable[list[Rational] | None]) -> list[Rational] | None:
    rows = list(parts)
    if any(row is None for row in rows):
        return None
    return [sum(column, ZERO) for column in zip(*rows, strict=True)]


def _unlabelled(pieces: Function) -> Function:
    return pieces.with_labels({}) if pieces.labels else pieces


def _has_few_values(pieces: Function | None) -> TypeGuard[Pieces]:
    return isinstance(pieces, Pieces) and not any(pieces.slopes)


def _spike(at: Rational, height: Rational) -> Pieces:
    return Pieces((at,), (ZERO, ZERO), (ZERO, ZERO), (height,))


def _set_at(pieces: Function, at: Rational, value: Rational) -> Function:
    """Return a function with another value at one number."""
    return pieces.overwritten({at: value}, {})


# --- models -----------------------------------------------------------------------------------------------------------


def assemble(
    columns: Columns, parts: Sequence[Part], outputs: int, names: Sequence[str]
) -> tuple[list[int], list[Behind]]:
    """Return which of the user's columns are features, and what is made of each.

    `parts` are those of the columns that come to the model; columns that a selector left out are features that do
    nothing, for the model must be given them.
    """
    nothing = Part((Pieces.affine(ZERO, ZERO),) * outputs)
    mine: dict[int, list[tuple[Column, Part]]] = {}
    for column, part in zip(single(columns, "model"), parts, strict=True):
        mine.setdefault(column.source, []).append((column, part))
    for left_out in columns:
        if isinstance(left_out, Unused):
            mine.setdefault(left_out.source, []).append((left_out.column, nothing))
    sources = sorted(mine)
    return sources, [behind(mine[k], outputs, lambda k=k: repr(names[k])) for k in sources]  # type: ignore[misc]


def new_model(
    parts: Sequence[Part],
    intercept: Sequence[Rational],
    task: str,
    features: Sequence[Feature],
    classes: Sequence[Any] | None,
    ties: Literal["positive", "negative"] = "negative",
    pairs: Sequence[Term] = (),
    logit_offset: Rational | None = ZERO,
) -> AdditiveModel:
    """Return the model that some parts, and terms over two features, add up to."""
    domains = [part.domain for part in parts]
    features = [with_domain(feature, domain) for feature, domain in zip(features, domains, strict=True)]
    terms = [Term(k, part.shape) for k, part in enumerate(parts)]
    return AdditiveModel.of_terms([*terms, *pairs], intercept, task, features, classes, ties, logit_offset)


def with_parts(
    model: AdditiveModel, parts: Sequence[Part], intercept: Sequence[Rational], **facts: Any
) -> AdditiveModel:
    """Return a model with other parts for its features; `facts` are a task, classes or ties that differ too."""
    told = {
        "task": model.task,
        "classes": model.classes or None,
        "ties": model.ties,
        "logit_offset": model.logit_offset,
        **facts,
    }
    features = [
        Feature(feature.name, part.domain, deviation=feature.deviation)
        for feature, part in zip(model.features, parts, strict=True)
    ]
    return AdditiveModel([part.shape for part in parts], intercept, features=features, **told)
