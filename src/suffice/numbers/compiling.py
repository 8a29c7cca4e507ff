"""Functions that run compiled on 64-bit integers, where numba is installed, and as they stand on any integers.

numba is imported at the first call of such a function, not before: most questions need none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_MADE: list[_Compiled] = []


class _Compiled:
    """A function that is compiled at its first call, or taken from the cache on disk; it runs beside other threads."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.ready: Callable[..., Any] | None = None
        update_wrapper(self, function)
        _MADE.append(self)

    def __call__(self, *given: Any) -> Any:
        if self.ready is None:
            _prepare()
        assert self.ready is not None
        return self.ready(*given)


def _prepare() -> None:
    """Make every function that was asked for ready, and known to the others by its name."""
    try:
        from numba import njit
    except ImportError:  # pragma: no cover - numba is installed wherever tests run
        ready: Callable[..., Any] = lambda function: function  # noqa: E731
    else:
        ready = njit(nogil=True, cache=True)
    for one in _MADE:
        one.ready = one.ready or ready(one.py_func)
    for one in _MADE:  # compiled functions can call compiled ones only
        names = cast(FunctionType, one.py_func).__globals__
        names.update({name: value.ready for name, value in names.items() if isinstance(value, _Compiled)})


def compiled(function: Function) -> Function:
    """Compile a function at its first call, or take it from the cache on disk; it runs beside other threads."""
    return cast(Function, _Compiled(function))


def as_python(function: Function, *helpers: Callable[..., Any]) -> Function:
    """Return a compiled function as plain Python: the same text, with plain helpers in place of compiled ones."""
    each: list[Any] = [getattr(one, "py_func", one) for one in (*helpers, function)]
    names = dict(each[-1].__globals__)
    for plain in each:
        names[plain.__name__] = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
    return cast(Function, names[each[-1].__name__])
