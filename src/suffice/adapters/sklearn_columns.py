"""scikit-learn's transformers: each column they make is a function of one column that the user has.

In: the user's columns. Out: the columns that the estimator at the end sees, each with its source.

Transformers that look at one column at a time are asked themselves wherever there are finitely many points; only on the
real line are their parameters read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, compose
from suffice.adapters.draft import part
from suffice.adapters.sklearn_column import (
    Column,
    Columns,
    Finite,
    Numeric,
    Raw,
    Unused,
    as_number,
    mapped,
    own,
    used,
    value_at,
)
from suffice.adapters.sklearn_encoders import bins, encoder, splines
from suffice.errors import AdapterError
from suffice.model.domain import is_missing
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.shapes import Pieces, PiecewiseLinear


def transform(step: Any, given: Columns) -> list[Column | Unused]:
    """Return the columns that a fitted transformer makes of others; those left out before come last."""
    unused = [column for column in given if isinstance(column, Unused)]
    return [*_transform(step, used(given)), *unused]


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
    if name == "PolynomialFeatures":
        raise AdapterError("PolynomialFeatures are read as the last step before a linear model only; put them there")
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
        return replace(column, values=mapped(column.values, floats, type(step).__name__))
    number = as_number(column, type(step).__name__)
    before = number.floats
    pieces, smooth = (exact, number.smooth) if isinstance(exact, Pieces) else (None, number.smooth or exact)
    return replace(
        number,
        pieces=None if pieces is None or number.pieces is None else compose(pieces, number.pieces),
        floats=None if before is None else lambda values: floats(before(values)),
        missing=value_at(floats, number.missing),
        smooth=smooth,
    )


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
    "OneHotEncoder": encoder,
    "OrdinalEncoder": encoder,
    "KBinsDiscretizer": bins,
    "SplineTransformer": splines,
}
