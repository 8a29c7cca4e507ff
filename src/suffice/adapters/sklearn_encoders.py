"""scikit-learn's transformers that make several columns of one: encoders, bins, splines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, compose, step_pieces
from suffice.adapters.draft import UNSEEN, Cell, part
from suffice.adapters.floats import Floats, first_at_least
from suffice.adapters.sklearn_column import Column, Finite, Numeric, Raw, as_number, mapped, own
from suffice.errors import AdapterError
from suffice.model.domain import is_missing
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Pieces, PiecewiseLinear


def encoder(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return what an encoder makes of each category, by asking it."""
    categories = part(step, "categories_", f"the {type(step).__name__}")
    widths = getattr(step, "_n_features_outs", [1] * len(categories))
    filler = [known[0] for known in categories]
    made: list[Column] = []
    first = 0
    for j, (column, known) in enumerate(zip(columns, categories, strict=True)):
        originals = _originals(step, column, known)
        table = np.empty(len(originals), dtype=object)
        table[:] = list(originals.values())
        encoded = own(step, j, table, filler)[:, first : first + widths[j]]
        for k in range(widths[j]):
            values = dict(zip(originals, encoded[:, k].tolist(), strict=True))
            made.append(Finite(column.source, values, _unfilled(column, originals, known)))
        first += widths[j]
    return made


def _originals(step: Any, column: Column, known: NDArray[Any]) -> dict[Cell, Any]:
    """Return the values that an encoder is asked about, by the name that each has here."""
    if not isinstance(column, Raw) and not (isinstance(column, Numeric) and column.pieces == IDENTITY):
        raise AdapterError(f"the {type(step).__name__} reads a column that an earlier step has already changed")
    found: dict[Cell, Any] = {}
    for value in known.tolist():
        found[MISSING if is_missing(value) else value if isinstance(value, str) else float(value)] = value
    if len(found) != len(known):
        raise AdapterError(f"the {type(step).__name__} has two categories with the same name: {known.tolist()[:6]}")
    fill = column.fill if isinstance(column, Raw) else column.missing
    if fill is not None and not is_missing(fill):
        found[MISSING] = fill
    if step.handle_unknown != "error":
        numbers = [cell for cell in found if isinstance(cell, float)]
        found[UNSEEN] = max(numbers) + 1.0 if numbers and not any(isinstance(cell, str) for cell in found) else UNSEEN
    return found


def _unfilled(column: Column, originals: Mapping[Cell, Any], known: NDArray[Any]) -> dict[Cell, Any]:
    """Return the originals with a missing cell as the user has it, not as an imputer before the encoder fills it."""
    is_known = any(is_missing(value) for value in known.tolist())
    return {cell: np.nan if cell is MISSING and not is_known else value for cell, value in originals.items()}


def bins(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of a KBinsDiscretizer."""
    made: list[Column] = []
    first = 0
    for j, column in enumerate(columns):
        edges = step.bin_edges_[j][1:-1].astype(np.float64)
        width = 1 if step.encode == "ordinal" else int(step.n_bins_[j])
        if isinstance(column, Finite):
            for k in range(width):
                made.append(
                    replace(column, values=mapped(column.values, _reading(step, j, first + k), "KBinsDiscretizer"))
                )
        else:
            made += _binned(step, as_number(column, "KBinsDiscretizer"), edges, _reading(step, j, first), width)
        first += width
    return made


def _reading(step: Any, j: int, place: int) -> Floats:
    return lambda values: np.asarray(own(step, j, values)[:, place], dtype=np.float64)


def _binned(step: Any, number: Numeric, edges: NDArray[np.float64], floats: Floats, width: int) -> list[Column]:
    if number.floats is None:
        raise AdapterError("the KBinsDiscretizer reads a column that does not increase with the user's; bin it first")
    cuts = first_at_least(number.floats, edges)  # a value on an edge belongs to the upper bin
    count = len(edges) + 1
    place = (
        None
        if number.missing is None or np.isnan(number.missing)
        else int(np.searchsorted(edges, number.missing, "right"))
    )
    if step.encode == "ordinal":
        before = number.floats
        pieces = step_pieces(cuts, [fmpq(k) for k in range(count)], "left")
        missing = None if place is None else float(place)
        return [
            replace(number, pieces=pieces, floats=lambda values: floats(before(values)), missing=missing, smooth="")
        ]
    columns: list[Column] = []
    for k in range(width):
        values = [ONE if bin_ == k else ZERO for bin_ in range(count)]
        missing = None if place is None else float(place == k)
        columns.append(
            replace(number, pieces=step_pieces(cuts, values, "left"), floats=None, missing=missing, smooth="")
        )
    return columns


def splines(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the hat functions of splines of degree 1."""
    if step.degree != 1:
        raise AdapterError(f"SplineTransformer(degree={step.degree}) has curved pieces; use degree=1")
    if step.extrapolation == "periodic" or getattr(step, "handle_missing", "error") != "error":
        raise AdapterError("SplineTransformer is read with handle_missing='error' and without periodic extrapolation")
    made: list[Column] = []
    for j, column in enumerate(columns):
        number = as_number(column, "SplineTransformer")
        if step.extrapolation == "linear" and j > 0:
            raise AdapterError(
                "SplineTransformer(degree=1, extrapolation='linear') of scikit-learn extends later columns from other "
                "knots than its first; use extrapolation='continue', which means the same for degree 1"
            )
        if number.pieces is None:
            raise AdapterError(f"{number.smooth}, and so are splines of it; leave it out")
        knots = [rational(float(knot)) for knot in step.bsplines_[j].t[1:-1]]
        count = len(knots) - (0 if step.include_bias else 1)
        for k in range(count):
            hat = _hat(knots, k, is_flat=step.extrapolation == "constant")
            missing = None if number.missing is None or np.isnan(number.missing) else _float_at(hat, number.missing)
            low, high = (number.low, number.high) if step.extrapolation != "error" else _ends(number, knots)
            made.append(Numeric(number.source, compose(hat, number.pieces), None, missing, "", low, high))
    return made


def _hat(knots: Sequence[Rational], k: int, *, is_flat: bool) -> Pieces:
    """Return the line through 1 at knot k and 0 at all others, beyond the ends constant or going on as it was."""
    values = [ONE if at == k else ZERO for at in range(len(knots))]
    left = ZERO if is_flat else (values[1] - values[0]) / (knots[1] - knots[0])
    right = ZERO if is_flat else (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    (pieces,) = PiecewiseLinear(knots, values, left, right).compile()
    return pieces


def _float_at(pieces: Pieces, value: float) -> float:
    return nearest_float(pieces(rational(value)))


def _ends(number: Numeric, knots: Sequence[Rational]) -> tuple[Rational, Rational]:
    """Return the user's numbers that reach from the first knot to the last, for splines that take no others."""
    pieces = number.pieces
    assert pieces is not None
    if pieces.knots or pieces.slopes[0] <= 0:
        raise AdapterError("SplineTransformer(extrapolation='error') must read a column as it is, or scaled")
    low, high = ((end - pieces.offsets[0]) / pieces.slopes[0] for end in (knots[0], knots[-1]))
    return low, high
