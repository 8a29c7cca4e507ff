"""Cubic regression splines: natural and cyclic ones, given by their values at knots, as exact curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq_mat, fmpq_poly

from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes import Function
from suffice.shapes.enclosed import piecewise


class CubicRegression:
    """The cubic splines over some knots, as patsy's `cr` and `cc` have them (Wood, 2006, pages 145 to 147).

    A natural spline goes on along its tangents beyond the outermost knots; a cyclic one begins anew, and is meant
    between them only. Second derivatives at knots are the solution of linear equations; for each value at a knot they
    count as the floats that they round to, as in the package.

    Parameters
    ----------
    knots : sequence of Rational
        Ascending, 3 or more, all different; for a cyclic spline 2 or more.
    is_cyclic : bool

    Examples
    --------
    >>> from flint import fmpq
    >>> wave = CubicRegression([fmpq(k) for k in range(5)], is_cyclic=True).through([fmpq(v) for v in (0, 1, 0, -1)])
    >>> wave(fmpq(0)), wave(fmpq(1, 2)), wave(fmpq(7, 2)), wave(fmpq(4))
    (0, 11/16, -11/16, 0)
    """

    def __init__(self, knots: Sequence[Rational], *, is_cyclic: bool) -> None:
        self._knots, self._is_cyclic = list(knots), is_cyclic
        self._widths = [b - a for a, b in pairwise(knots)]
        self.count = len(knots) - is_cyclic  # how many values define a spline
        self._second = self._second_derivatives()

    def through(self, values: Sequence[Rational]) -> Function:
        """Return the spline with these values at the knots; the last of a cyclic one is its first."""
        at = [*values, values[0]] if self._is_cyclic else list(values)
        bends = [sum((one * value for one, value in zip(row, values, strict=True)), ZERO) for row in self._second]
        pieces = [self._piece(j, at[j], at[j + 1], bends[j], bends[j + 1]) for j in range(len(self._widths))]
        before, after = pieces[0], pieces[-1]  # of a cyclic one nothing is meant there
        if not self._is_cyclic:
            before, after = _tangent(before, self._knots[0]), _tangent(after, self._knots[-1])
        return piecewise(self._knots, [before, *pieces, after], at)

    def _piece(self, j: int, left: Rational, right: Rational, left_bend: Rational, right_bend: Rational) -> fmpq_poly:
        """Return the cubic between two knots with these values and second derivatives at them."""
        width = self._widths[j]
        to_right, from_left = fmpq_poly([self._knots[j + 1], -ONE]), fmpq_poly([-self._knots[j], ONE])
        line = (left * to_right + right * from_left) / width
        return line + sum(
            (
                bend * (side**3 / width - width * side) / 6
                for bend, side in ((left_bend, to_right), (right_bend, from_left))
            ),
            fmpq_poly([]),
        )

    def _second_derivatives(self) -> list[list[Rational]]:
        """Return for each knot what the values contribute to the second derivative there.

        A spline has one slope on both sides of a knot: with widths `h`, values `v` and second derivatives `m`

            h[i-1]/6 m[i-1] + (h[i-1] + h[i])/3 m[i] + h[i]/6 m[i+1] = (v[i+1] - v[i])/h[i] - (v[i] - v[i-1])/h[i-1],

        at every knot of a cyclic one, where places are counted around, and at the inner ones of a natural one, whose
        second derivatives at the ends are 0.
        """
        count, widths = self.count, self._widths
        bends, falls = fmpq_mat(count, count), fmpq_mat(count, count)
        for i in range(count):
            if not self._is_cyclic and i in (0, count - 1):
                bends[i, i] = ONE
                continue
            before, after = widths[i - 1], widths[i]
            for place, bend, fall in (
                ((i - 1) % count, before / 6, 1 / before),
                (i, (before + after) / 3, -1 / before - 1 / after),
                ((i + 1) % count, after / 6, 1 / after),
            ):
                bends[i, place] += bend
                falls[i, place] += fall
        solved = bends.solve(falls)
        rows = [[rational(nearest_float(solved[i, k])) for k in range(count)] for i in range(count)]
        return [*rows, rows[0]] if self._is_cyclic else rows


def _tangent(one: fmpq_poly, at: Rational) -> fmpq_poly:
    slope = one.derivative()(at)
    return fmpq_poly([one(at) - slope * at, slope])
