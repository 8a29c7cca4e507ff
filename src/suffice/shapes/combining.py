"""Linear combinations of compiled functions of all kinds, and telling the kinds apart."""

from __future__ import annotations

from collections.abc import Iterable

from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.shapes.curves import Curves, added, curved_form, tidy
from suffice.shapes.enclosed import Enclosed, summed
from suffice.shapes.function import Function
from suffice.shapes.lazy import Lazy
from suffice.shapes.pieces import Pieces, combine


def combined(parts: Iterable[tuple[Rational, Function]]) -> Function:
    """Return the linear combination `Σ factor · part` of functions of all kinds; a label must be known to all."""
    every = list(parts)
    lazy = [(factor, part) for factor, part in every if isinstance(part, Lazy)]
    if lazy:  # a feature is lazy as a whole, with all its outputs
        return lazy[0][1].combined(lazy)
    if any(isinstance(part, Enclosed) for _, part in every):
        return summed(every) or Pieces.affine(ZERO, ZERO)
    straight = [(factor, part) for factor, part in every if isinstance(part, Pieces)]
    if len(straight) == len(every):
        return combine(straight)
    curved = [(factor, part) for factor, part in every if isinstance(part, Curves)]
    if straight:
        curved.append((ONE, curved_form(combine(straight))))
    return tidy(*added(curved))


def straight(functions: Iterable[Function]) -> tuple[Pieces, ...] | None:
    """Return functions as `Pieces`; None if one of them is curved."""
    found = tuple(functions)
    pieces = tuple(one for one in found if isinstance(one, Pieces))
    return pieces if len(pieces) == len(found) else None
