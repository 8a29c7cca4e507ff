"""FunctionTransformer: NumPy's own functions of one number, where they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY, compose
from suffice.adapters.column import Column, Finite, as_number, mapped, value_at
from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Number, Rational, rational
from suffice.shapes import Function, Pieces, PiecewiseLinear, Smooth
from suffice.shapes.combining import combined

# Increasing smooth curves: the numbers between which each has a finite float.
_SMOOTH: Mapping[str, tuple[float | None, float | None]] = {
    "log": (5e-324, None),
    "log2": (5e-324, None),
    "log10": (5e-324, None),
    "log1p": (float(np.nextafter(-1.0, 0.0)), None),
    "sqrt": (0.0, None),
    "cbrt": (None, None),
    "exp": (None, 709.0),
    "expm1": (None, 709.0),
    "arcsinh": (None, None),
    "arctan": (None, None),
    "tanh": (None, None),
}


def _curve(name: str, center: Number = 0, factor: Number = 1, offset: Number = 0) -> Function:
    (curve,) = Smooth(name).rescaled(center).compile()
    return combined([(rational(factor), curve), (ONE, Pieces.affine(ZERO, rational(offset)))])


# Those of them that are known as functions, not only as floats.
_CURVES: Mapping[str, Callable[[], Function]] = {
    "log": lambda: _curve("log"),
    "log1p": lambda: _curve("log", -1),
    "sqrt": lambda: _curve("sqrt"),
    "exp": lambda: _curve("exp"),
    "expm1": lambda: _curve("exp", offset=-1),
    "tanh": lambda: _curve("tanh"),
}


class Known(NamedTuple):
    """A function of NumPy: as pieces, None if only its floats are known; its ends; whether it increases."""

    pieces: Function | None
    ends: tuple[float | None, float | None]
    is_increasing: bool


def known_function(name: str, told: Mapping[str, Any]) -> Known | None:
    """Return one of NumPy's functions of one number with the arguments that are told; None if it is not known."""
    exact = _exact(name, told)
    return None if exact is None else Known(exact[0], _SMOOTH.get(name, (None, None)), exact[1])


def function(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that a FunctionTransformer makes."""
    func = getattr(step.func, "func", step.func)  # HistGradientBoosting puts a partial(check_array) in
    name = getattr(func, "__name__", str(func))
    if func is None or name == "check_array":
        return list(columns)
    told = step.kw_args or {}
    is_numpy = isinstance(func, np.ufunc) or getattr(func, "__module__", "").startswith("numpy")
    known = known_function(name, told) if is_numpy else None
    if known is None:
        raise AdapterError(
            f"FunctionTransformer({name}) can be any function; NumPy's clip, abs, negative, {', '.join(_SMOOTH)} are "
            "known; otherwise use a transformer whose parameters can be read, or transform the table beforehand"
        )
    pieces, ends, is_increasing = known

    def floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.asarray(func(values, **told), dtype=np.float64)

    return [_apply(column, name, floats, pieces, ends, is_increasing=is_increasing) for column in columns]


def clipped(column: Column, low: float | None, high: float | None) -> Column:
    """Return a column that is cut off at its ends."""
    exact = _exact("clip", {"a_min": low, "a_max": high})
    assert exact is not None

    def floats(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(values if low is None and high is None else np.clip(values, low, high))

    return _apply(column, "clip", floats, exact[0], (None, None), is_increasing=True)


def _exact(name: str, told: Mapping[str, Any]) -> tuple[Function | None, bool] | None:
    """Return the pieces of a function, None if it is a smooth curve, and whether it increases; None if not known."""
    if name == "clip":
        low, high = (told.get(f"a_{end}", told.get(end)) for end in ("min", "max"))
        ends = [rational(float(end)) for end in (low, high) if end is not None]
        if not ends:
            return IDENTITY, True
        slopes = {"left_slope": int(low is None), "right_slope": int(high is None)}
        (pieces,) = PiecewiseLinear(ends, ends, **slopes).compile()
        return pieces, True
    if told:
        return None
    if name in ("abs", "absolute", "fabs"):
        return Pieces((ZERO,), (-ONE, ONE), (ZERO, ZERO), (ZERO,)), False
    if name == "negative":
        return Pieces.affine(-ONE, ZERO), False
    if name == "positive":
        return IDENTITY, True
    if name in _CURVES:
        return _CURVES[name](), True
    return (None, True) if name in _SMOOTH else None


def _apply(
    column: Column,
    name: str,
    floats: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    pieces: Function | None,
    ends: tuple[float | None, float | None],
    *,
    is_increasing: bool,
) -> Column:
    if isinstance(column, Finite):
        return mapped(column, floats, f"FunctionTransformer({name})")
    number = as_number(column, f"FunctionTransformer({name})")
    before = number.floats
    if ends != (None, None) and not number.is_plain:
        raise AdapterError(f"FunctionTransformer({name}) comes after a step that changes the column; put it first")
    low, high = (None if end is None else rational(end) for end in ends)
    is_known = pieces is not None and number.pieces is not None
    return replace(
        number,
        pieces=compose(pieces, number.pieces) if is_known else None,  # type: ignore[arg-type]
        floats=None if before is None or not is_increasing else lambda values: floats(before(values)),
        missing=value_at(floats, number.missing),
        smooth="" if is_known else number.smooth or f"FunctionTransformer({name}) is a smooth curve",
        low=_inner(number.low, low, max),
        high=_inner(number.high, high, min),
        points={at: float(floats(np.array([value]))[0]) for at, value in number.points.items()},
    )


def _inner(a: Rational | None, b: Rational | None, choose: Callable[..., Rational]) -> Rational | None:
    given = [end for end in (a, b) if end is not None]
    return choose(given) if given else None
