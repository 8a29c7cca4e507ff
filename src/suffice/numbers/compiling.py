"""Functions that run compiled on 64-bit integers, where numba is installed, and as they stand on any integers."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from numba import njit

    def compiled(function: Function) -> Function:
        """Compile a function at its first call, or take it from the cache on disk; it runs beside other threads."""
        return cast(Function, njit(nogil=True, cache=True)(function))

except ImportError:  # pragma: no cover - numba is installed wherever tests run

    def compiled(function: Function) -> Function:
        """Return the function as it is."""
        return function


def as_python(function: Function, *helpers: Callable[..., Any]) -> Function:
    """Return a compiled function as plain Python: the same text, with plain helpers in place of compiled ones."""
    each: list[Any] = [getattr(one, "py_func", one) for one in (*helpers, function)]
    names = dict(each[-1].__globals__)
    for plain in each:
        names[plain.__name__] = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
    return cast(Function, names[each[-1].__name__])
