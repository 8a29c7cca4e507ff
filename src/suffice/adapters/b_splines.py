"""B-splines of degree 3 or less as exact curves: knots and weights in, polynomials between the knots out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from flint import fmpq_poly

from suffice.numbers.exact import ONE, Rational
from suffice.shapes import Function
from suffice.shapes.enclosed import piecewise

Beyond = Literal["constant", "linear", "continue"]


def b_spline(knots: Sequence[Rational], degree: int, weights: Sequence[Rational], beyond: Beyond) -> Function:
    """Return `Σ_j weights[j] · B_j` over the base knots, and how it goes on beyond them.

    Parameters
    ----------
    knots : sequence of Rational
        Ascending, `degree` of them before the base knots and as many after; so many more than weights, and one.
    degree : int
    weights : sequence of Rational
    beyond : {"constant", "linear", "continue"}
        Before the first base knot and after the last: the value there, the tangent, or the last polynomial itself.

    Examples
    --------
    >>> from flint import fmpq
    >>> parabola = b_spline([fmpq(k) for k in range(6)], 2, [fmpq(0), fmpq(1), fmpq(0)], "constant")
    >>> parabola(fmpq(2)), parabola(fmpq(5, 2)), parabola(fmpq(9))
    (1/2, 3/4, 1/2)
    """
    assert len(knots) == len(weights) + degree + 1
    base = [i for i in range(degree, len(knots) - degree - 1) if knots[i] < knots[i + 1]]
    pieces = [_piece(knots, degree, weights, i) for i in base]
    low, high = knots[degree], knots[-degree - 1]
    before, after = _beyond(pieces[0], low, beyond), _beyond(pieces[-1], high, beyond)
    values = [one(knots[i]) for i, one in zip(base, pieces, strict=True)]
    return piecewise([*(knots[i] for i in base), high], [before, *pieces, after], [*values, pieces[-1](high)])


def _piece(knots: Sequence[Rational], degree: int, weights: Sequence[Rational], i: int) -> fmpq_poly:
    """Return the polynomial between knots `i` and `i + 1`, by de Boor's recursion."""
    found = [fmpq_poly([weights[i - degree + j]]) for j in range(degree + 1)]
    for r in range(1, degree + 1):
        for j in range(degree, r - 1, -1):
            start, end = knots[i - degree + j], knots[i + 1 - r + j]
            share = fmpq_poly([-start, ONE]) / (end - start)
            found[j] = (1 - share) * found[j - 1] + share * found[j]
    return found[degree]


def _beyond(one: fmpq_poly, end: Rational, beyond: Beyond) -> fmpq_poly:
    if beyond == "continue":
        return one
    slope = one.derivative()(end) if beyond == "linear" else 0 * end
    return fmpq_poly([one(end) - slope * end, slope])
