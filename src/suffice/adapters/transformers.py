"""Transformers: each column they make is a function of one column that the user has.

In: the user's columns. Out: the columns that the model at the end sees, each with its source.

Transformers that look at one column at a time are asked themselves wherever there are finitely many points; only on the
real line are their parameters read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, compose, step_pieces
from suffice.adapters.column import (
    Column,
    Columns,
    Finite,
    Times,
    Unused,
    as_number,
    mapped,
    own,
    single,
    used,
    value_at,
)
from suffice.adapters.draft import part
from suffice.adapters.encoders import bins, encoder, splines
from suffice.adapters.floats import first_at_least
from suffice.adapters.functions import function
from suffice.adapters.imputers import imputer, indicator
from suffice.adapters.named_transformers import NAMED, named
from suffice.adapters.products import powers
from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Function, Pieces, PiecewiseLinear, Smooth

# What is no function of one column each, with the reason and the nearest thing that is read.
REFUSED: Mapping[str, str] = {
    "KNNImputer": "fills a cell from whole rows next to it; use SimpleImputer",
    "IterativeImputer": "fills a cell from the other columns; use SimpleImputer",
    "Normalizer": "divides each row by its own length; use StandardScaler",
    "PCA": "mixes all columns; use the columns themselves",
    "TruncatedSVD": "mixes all columns; use the columns themselves",
    "CountVectorizer": "counts words, each a column of its own, in one column of text; count beforehand, and give the "
    "model a table of counts",
    "TfidfVectorizer": "divides the counts of words by the length of their row; count beforehand, without a norm",
    "TfidfTransformer": "divides each row by its own length; leave it out",
    "HashingVectorizer": "counts words in one column of text; count beforehand, and give the model a table of counts",
    "KernelCenterer": "compares whole rows; use the columns themselves",
    "Nystroem": "compares whole rows by a kernel; use SplineTransformer(degree=1)",
    "RBFSampler": "compares whole rows by a kernel; use SplineTransformer(degree=1)",
}


def transform(step: Any, given: Columns) -> list[Column | Unused | Times]:
    """Return the columns that a fitted transformer makes of others; those left out before come last."""
    unused = [column for column in given if isinstance(column, Unused)]
    return [*_transform(step, used(given)), *unused]


def makes_sparse(step: Any, is_sparse: bool) -> bool:
    """Whether a transformer hands on a sparse table."""
    name = type(step).__name__
    if not type(step).__module__.startswith("sklearn."):
        return False
    if name == "Pipeline":
        for _, inner in step.steps:
            is_sparse = makes_sparse(inner, is_sparse)
        return is_sparse
    if name == "ColumnTransformer":
        return bool(step.sparse_output_)
    if name == "FeatureUnion":
        return any(makes_sparse(inner, is_sparse) for _, inner in step.transformer_list)
    if name == "OneHotEncoder":
        return bool(step.sparse_output)
    if name == "KBinsDiscretizer":
        return bool(step.encode == "onehot")
    return is_sparse and name not in ("OrdinalEncoder", "SplineTransformer", "QuantileTransformer")


def _transform(step: Any, columns: Sequence[Column | Times]) -> Columns:
    name = type(step).__name__
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return list(columns)
    if isinstance(step, str) and step == "drop":
        return []
    if hasattr(step, "fit_resample") and not hasattr(step, "transform"):
        return list(columns)  # a sampler works on training rows only
    if name in REFUSED:
        raise AdapterError(f"the transformer {name} {REFUSED[name]}")
    home = type(step).__module__.split(".")[0]
    if home in NAMED:
        return named(step, single(columns, name))
    if home != "sklearn":
        raise AdapterError(
            f"the transformer {name} of {home} is not known, so what it does to a column cannot be read; those known "
            f"are scikit-learn's, and the encoders of {' and '.join(NAMED)}"
        )
    count = getattr(step, "n_features_in_", None)
    if name not in ("Pipeline", "FunctionTransformer") and count != len(columns):
        if count is None:
            raise AdapterError(f"the {name} is not fitted; fit it first")
        raise AdapterError(f"the {name} was fitted to {count} columns, but {len(columns)} come in")
    if hasattr(step, "get_support") and type(step).__module__.startswith("sklearn.feature_selection"):
        chosen = zip(columns, step.get_support().tolist(), strict=True)
        return [one for column, is_kept in chosen for one in ([column] if is_kept else _left_out(column))]
    if name not in _STEPS:
        raise AdapterError(
            f"the transformer {name} is not read here, so what it does to a column is not known; those read are "
            f"{', '.join(_STEPS)} and selectors"
        )
    return _STEPS[name](step, columns if name in _TAKE_PRODUCTS else single(columns, name))


def _left_out(column: Column | Times) -> list[Unused]:
    each = (column.first, column.second) if isinstance(column, Times) else (column,)
    return [Unused(one.source, one) for one in each]


def _pipeline(step: Any, columns: Sequence[Column | Times]) -> Columns:
    going: Columns = columns
    for _, inner in step.steps:
        going = transform(inner, going)
    return going


def _column_transformer(step: Any, columns: Sequence[Column | Times]) -> Columns:
    places = part(step, "_transformer_to_input_indices", "the ColumnTransformer")
    made: list[Column | Unused | Times] = []
    for name, inner, _ in part(step, "transformers_", "the ColumnTransformer"):
        made += transform(inner, [columns[k] for k in places[name]])
    return made


def _union(step: Any, columns: Sequence[Column | Times]) -> Columns:
    if step.transformer_weights:
        raise AdapterError("a FeatureUnion with transformer_weights is not supported; put the weights into the model")
    return [column for _, inner in step.transformer_list for column in transform(inner, columns)]


# --- one column at a time ---------------------------------------------------------------------------------------------


def _one_to_one(
    exact: Callable[[Any, int], Function],
) -> Callable[[Any, Sequence[Column | Times]], list[Column | Times]]:
    """Return the reader of a transformer with one increasing function for each column.

    `exact` returns the function.
    """

    def read(step: Any, columns: Sequence[Column | Times]) -> list[Column | Times]:
        return [_apply(step, j, column, exact(step, j)) for j, column in enumerate(columns)]

    return read


# What a transformer knows of each column, by the name of the attribute.
_LEARNED: Mapping[str, tuple[str, ...]] = {
    "StandardScaler": ("mean_", "scale_", "var_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("scale_", "max_abs_"),
    "RobustScaler": ("center_", "scale_"),
    "QuantileTransformer": ("quantiles_",),
    "PowerTransformer": ("lambdas_",),
    "Binarizer": (),
}


def _narrow(step: Any, j: int) -> Any:
    """Return the transformer of the j-th column alone, so that asking about it takes no longer in a wide table."""
    one = copy.copy(step)
    one.n_features_in_ = 1
    one.__dict__.pop("feature_names_in_", None)
    for name in _LEARNED[type(step).__name__]:
        if getattr(step, name, None) is not None:
            setattr(one, name, getattr(step, name)[..., j : j + 1])
    if hasattr(step, "_scaler"):  # PowerTransformer standardises last
        one._scaler = _narrow(step._scaler, j)
    return one


def _apply(step: Any, j: int, column: Column | Times, exact: Function) -> Column | Times:
    if isinstance(column, Times):
        if not isinstance(exact, Pieces) or exact.knots:
            single([column], type(step).__name__)  # refuses it
        assert isinstance(exact, Pieces)
        slope, offset = exact.slopes[0], exact.offsets[0]
        return replace(column, factor=slope * column.factor, offset=slope * column.offset + offset)
    one = _narrow(step, j)

    def floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(own(one, 0, values)[:, 0], dtype=np.float64)

    if isinstance(column, Finite):
        return mapped(column, floats, type(step).__name__)
    number = as_number(column, type(step).__name__)
    before, low = number.floats, number.low
    if getattr(step, "method", None) == "box-cox":
        if not number.is_plain:
            raise AdapterError(
                "PowerTransformer(method='box-cox') comes after a step that changes the column; put it first"
            )
        low = rational(5e-324)  # the least positive float
    return replace(
        number,
        pieces=None if number.pieces is None else compose(exact, number.pieces),
        floats=None if before is None else lambda values: floats(before(values)),
        missing=value_at(floats, number.missing),
        low=low,
        points={at: float(floats(np.array([value]))[0]) for at, value in number.points.items()},
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


def _power(step: Any, j: int) -> Function:
    """Return the power map of a column, standardised if the transformer does that."""
    exponent, name = float(step.lambdas_[j]), step.method.replace("-", "_")
    # Like scikit-learn, which takes the logarithm of either side where its power is next to 0.
    near = rational(2.220446049250313e-16)
    power = rational(exponent)
    power = ZERO if abs(power) < near else rational(2) if name == "yeo_johnson" and abs(power - 2) <= near else power
    (curve,) = Smooth(name, power).compile()
    return compose(_standard(step._scaler, j), curve) if step.standardize else curve


# What scikit-learn cuts quantiles off at before it takes those of the normal distribution.
_NEXT_TO_AN_END = 1e-7
_LEAST_QUANTILE = rational(1e-7) - rational(2.220446049250313e-16)


def _quantile(step: Any, j: int) -> Function:
    """Return the map to quantiles, of the uniform distribution or of the normal one."""
    line = _uniform_quantile(step, j)
    if step.output_distribution == "uniform":
        return line
    line = _with_wide_ends(line, step.quantiles_[0, j], step.quantiles_[-1, j])
    # The ends of a normal distribution are infinite, so that they are cut off.
    ends = [_LEAST_QUANTILE, 1 - _LEAST_QUANTILE]
    (cut,) = PiecewiseLinear(ends, ends).compile()
    (curve,) = Smooth("normal_quantile").compile()
    return compose(curve, compose(cut, line))


def _with_wide_ends(line: Pieces, low: float, high: float) -> Pieces:
    """Return a map to quantiles with 0 and 1 wherever scikit-learn, in floats, is next to an end."""
    (start,) = first_at_least(lambda x: x - _NEXT_TO_AN_END, np.array([low]))
    (end,) = first_at_least(lambda x: x + _NEXT_TO_AN_END, np.array([np.nextafter(high, np.inf)]))
    if start >= end:
        raise AdapterError("a QuantileTransformer was fitted to a column that is nearly constant; take that column out")
    inside = [knot for knot in line.knots if start < knot < end]
    segments = [line.segment_after(knot) for knot in (start, *inside)]
    slopes = [ZERO, *(line.slopes[k] for k in segments), ZERO]
    offsets = [ZERO, *(line.offsets[k] for k in segments), ONE]
    return Pieces.tidy([start, *inside, end], slopes, offsets, [*(line(knot) for knot in (start, *inside)), ONE])


def _uniform_quantile(step: Any, j: int) -> Pieces:
    """Return the map to quantiles: a broken line, with a jump where many training rows had one value."""
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


def _binarizer(step: Any, j: int) -> Pieces:
    return step_pieces([rational(float(step.threshold))], [ZERO, ONE], "right")


# Steps that products of two columns may go through.
_TAKE_PRODUCTS = frozenset({"Pipeline", "ColumnTransformer", "FeatureUnion", *_LEARNED})

_STEPS: Mapping[str, Callable[[Any, Sequence[Any]], Columns]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _union,
    "FunctionTransformer": function,
    "StandardScaler": _one_to_one(_standard),
    "MinMaxScaler": _one_to_one(_min_max),
    "MaxAbsScaler": _one_to_one(_max_abs),
    "RobustScaler": _one_to_one(_robust),
    "QuantileTransformer": _one_to_one(_quantile),
    "PowerTransformer": _one_to_one(_power),
    "Binarizer": _one_to_one(_binarizer),
    "PolynomialFeatures": powers,
    "SimpleImputer": imputer,
    "MissingIndicator": indicator,
    "OneHotEncoder": encoder,
    "OrdinalEncoder": encoder,
    "TargetEncoder": encoder,
    "KBinsDiscretizer": bins,
    "SplineTransformer": splines,
}
