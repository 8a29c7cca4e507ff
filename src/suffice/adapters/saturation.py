"""Models that compare the sigmoids of several scores: taken only where these sigmoids tell the scores apart.

The sigmoid rises with the score, so the largest one belongs to the largest score. In floats it stops rising: above 37
every score has the sigmoid 1.0, and the first class wins whatever the scores are. Below 16 two sigmoids are the same
float only if the scores differ by less than 1e-9, which the rounding of the scores may do as well. APLR cuts scores at
-16 and 16 itself.
"""

from __future__ import annotations

from itertools import product

from suffice.adapters.draft import Saturation
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, Rational, rational
from suffice.numbers.values import Value
from suffice.shapes import Function, PairPieces
from suffice.shapes.combining import combined

_LIMIT = rational(16)


def check_unsaturated(model: AdditiveModel, source: str, kind: Saturation) -> None:
    """Refuse a model unless at most one score can pass 16 on its domains and, for "both", one cannot pass -16."""
    compiled = Compiled(model)
    scores = range(len(model.intercept))
    highest = [_largest(compiled, model, j, ONE) for j in scores]
    lowest = [_largest(compiled, model, j, -ONE) for j in scores]
    is_large = sum(top is None or top > _LIMIT for top in highest) > 1
    is_small = kind == "both" and all(low is None or low > _LIMIT for low in lowest)
    if is_large or is_small:
        raise AdapterError(
            f"{source} compares the sigmoids of its scores, and several scores can pass {16 if is_large else -16}, "
            "beyond which it takes them for equal, so its own predictions do not follow from its scores there; give "
            "domains= that keep the scores between, or use a model with a softmax"
        )


def _largest(compiled: Compiled, model: AdditiveModel, j: int, sign: Rational) -> Rational | None:
    """Return a bound from above on `sign` times a score; None if there is none."""
    total = sign * model.intercept[j]
    for pieces, domain in zip(compiled.pieces, model.domains, strict=True):
        part = _least(combined([(-sign, pieces[j])]), domain)
        if part is None:
            return None
        total -= part
    for pair, functions in compiled.pairs:  # each at its largest, whether or not the same values reach it in all
        corners = [_corners(functions[j], axis, model.domains[i]) for axis, i in enumerate(pair)]
        if None in corners:
            return None
        reached = product(*corners)  # type: ignore[arg-type]
        total += max(sign * functions[j].limit(row, x, column, y) for (row, x), (column, y) in reached)
    return total


def _corners(function: PairPieces, axis: int, domain: Domain) -> list[tuple[int, Value]] | None:
    """Return the cells of a variable with their ends on a domain, between which a bilinear function has its extremes.

    None where it varies without end.
    """
    cells = function.axes[axis]
    found: list[tuple[int, Value]] = [(cells.cell_of(v), v) for v in (*domain.categories_, *domain.codes_)]
    for span in domain.spans:
        for cell in cells.cells_between(span.low, span.high):
            place = cells.interval(cell)
            low = place.low if span.low is None else span.low if place.low is None else max(place.low, span.low)
            high = place.high if span.high is None else span.high if place.high is None else min(place.high, span.high)
            if function.varies[axis][cell] and (low is None or high is None):
                return None
            found += [(cell, end) for end in (low, high) if end is not None] or [(cell, rational(0))]
    return found


def _least(pieces: Function, domain: Domain) -> Rational | None:
    """Return the infimum of a function on a domain, None if it falls without end."""
    found = [pieces.infimum(span.low, span.high) for span in domain.spans]
    if not all(one.is_bounded for one in found):
        return None
    return min([one.value for one in found] + [pieces(value) for value in (*domain.categories_, *domain.codes_)])
