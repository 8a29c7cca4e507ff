"""A function of two variables with one of them held: a function of the other."""

from __future__ import annotations

from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.shapes.pair_pieces import PairPieces
from suffice.shapes.pieces import Pieces


def sliced(pair: PairPieces, side: int, at: Value) -> Pieces:
    """Return the function of the variable of a side (0: the first, 1: the second) where the other one is `at`.

    Examples
    --------
    >>> from flint import fmpq
    >>> from suffice.shapes.axis import Axis, Cut
    >>> from suffice.shapes.pair_pieces import grid
    >>> both = PairPieces((Axis((Cut(fmpq(30), 0),)), Axis((Cut(fmpq(9), 1),))), grid([[0, 2], [0, 5]]))
    >>> when_rich = sliced(both, 0, fmpq(10))
    >>> when_rich(fmpq(29)), when_rich(fmpq(30))
    (2, 5)
    """
    function = pair.transposed() if side else pair
    axis, column = function.axes[0], function.axes[1].cell_of(at)
    constants, first, second, twists = function.coefficients

    def line(cell: int) -> tuple[Rational, Rational]:
        slope = ZERO if first is None else first[cell, column]
        offset: Rational = constants[cell, column]
        if second is not None and second[cell, column]:
            offset = offset + second[cell, column] * at
        if twists is not None and twists[cell, column]:
            slope = slope + twists[cell, column] * at
        return slope, offset

    after = {place: cell + 1 for cell, (place, _) in enumerate(axis.cuts)}  # the cell just above each place
    places = list(after)
    lines = [line(cell) for cell in (0, *after.values())]
    values = []
    for place in places:
        slope, offset = line(axis.cell_of(place))
        values.append(slope * place + offset)
    labels = {label: line(axis.numbers + k)[1] for k, label in enumerate(axis.labels)}
    slopes, offsets = ([one[k] for one in lines] for k in (0, 1))
    return Pieces.tidy(places, slopes, offsets, values, labels)
