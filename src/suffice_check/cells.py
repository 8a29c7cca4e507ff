"""A feature with a smooth shape around the row: its falls from below, and its largest fall over a region from above.

The region is cut into cells at numbers that a certificate names, and at the shape's own knots. Nothing else about the
cells is taken on trust: whatever they are, what is computed here is a bound; cells decide only how close it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from suffice_check.balls import ONE, Ball
from suffice_check.certificate import Certificate
from suffice_check.claims import Claim, Inequality
from suffice_check.core import Part
from suffice_check.domain import Domain, Span
from suffice_check.model import Feature, Model
from suffice_check.ordered import ZERO, Number
from suffice_check.reading import MISTAKES, RejectedError, Value, items, number, unreadable
from suffice_check.shapes import Outputs
from suffice_check.smooth import Cell, Jet, SmoothChanged

MOST_CELLS = 20_000
Ends = tuple[Outputs, Outputs]


def split_cells(certificate: Certificate, model: Model) -> tuple[list[list[Fraction]], Certificate]:
    """Return for each feature the numbers between which its cells lie, and the certificate with the other evidence."""
    if not any(isinstance(feature.shape, SmoothChanged) for feature in model.features):
        return [[] for _ in model.features], certificate
    try:
        evidence = dict(certificate.evidence)
        found = [[number(text) for text in items(cuts)] for cuts in items(evidence.pop("cells"))]
        if len(found) != len(model.features) or sum(map(len, found)) > MOST_CELLS:
            raise ValueError(f"there are cells for each feature, {MOST_CELLS} in all at most")
        if any(a >= b for cuts in found for a, b in pairwise(cuts)):
            raise ValueError("the cells of a feature are not in order")
    except MISTAKES as error:
        raise unreadable("the certificate", error) from None
    return found, certificate._replace(evidence=evidence)


def check_known(claim: Claim, model: Model, low: Sequence[Fraction], high: Sequence[Fraction]) -> None:
    """Check that scores which lie between two numbers decide for one class, where the claim is about one."""
    if claim.kind not in ("same", "beats", "probability_at_least") or list(low) == list(high):
        return
    if model.task == "binary":
        is_known = low[0] > 0 or high[0] < 0
    else:
        first = max(range(len(low)), key=low.__getitem__)
        is_known = all(low[first] > other for j, other in enumerate(high) if j != first)
    if not is_known:
        raise RejectedError("claim", "the scores of the row are not known closely enough to tell its class")


def part_of(
    feature: Feature, here: Ends, inequalities: Sequence[Inequality], many: int, cuts: Sequence[Fraction]
) -> Part:
    """Return a feature around the row."""
    if isinstance(feature.shape, SmoothChanged):
        return SmoothPart(feature, here, inequalities, many, cuts)
    return Part(feature, here[0], inequalities, many)


def ends_of(inequality: Inequality, ends: Ends) -> tuple[Fraction, Fraction]:
    """Return what the combination of scores that is in an inequality is not below, and not above."""
    low, high = ends
    chosen = [(a, b) if f > 0 else (-b, -a) for f, a, b in zip(inequality.factors, low, high, strict=True) if f]
    return sum((a for a, _ in chosen), Fraction(0)), sum((b for _, b in chosen), Fraction(0))


class Bound(NamedTuple):
    """What an inequality is not below in a cell; where it is monotone there, the end at which it is lowest."""

    least: Fraction
    end: Fraction | None
    inside: Fraction


class SmoothPart(Part):
    """One feature whose shape is known between two numbers."""

    def __init__(
        self, feature: Feature, here: Ends, inequalities: Sequence[Inequality], many: int, cuts: Sequence[Fraction]
    ) -> None:
        assert isinstance(feature.shape, SmoothChanged)
        self.name, self.smooth, self.inequalities, self.many = feature.name, feature.shape, inequalities, many
        self.low, self.high = zip(*(ends_of(one, here) for one in inequalities), strict=True)
        self.count, self.cuts = range(len(inequalities)), cuts

    def fall(self, c: int, at: Value) -> Number:
        """Return by how much an inequality falls at a value, at least."""
        return Number(self.low[c] - self._at(c, at)[1])

    def _at(self, c: int, at: Value) -> tuple[Fraction, Fraction]:
        if not isinstance(at, Number):
            exact = self.smooth.label(at)
            return ends_of(self.inequalities[c], (exact, exact))
        if at.edge:
            raise RejectedError("places", f"one of {self.name!r} is no number, and its shape is smooth")
        return self._ends(c, self.smooth.values(at.value))

    def _ends(self, c: int, balls: Sequence[Ball]) -> tuple[Fraction, Fraction]:
        lows, highs = (tuple(Fraction(m + sign * r, ONE) for m, r in balls) for sign in (-1, 1))
        return ends_of(self.inequalities[c], (lows, highs))

    def drops(self, region: Domain) -> list[Number | None]:
        """Return what each inequality falls by over a region, at most; None where there is no bound."""
        found: list[list[Number | None]] = [[ZERO] for _ in self.count]
        for c in self.count:
            labels = (at for at in (*region.categories, *region.codes))
            found[c] += [Number(self.high[c] - self._at(c, at)[0]) for at in labels]
        for span in region.spans:
            for c, drop in enumerate(self.over(span)):
                found[c].append(drop)
        return [None if None in falls else max(fall for fall in falls if fall is not None) for falls in found]

    def over(self, span: Span) -> list[Number | None]:
        """Return what each inequality falls by over a span, at most; None where that has no end."""
        if span.low is None or span.high is None or span.low.edge < 0 or span.high.edge > 0:
            return [None for _ in self.count]
        low, high = span.low.value, span.high.value
        knots = {t for t in self.smooth.knots(low, high) if low <= t <= high}
        stops = sorted({low, high, *knots, *(t for t in self.cuts if low < t < high)})
        least: list[list[Fraction]] = [[] for _ in self.count]
        for at in stops:
            if at in knots or low == high or span.is_integers:
                values = self.smooth.values(at)
                for c in self.count:
                    least[c].append(self._ends(c, values)[0])
        first: list[list[Bound]] = [[] for _ in self.count]
        for left, right in pairwise(stops):
            if not span.is_integers or left.__floor__() + 1 < right:  # else no integer is in between
                for c, bound in enumerate(self.bounds(left, right)):
                    first[c].append(bound)
        return [Number(self.high[c] - self._lowest(c, first[c], least[c])) for c in self.count]

    def _lowest(self, c: int, cells: list[Bound], least: list[Fraction]) -> Fraction:
        """Return the least of some numbers and of bounds of cells; the lowest are made closer, until one stays so."""
        open_ = sorted(cells, key=lambda bound: bound.least, reverse=True)
        while open_ and (not least or open_[-1].least < min(least)):
            least.append(self.closer(c, open_.pop()))
        return min(least)

    def bounds(self, left: Fraction, right: Fraction) -> list[Bound]:
        """Return for each inequality what it is not below between two numbers, without a knot between them."""
        inside = (left + right) / 2
        jets, found = self.smooth.jets(Cell(left, right, inside)), []
        for inequality in self.inequalities:
            jet = _combined(inequality, jets)
            steep, off = jet.cell[1]
            end = None if abs(steep) < off else left if steep > 0 else right  # it never falls, or never rises
            found.append(Bound(Fraction(jet.at_least(), ONE), end, inside))
        return found

    def closer(self, c: int, bound: Bound) -> Fraction:
        """Return what an inequality is not below in a cell: its limit where it is lowest, if that is known."""
        if bound.end is None:
            return bound.least
        limits = [one.middle[0] for one in self.smooth.jets(Cell(bound.end, bound.end, bound.inside))]
        return max(bound.least, self._ends(c, limits)[0])


def _combined(inequality: Inequality, jets: Sequence[Jet]) -> Jet:
    first, *rest = [jet if f > 0 else jet.negative() for f, jet in zip(inequality.factors, jets, strict=True) if f]
    for jet in rest:
        first = first.plus(jet)
    return first.cut_down()
