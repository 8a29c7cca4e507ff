"""scikit-learn's transformers: each column they make is a function of one column that the user has.

In: the user's columns. Out: the columns that the estimator at the end sees, each with its source. A column is

- `Raw`: as the user has it, nothing known yet;
- `Numeric`: a function of a number, exactly (`pieces`) and as the package computes it in floats (`floats`);
- `Finite`: a value for each of the categories of its source.

Transformers that look at one column at a time are asked themselves wherever there are finitely many points; only on the
real line are their parameters read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, compose, step_pieces
from suffice.adapters.draft import UNSEEN, Cell, part
from suffice.adapters.floats import Floats, first_at_least
from suffice.domain import is_missing
from suffice.errors import AdapterError
from suffice.labels import MISSING
from suffice.rational import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes import Pieces, PiecewiseLinear


@dataclass(frozen=True, slots=True)
class Raw:
    """A column as the user has it; `fill` stands for a missing cell, if not None."""

    source: int
    fill: Any = None


@dataclass(frozen=True, slots=True)
class Numeric:
    """A function of one number.

    Parameters
    ----------
    pieces : Pieces or None
        The exact function; None where it has no pieces, for the reason `smooth`.
    floats : function or None
        What the package computes; None where it is not increasing.
    missing : float or None
        The value for a missing cell, NaN if that stays missing; None where it is refused.
    low, high : Rational or None
        Ends of the numbers that are taken.
    """

    source: int
    pieces: Pieces | None = IDENTITY
    floats: Floats | None = lambda values: values
    missing: float | None = np.nan
    smooth: str = ""
    low: Rational | None = None
    high: Rational | None = None


@dataclass(frozen=True, slots=True)
class Finite:
    """A value for each category of a column; `originals` are the categories as the user's table has them."""

    source: int
    values: Mapping[Cell, Any]
    originals: Mapping[Cell, Any]


@dataclass(frozen=True, slots=True)
class Unused:
    """A column that a selector left out: the model must be given it, and does nothing with it."""

    source: int
    column: Raw | Numeric | Finite


Column: TypeAlias = Raw | Numeric | Finite
Columns: TypeAlias = Sequence[Column | Unused]


def transform(step: Any, given: Columns) -> list[Column | Unused]:
    """Return the columns that a fitted transformer makes of others; those left out before come last."""
    unused = [column for column in given if isinstance(column, Unused)]
    return [*_transform(step, used(given)), *unused]


def used(columns: Columns) -> list[Column]:
    """Return the columns that go on."""
    return [column for column in columns if not isinstance(column, Unused)]


def _transform(step: Any, columns: Sequence[Column]) -> Columns:
    name = type(step).__name__
    if step is None or step == "passthrough":
        return list(columns)
    if isinstance(step, str) and step == "drop":
        return []
    if not type(step).__module__.startswith("sklearn."):
        raise AdapterError(f"the transformer {name} is not scikit-learn's own; only those of scikit-learn are read")
    count = getattr(step, "n_features_in_", None)
    if name not in ("Pipeline", "FunctionTransformer") and count != len(columns):
        raise AdapterError(f"the {name} is not fitted, or was fitted to {count} columns where {len(columns)} come in")
    if hasattr(step, "get_support") and type(step).__module__.startswith("sklearn.feature_selection"):
        chosen = zip(columns, step.get_support().tolist(), strict=True)
        return [column if is_kept else Unused(column.source, column) for column, is_kept in chosen]
    if name not in _STEPS:
        raise AdapterError(f"the transformer {name} is not supported; those that are: {', '.join(_STEPS)}, selectors")
    return _STEPS[name](step, columns)


def _pipeline(step: Any, columns: Sequence[Column]) -> Columns:
    going: Columns = columns
    for _, inner in step.steps:
        going = transform(inner, going)
    return going


def _column_transformer(step: Any, columns: Sequence[Column]) -> Columns:
    places = part(step, "_transformer_to_input_indices", "the ColumnTransformer")
    made: list[Column | Unused] = []
    for name, inner, _ in part(step, "transformers_", "the ColumnTransformer"):
        made += transform(inner, [columns[k] for k in places[name]])
    return made


def _union(step: Any, columns: Sequence[Column]) -> Columns:
    if step.transformer_weights:
        raise AdapterError("a FeatureUnion with transformer_weights is not supported; put the weights into the model")
    return [column for _, inner in step.transformer_list for column in transform(inner, columns)]


def _function(step: Any, columns: Sequence[Column]) -> list[Column]:
    function = getattr(step.func, "func", step.func)  # HistGradientBoosting puts a partial(check_array) in
    if function is not None and getattr(function, "__name__", "") != "check_array":
        raise AdapterError(
            f"FunctionTransformer({getattr(function, '__name__', function)}) can be any function; use a transformer "
            "whose parameters can be read, or transform the table beforehand"
        )
    return list(columns)


# --- one column at a time ---------------------------------------------------------------------------------------------


def own(step: Any, j: int, values: NDArray[Any], filler: Sequence[Any] | float = 1.0) -> NDArray[Any]:
    """Return what a transformer itself makes of values of its j-th column, all columns it makes."""
    count = step.n_features_in_
    table = np.empty((len(values), count), dtype=values.dtype)
    for k in range(count):
        table[:, k] = filler if isinstance(filler, float) else filler[k]
    table[:, j] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that an array does not have, and about unknown categories
        made = step.transform(table)
    if hasattr(made, "toarray"):
        made = made.toarray()
    return np.asarray(made)


def _one_to_one(exact: Callable[[Any, int], Pieces | str]) -> Callable[[Any, Sequence[Column]], list[Column]]:
    """Return the reader of a transformer with one increasing function for each column.

    `exact` returns the function's pieces, or says why it has none.
    """

    def read(step: Any, columns: Sequence[Column]) -> list[Column]:
        return [_apply(step, j, column, exact(step, j)) for j, column in enumerate(columns)]

    return read


def _apply(step: Any, j: int, column: Column, exact: Pieces | str) -> Column:
    def floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(own(step, j, values)[:, j], dtype=np.float64)

    if isinstance(column, Finite):
        return replace(column, values=_mapped(column.values, floats, type(step).__name__))
    number = as_number(column, type(step).__name__)
    before = number.floats
    pieces, smooth = (exact, number.smooth) if isinstance(exact, Pieces) else (None, number.smooth or exact)
    return replace(
        number,
        pieces=None if pieces is None or number.pieces is None else compose(pieces, number.pieces),
        floats=None if before is None else lambda values: floats(before(values)),
        missing=_at(floats, number.missing),
        smooth=smooth,
    )


def as_number(column: Column, reader: str) -> Numeric:
    """Return a column as numbers."""
    if isinstance(column, Numeric):
        return column
    if isinstance(column, Finite):
        raise AdapterError(f"the {reader} reads a column of categories; encode it first")
    if isinstance(column.fill, str):
        raise AdapterError(f"the {reader} reads a column of text; encode it first")
    return Numeric(column.source, missing=np.nan if column.fill is None else float(column.fill))


def _mapped(values: Mapping[Cell, Any], floats: Floats, name: str) -> dict[Cell, float]:
    try:
        table = np.array(list(values.values()), dtype=np.float64)
    except (TypeError, ValueError):
        raise AdapterError(f"the {name} reads a column of text; encode it first") from None
    found = {cell: _at(floats, value) for cell, value in zip(values, table.tolist(), strict=True)}
    return {cell: value for cell, value in found.items() if value is not None}


def _at(floats: Floats, value: float | None) -> float | None:
    """Return a function's value at one number or NaN; None where the package refuses it."""
    if value is None:
        return None
    try:
        return float(floats(np.array([value]))[0])
    except ValueError:
        return None


def _affine(factor: Any, offset: Any) -> Pieces:
    return Pieces.affine(rational(float(factor)), rational(float(offset)))


def _standard(step: Any, j: int) -> Pieces:
    center = 0.0 if step.mean_ is None or not step.with_mean else step.mean_[j]
    scale = 1.0 if step.scale_ is None or not step.with_std else step.scale_[j]
    return IDENTITY.rescaled(rational(float(center)), rational(float(scale)))


def _robust(step: Any, j: int) -> Pieces:
    center = step.center_[j] if step.with_centering else 0.0
    scale = step.scale_[j] if step.with_scaling else 1.0
    return IDENTITY.rescaled(rational(float(center)), rational(float(scale)))


def _min_max(step: Any, j: int) -> Pieces:
    line = _affine(step.scale_[j], step.min_[j])
    if not step.clip:
        return line
    low, high = (rational(float(end)) for end in step.feature_range)
    (clipped,) = PiecewiseLinear([low, high], [low, high]).compile()
    return compose(clipped, line)


def _max_abs(step: Any, j: int) -> Pieces:
    scale = rational(float(step.scale_[j]))
    if not getattr(step, "clip", False):
        return IDENTITY.rescaled(ZERO, scale)
    (clipped,) = PiecewiseLinear([-1, 1], [-1, 1]).compile()
    return compose(clipped, IDENTITY.rescaled(ZERO, scale))


def _power(step: Any, j: int) -> str:
    return f"PowerTransformer(method={step.method!r}) is a smooth curve"


def _quantile(step: Any, j: int) -> Pieces | str:
    """Return the map to quantiles: a broken line, with a jump where many training rows had one value."""
    if step.output_distribution != "uniform":
        return f"QuantileTransformer(output_distribution={step.output_distribution!r}) is a smooth curve"
    ends: dict[Rational, list[Rational]] = {}
    for at, reference in zip(step.quantiles_[:, j].tolist(), step.references_.tolist(), strict=True):
        ends.setdefault(rational(at), []).append(rational(reference))
    knots = sorted(ends)
    if len(knots) < 2:
        raise AdapterError("a QuantileTransformer was fitted to a constant column; take that column out")
    slopes, offsets = [ZERO], [ends[knots[0]][0]]
    for left, right in pairwise(knots):
        low, high = max(ends[left]), min(ends[right])
        slopes.append((high - low) / (right - left))
        offsets.append(low - slopes[-1] * left)
    slopes.append(ZERO)
    offsets.append(max(ends[knots[-1]]))
    # The mean of the interpolations from either side, but 0 and 1 at the ends.
    values = [(min(ends[knot]) + max(ends[knot])) / 2 for knot in knots]
    values[0], values[-1] = offsets[0], offsets[-1]
    return Pieces.tidy(knots, slopes, offsets, values)


def _imputer(step: Any, columns: Sequence[Column]) -> list[Column]:
    if not (step.missing_values is None or is_missing(step.missing_values)):
        raise AdapterError(
            f"SimpleImputer(missing_values={step.missing_values!r}) fills a number; only missing cells are filled here"
        )
    made: list[Column] = []
    for column, fill in zip(columns, step.statistics_.tolist(), strict=True):
        if is_missing(fill):
            if not step.keep_empty_features:
                continue  # the imputer leaves a column out that was always missing
            fill = 0.0
        if isinstance(column, Raw):
            made.append(replace(column, fill=fill if column.fill is None else column.fill))
        elif isinstance(column, Numeric):
            made.append(replace(column, missing=_filled(column.missing, fill)))
        else:
            values = {cell: fill if is_missing(value) else value for cell, value in column.values.items()}
            made.append(replace(column, values=values))
    if step.add_indicator:
        made += [_indicator(columns[k]) for k in step.indicator_.features_.tolist()]
    return made


def _filled(missing: float | None, fill: Any) -> float | None:
    return float(fill) if missing is not None and np.isnan(missing) else missing


def _indicator(column: Column) -> Column:
    if isinstance(column, Finite):
        return replace(column, values={cell: float(is_missing(value)) for cell, value in column.values.items()})
    number = as_number(column, "MissingIndicator")
    return Numeric(
        column.source, Pieces.affine(ZERO, ZERO), None, float(number.missing is not None and np.isnan(number.missing))
    )


# --- several columns from one -----------------------------------------------------------------------------------------


def _encoder(step: Any, columns: Sequence[Column]) -> list[Column]:
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
        raise AdapterError(f"the {type(step).__name__} reads a column that is no longer as the user has it")
    found: dict[Cell, Any] = {}
    for value in known.tolist():
        found[MISSING if is_missing(value) else value if isinstance(value, str) else float(value)] = value
    if len(found) != len(known):
        raise AdapterError(f"the {type(step).__name__} knows two categories of one name: {known.tolist()[:6]}")
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


def _bins(step: Any, columns: Sequence[Column]) -> list[Column]:
    made: list[Column] = []
    first = 0
    for j, column in enumerate(columns):
        edges = step.bin_edges_[j][1:-1].astype(np.float64)
        width = 1 if step.encode == "ordinal" else int(step.n_bins_[j])
        if isinstance(column, Finite):
            for k in range(width):
                made.append(
                    replace(column, values=_mapped(column.values, _reading(step, j, first + k), "KBinsDiscretizer"))
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


def _splines(step: Any, columns: Sequence[Column]) -> list[Column]:
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


_STEPS: Mapping[str, Callable[[Any, Sequence[Column]], Columns]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _union,
    "FunctionTransformer": _function,
    "StandardScaler": _one_to_one(_standard),
    "MinMaxScaler": _one_to_one(_min_max),
    "MaxAbsScaler": _one_to_one(_max_abs),
    "RobustScaler": _one_to_one(_robust),
    "QuantileTransformer": _one_to_one(_quantile),
    "PowerTransformer": _one_to_one(_power),
    "SimpleImputer": _imputer,
    "OneHotEncoder": _encoder,
    "OrdinalEncoder": _encoder,
    "KBinsDiscretizer": _bins,
    "SplineTransformer": _splines,
}
