"""A feature cut into cells: ranges of numbers and single labels, each with the exact bounds of what it adds to a score.

In: the domain of a feature, its exact function, and the values of a table. Out: `Cell`s that cover the domain, and how
many rows of the table lie in each. Between two neighbouring stations a function of lines is affine, so that its bounds
over a cell are those at the stations in it; curved and smooth ones are bounded from either side, by rationals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import NamedTuple

from flint import fmpq

from suffice.decisions.actions import is_number
from suffice.decisions.stations import Station, stations
from suffice.errors import CardError, CertificateError
from suffice.model.domain import Domain, Span, in_full, is_short
from suffice.numbers.enclosure import ends
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.numbers.surd import Surd
from suffice.numbers.values import Value
from suffice.shapes.combining import combined
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.function import Function
from suffice.shapes.lazy import Lazy
from suffice.shapes.legs import marks_of
from suffice.shapes.pieces import Pieces
from suffice.solvers.ranges import AllowedRange, End, disjoint

_MOST_CELLS = 128
_QUANTILES = 64
_BITS = 64  # how closely curved and smooth functions are bounded


class Cell(NamedTuple):
    """Numbers between two ends (None: without end), or labels; the least and the most that they add; how many rows."""

    low: Rational | None
    has_low: bool
    high: Rational | None
    has_high: bool
    labels: tuple[Value, ...]
    least: Rational
    most: Rational
    rows: int = 0

    def holds(self, value: Value) -> bool:
        """Whether a value of the domain is in the cell."""
        if self.labels:
            return value in self.labels
        return isinstance(value, fmpq) and not (self._is_below(value) or self._is_above(value))

    def _is_below(self, value: fmpq) -> bool:
        return self.low is not None and (value < self.low or (value == self.low and not self.has_low))

    def _is_above(self, value: fmpq) -> bool:
        return self.high is not None and (value > self.high or (value == self.high and not self.has_high))

    def __str__(self) -> str:
        if self.labels:
            return " or ".join(map(_exactly, self.labels))
        if self.low is not None and self.low == self.high:
            return _exactly(self.low)
        # An end that takes too many digits is written further inside: what a line says is so of all that it names.
        low, high = (
            None if end is None else in_full(end if is_short(end) else _rounded(end, side))
            for end, side in ((self.low, 1), (self.high, -1))
        )
        if low is None or high is None:
            if low is not None:
                return f"{low} or more" if self.has_low else f"more than {low}"
            return "any number" if high is None else f"{high} or less" if self.has_high else f"less than {high}"
        return f"{'from' if self.has_low else 'above'} {low} to {'' if self.has_high else 'below '}{high}"

    def as_range(self, name: str, domain: Domain) -> AllowedRange:
        """Return the cell as certificates write it: a range of numbers, some categories, or one special code.

        Raises
        ------
        CertificateError
            If it joins special codes with other values.
        """
        joined = self.labels if self.labels else [code for code in domain.codes_ if self.holds(code)]
        if len(joined) > bool(self.labels) and any(label in domain.codes_ for label in joined):
            raise CertificateError(f"a line of {name!r} joins special codes; certificates speak of one")
        return AllowedRange(End(self.low, self.has_low), End(self.high, self.has_high), False, self.labels, ())


def together(cells: Sequence[Cell]) -> Cell:
    """Return neighbouring ranges, or some labels, as one cell."""
    first, last = cells[0], cells[-1]
    labels = tuple(label for cell in cells for label in cell.labels)
    bounds = min(cell.least for cell in cells), max(cell.most for cell in cells)
    return Cell(first.low, first.has_low, last.high, last.has_high, labels, *bounds, sum(cell.rows for cell in cells))


def cells_of(name: str, domain: Domain, function: Function, values: Sequence[Value]) -> tuple[list[Cell], list[Cell]]:
    """Return ranges of numbers in order, and labels from the one that adds least on; each with its rows of a table."""
    counts, spans = Counter(values), disjoint(domain.spans)
    # A number that is a label but lies between spans is a cell among theirs: whoever reads a line cannot tell it apart.
    between = [
        one for one in (*domain.categories_, *domain.codes_) if isinstance(one, fmpq) and _is_between(spans, one)
    ]
    labels = [_label(one, function, counts[one]) for one in (*domain.categories_, *domain.codes_) if one not in between]
    labels.sort(key=lambda cell: cell.least)
    numbers = sorted(x for x in counts if isinstance(x, fmpq) and (is_number(domain, x) or x in between))
    ranges = _ranges(name, spans, function, between, set())
    if any(cell.least < cell.most for cell in ranges):  # it slopes: only cuts between the rows make it steps
        every = [value for value in numbers for _ in range(counts[value])]
        cuts = {every[len(every) * k // _QUANTILES] for k in range(_QUANTILES)} if every else set()
        ranges = _ranges(name, spans, function, between, cuts)
    ranges = _counted(ranges, [(value, counts[value]) for value in numbers])
    return _coarse(ranges), labels


def _is_between(spans: Sequence[Span], number: Rational) -> bool:
    """Whether some numbers of the spans lie below a number and some above."""
    return any(one.low is None or one.low < number for one in spans) and any(
        one.high is None or one.high > number for one in spans
    )


def _label(label: Value, function: Function, rows: int) -> Cell:
    return Cell(None, False, None, False, (label,), *ends(function.value(label, _BITS)), rows)


def _ranges(
    name: str, spans: Sequence[Span], function: Function, between: Sequence[Rational], cuts: set[Rational]
) -> list[Cell]:
    """Return the finest ranges whose ends can be printed: each a number, or what lies between two."""
    found: list[Cell] = []
    bends = {at for span in spans for at in marks_of(function, span.low, span.high)}
    marks = {at for mark in (*bends, *cuts) for at in _printable(mark)}
    for span in spans:
        along = stations(Domain((span,)), bends | marks)
        at = _values(name, function, along, span)
        made = _integers(along, at) if span.is_integers else _reals(along, at)
        if span.low is None:
            made[0] = made[0]._replace(low=None)
        if span.high is None:
            made[-1] = made[-1]._replace(high=None)
        if not isinstance(function, Pieces | Lazy):
            upside_down = combined([(-ONE, function)])
            made = [_bounded(name, cell, function, upside_down, span.is_integers) for cell in made]
        found += made
    found += [Cell(one, True, one, True, (), *ends(function.value(one, _BITS))) for one in between]
    return _merged(_printed(sorted(found, key=_from)))


def _values(name: str, function: Function, along: Sequence[Station], span: Span) -> dict[Station, Rational]:
    """Return what a function of lines is at stations; of another one, which is bounded between them later, nothing."""
    if not isinstance(function, Pieces | Lazy):
        return dict.fromkeys(along, ZERO)
    at = {station: sum((w * function(x) for w, x in station.weights), ZERO) for station in along}
    for is_endless, line in ((span.low is None, along), (span.high is None, along[::-1])):
        # Beyond the last bend it is affine for ever: it stays as it is only if it does so up to the next station.
        if is_endless and at[line[0]] != at[next(one for one in line if one.place != line[0].place)]:
            raise _without_bound(name)
    return at


def _bounded(name: str, cell: Cell, function: Function, upside_down: Function, is_integers: bool) -> Cell:
    """Return a cell with what a function that is no line adds there at least and at most."""
    least, most = (_least(name, one, cell, is_integers) for one in (function, upside_down))
    return cell._replace(least=least, most=-most)


def _least(name: str, function: Function, cell: Cell, is_integers: bool) -> Rational:
    """Return a rational that a function is not below in a cell, nor much above everywhere."""
    if isinstance(function, Enclosed):
        low = function.lowpoint(cell.low, cell.high, _BITS, is_integers=is_integers).low
        if low is None:  # it may have a bound all the same, as a root has beside 0, where its slope has none
            raise CardError(
                f"no bound is known of what {name!r} adds to the score; give it a domain that ends, and that stays "
                "clear of numbers beside which its slope has no bound"
            )
        return low
    infimum = (function.on_integers if is_integers else function).infimum(cell.low, cell.high)
    if not infimum.is_bounded:
        raise _without_bound(name)
    return infimum.value.bounds(_BITS)[0] if isinstance(infimum.value, Surd) else infimum.value


def most_of_least(function: Function, domain: Domain) -> Rational:
    """Return a rational that the infimum of a function over a domain is not above."""
    found = [ends(function.value(label, _BITS))[1] for label in (*domain.categories_, *domain.codes_)]
    for span in domain.spans:
        if isinstance(function, Enclosed):
            found.append(function.lowpoint(span.low, span.high, _BITS, is_integers=span.is_integers).high)
        else:
            value = (function.on_integers if span.is_integers else function).infimum(span.low, span.high).value
            found.append(value.bounds(_BITS)[1] if isinstance(value, Surd) else value)
    return min(found)


def _without_bound(name: str) -> CardError:
    return CardError(f"{name!r} adds ever more to the score, without bound; give it a domain that ends")


def _from(cell: Cell) -> tuple[bool, Rational, bool]:
    return cell.low is not None, fmpq(0) if cell.low is None else cell.low, not cell.has_low


def _printable(mark: Rational) -> tuple[Rational, ...]:
    """Return a number, or one on either side if it takes too many digits: a card says exactly what it means."""
    return (mark,) if is_short(mark) else (_rounded(mark, -1), _rounded(mark, 1))


def _exactly(value: Value) -> str:
    return str(value) if isinstance(value, fmpq) and not is_short(value) else in_full(value)


def _rounded(number: Rational, side: int) -> Rational:
    """Return a number of six digits on one side of another."""
    with localcontext(prec=6, rounding=ROUND_CEILING if side > 0 else ROUND_FLOOR):
        return rational(str(Decimal(int(number.p)) / Decimal(int(number.q))))


def _printed(cells: list[Cell]) -> list[Cell]:
    """Return cells with those put together that meet at a number which cannot be printed."""
    found: list[Cell] = []
    for cell in cells:
        if found and cell.low is not None and cell.low == found[-1].high and not is_short(cell.low):
            found[-1] = together([found[-1], cell])
        else:
            found.append(cell)
    return found


def _integers(along: list[Station], at: dict[Station, Rational]) -> list[Cell]:
    found = []
    for one, other in zip(along, [*along[1:], None], strict=True):
        if other is None:
            found.append(Cell(one.place, True, one.place, True, (), at[one], at[one]))
        else:
            # Affine from one to the other: the last integer before the other has the other bound.
            share = (other.place - 1 - one.place) / (other.place - one.place)
            last = at[one] + (at[other] - at[one]) * share
            found.append(Cell(one.place, True, other.place - 1, True, (), min(at[one], last), max(at[one], last)))
    return found


def _reals(along: list[Station], at: dict[Station, Rational]) -> list[Cell]:
    found, k = list[Cell](), 0
    while k < len(along):
        one = along[k]
        if one.side == 0:
            found.append(Cell(one.place, True, one.place, True, (), at[one], at[one]))
            k += 1
        else:  # the limit above a number, then that below the next
            other, both = along[k + 1], (at[one], at[along[k + 1]])
            found.append(Cell(one.place, False, other.place, False, (), min(both), max(both)))
            k += 2
    return found


def _merged(cells: list[Cell]) -> list[Cell]:
    """Return the same without numbers of their own where a neighbour has what they add, the one above first."""
    found: list[Cell] = []
    for k, cell in enumerate(cells):
        above = cells[k + 1] if k + 1 < len(cells) else None
        is_number = cell.low is not None and cell.low == cell.high
        if is_number and above is not None and _fits(cell, above) and above.low == cell.high:
            cells[k + 1] = above._replace(low=cell.low, has_low=True)
        elif is_number and found and _fits(cell, found[-1]) and found[-1].high == cell.low:
            found[-1] = found[-1]._replace(high=cell.high, has_high=True)
        elif found and found[-1].least == found[-1].most == cell.least == cell.most:
            found[-1] = together([found[-1], cell])
        else:
            found.append(cell)
    return found


def _fits(cell: Cell, other: Cell) -> bool:
    return other.least <= cell.least and cell.most <= other.most


def _counted(cells: list[Cell], values: Sequence[tuple[Rational, int]]) -> list[Cell]:
    rows = [0] * len(cells)
    for (_, count), k in zip(values, places_of(cells, [value for value, _ in values]), strict=True):
        rows[k] += count
    return [cell._replace(rows=count) for cell, count in zip(cells, rows, strict=True)]


def places_of(cells: Sequence[Cell], numbers: Sequence[Rational]) -> list[int]:
    """Return in which of some ranges in order each number is."""
    starts = [cell.low for cell in cells if cell.low is not None]
    found = []
    for number in numbers:
        k = max(0, bisect_right(starts, number) - 1 + len(cells) - len(starts))
        while k and not cells[k].holds(number):  # an open end: it belongs to the one before
            k -= 1
        found.append(k)
    return found


def _coarse(cells: list[Cell]) -> list[Cell]:
    """Return at most so many cells, with about as many rows in each."""
    if len(cells) <= _MOST_CELLS:
        return cells
    groups, seen = dict[int, list[Cell]](), 0
    total = sum(cell.rows + 1 for cell in cells)
    for cell in cells:
        groups.setdefault(seen * _MOST_CELLS // total, []).append(cell)
        seen += cell.rows + 1
    return [together(some) for some in groups.values()]
