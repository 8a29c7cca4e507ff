"""Transformers that make several columns of one: encoders, bins, splines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.assemble import compose, step_pieces
from suffice.adapters.b_splines import Beyond, b_spline
from suffice.adapters.column import Column, Finite, Numeric, Raw, as_number, mapped, own
from suffice.adapters.draft import UNSEEN, Cell, part
from suffice.adapters.floats import Floats, first_at_least
from suffice.errors import AdapterError
from suffice.model.domain import is_missing
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Function, Pieces, PiecewiseLinear
from suffice.shapes.polynomial import HIGHEST_DEGREE


def encoder(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return what an encoder makes of each category, by asking it."""
    categories = part(step, "categories_", f"the {type(step).__name__}")
    width = len(step.classes_) if getattr(step, "target_type_", "") == "multiclass" else 1  # of a TargetEncoder
    widths = getattr(step, "_n_features_outs", [width] * len(categories))
    filler = [known[0] for known in categories]
    made: list[Column] = []
    first = 0
    for j, (column, known) in enumerate(zip(columns, categories, strict=True)):
        asked, cells = _asked(step, column, known)
        table = np.empty(len(asked), dtype=object)
        table[:] = list(asked.values())
        encoded = _encoded(column.source, own(step, j, table, filler), first, widths[j], list(asked), cells)
        order = tuple(_named(type(step).__name__, known)) if _has_order(step) and isinstance(column, Raw) else ()
        made += [replace(one, order=order) for one in encoded]
        first += widths[j]
    return made


def _has_order(step: Any) -> bool:
    """Whether a user told an encoder the order of categories; the alphabet's, which it takes else, means nothing."""
    return type(step).__name__ == "OrdinalEncoder" and not isinstance(getattr(step, "categories", "auto"), str)


def _encoded(
    source: int, table: Any, first: int, width: int, cells: list[Cell], originals: dict[Cell, Any]
) -> list[Finite]:
    """Return the columns of a table that an encoder made; what is sparse in it stays sparse."""
    if not hasattr(table, "tocsc"):
        block = np.asarray(table)[:, first : first + width]
        return [Finite(source, originals, dict(zip(cells, block[:, k].tolist(), strict=True))) for k in range(width)]
    table = table.tocsc()
    made: list[Finite] = []
    for k in range(first, first + width):
        places = slice(int(table.indptr[k]), int(table.indptr[k + 1]))
        values = zip(table.indices[places].tolist(), table.data[places].tolist(), strict=True)
        made.append(Finite(source, originals, {cells[at]: value for at, value in values}, 0.0))
    return made


def _asked(step: Any, column: Column, known: NDArray[Any]) -> tuple[dict[Cell, Any], dict[Cell, Any]]:
    """Return what an encoder is asked about, and how the user's table has it, by the name that each has here."""
    name = type(step).__name__
    if isinstance(column, Finite):
        values = {cell: column.values.get(cell, column.rest) for cell in column.cells}
        asked = {cell: value for cell, value in values.items() if _takes(step, known, value)}
        return asked, {cell: column.cells[cell] for cell in asked}
    if not isinstance(column, Raw) and not column.is_plain:
        raise AdapterError(
            f"the {name} reads numbers that an earlier step has changed; put it first, or bin numbers with "
            "KBinsDiscretizer(encode='onehot')"
        )
    if isinstance(column, Numeric):
        fills: dict[Cell, Any] = {MISSING: column.missing}
        fills |= dict[Cell, Any](column.points.items())
        column = Raw(column.source, fills)
    found = _named(name, known)
    cells = dict(found)
    for cell, fill in column.fills.items():  # what an imputer before it replaces
        if fill is not None and not is_missing(fill):
            found[cell] = fill
            cells[cell] = np.nan if cell is MISSING else cell
    if getattr(step, "handle_unknown", "ignore") != "error":
        numbers = [cell for cell in found if isinstance(cell, float)]
        found[UNSEEN] = max(numbers) + 1.0 if numbers and not any(isinstance(cell, str) for cell in found) else UNSEEN
        cells[UNSEEN] = found[UNSEEN]
    return found, cells


def _named(encoder: str, known: NDArray[Any]) -> dict[Cell, Any]:
    """Return the categories of an encoder by the name that each has here."""
    if known.dtype.kind in "mM":
        raise AdapterError(f"the {encoder} reads a column of dates; make text or numbers of it beforehand")
    found: dict[Cell, Any] = {}
    for value in (known.astype(np.float64) if known.dtype.kind == "b" else known).tolist():
        try:
            cell = MISSING if is_missing(value) else value if isinstance(value, str) else float(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise AdapterError(
                f"the {encoder} has the category {value!r}, a {kind}; make text or numbers of its column beforehand"
            ) from None
        if cell in found:
            told = "two kinds of missing cells" if cell is MISSING else "two categories that are the same float"
            other = "one of them everywhere" if cell is MISSING else "such numbers as text"
            raise AdapterError(f"the {encoder} has {told}, {found[cell]!r} and {value!r}; write {other}")
        found[cell] = value
    return found


def _takes(step: Any, known: NDArray[Any], value: Any) -> bool:
    if value is None:
        return False
    if getattr(step, "handle_unknown", "ignore") != "error":
        return True
    return any((is_missing(value) and is_missing(one)) or one == value for one in known.tolist())


def bins(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of a KBinsDiscretizer."""
    made: list[Column] = []
    first = 0
    for j, column in enumerate(columns):
        edges = step.bin_edges_[j][1:-1].astype(np.float64)
        width = 1 if step.encode == "ordinal" else int(step.n_bins_[j])
        if isinstance(column, Finite):
            for k in range(width):
                made.append(mapped(column, _reading(step, j, first + k), "KBinsDiscretizer"))
        else:
            made += _binned(step, as_number(column, "KBinsDiscretizer"), edges, _reading(step, j, first), width)
        first += width
    return made


def _reading(step: Any, j: int, place: int) -> Floats:
    def read(values: NDArray[np.float64]) -> NDArray[np.float64]:
        made = own(step, j, values)
        return np.asarray((made.toarray() if hasattr(made, "toarray") else made)[:, place], dtype=np.float64)

    return read


def _binned(step: Any, number: Numeric, edges: NDArray[np.float64], floats: Floats, width: int) -> list[Column]:
    if number.floats is None:
        raise AdapterError("the KBinsDiscretizer reads a column that does not increase with the user's; bin it first")
    cuts = first_at_least(number.floats, edges)  # a value on an edge belongs to the upper bin
    count = len(edges) + 1
    gone = number.missing
    place = None if gone is None or np.isnan(gone) else int(np.searchsorted(edges, gone, "right"))
    points = {at: int(np.searchsorted(edges, value, "right")) for at, value in number.points.items()}
    if step.encode == "ordinal":
        before = number.floats
        ordinal = replace(
            number,
            pieces=step_pieces(cuts, [fmpq(k) for k in range(count)], "left"),
            floats=lambda values: floats(before(values)),
            missing=None if place is None else float(place),
            smooth="",
            points={at: float(bin_) for at, bin_ in points.items()},
        )
        return [ordinal]
    return [
        replace(
            number,
            pieces=step_pieces(cuts, [ONE if bin_ == k else ZERO for bin_ in range(count)], "left"),
            floats=None,
            missing=None if place is None else float(place == k),
            smooth="",
            points={at: float(bin_ == k) for at, bin_ in points.items()},
        )
        for k in range(width)
    ]


def splines(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the basis functions of splines."""
    if not 1 <= step.degree <= HIGHEST_DEGREE:
        raise AdapterError(
            f"SplineTransformer(degree={step.degree}) is not read; use a degree from 1 to {HIGHEST_DEGREE}"
        )
    if getattr(step, "handle_missing", "error") != "error":
        raise AdapterError("SplineTransformer is read with handle_missing='error'")
    # What repeats for ever has no end of pieces: it is read over one period, as what is an error beyond it.
    is_ended = step.extrapolation in ("error", "periodic")
    made: list[Column] = []
    for j, column in enumerate(columns):
        number = as_number(column, "SplineTransformer")
        if step.extrapolation == "linear" and step.degree == 1 and j > 0:
            raise AdapterError(
                "SplineTransformer(degree=1, extrapolation='linear') of scikit-learn extends later columns from other "
                "knots than its first; use extrapolation='continue', which means the same for degree 1"
            )
        if number.pieces is None:
            raise AdapterError(f"{number.smooth}, and so are splines of it; leave it out")
        every = [rational(float(knot)) for knot in step.bsplines_[j].t]
        knots = every[step.degree : -step.degree]
        count = len(every) - step.degree - 1
        beyond: Beyond = "continue" if is_ended else step.extrapolation
        weights = step.bsplines_[j].c  # 1 for each column's own spline, in a period for those beyond it too
        for k in range(weights.shape[1] if step.include_bias else weights.shape[1] - 1):
            if step.degree == 1 and step.extrapolation != "periodic":
                hat: Function = _hat(knots, k, is_flat=beyond == "constant")
            else:
                hat = b_spline(every, step.degree, [ONE if weights[at, k] else ZERO for at in range(count)], beyond)
            missing = None if number.missing is None or np.isnan(number.missing) else _float_at(hat, number.missing)
            low, high = _ends(number, knots) if is_ended else (number.low, number.high)
            points = {at: _float_at(hat, value) for at, value in number.points.items()}
            made.append(Numeric(number.source, compose(hat, number.pieces), None, missing, "", low, high, points))
    return made


def _hat(knots: Sequence[Rational], k: int, *, is_flat: bool) -> Pieces:
    """Return the line through 1 at knot k and 0 at all others, beyond the ends constant or going on as it was."""
    values = [ONE if at == k else ZERO for at in range(len(knots))]
    left = ZERO if is_flat else (values[1] - values[0]) / (knots[1] - knots[0])
    right = ZERO if is_flat else (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    (pieces,) = PiecewiseLinear(knots, values, left, right).compile()
    return pieces


def _float_at(pieces: Function, value: float) -> float:
    return nearest_float(pieces(rational(value)))


def _ends(number: Numeric, knots: Sequence[Rational]) -> tuple[Rational, Rational]:
    """Return the user's numbers that reach from the first knot to the last, for splines that take no others."""
    pieces = number.pieces
    assert pieces is not None
    if not isinstance(pieces, Pieces) or pieces.knots or pieces.slopes[0] <= 0:
        raise AdapterError("SplineTransformer(extrapolation='error') must read a column as it is, or scaled")
    low, high = ((end - pieces.offsets[0]) / pieces.slopes[0] for end in (knots[0], knots[-1]))
    return low, high
