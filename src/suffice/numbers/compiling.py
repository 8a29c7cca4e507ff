"""Functions that run compiled on 64-bit integers, where numba is installed, and as they stand on any integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def has_compiler() -> bool:
    """Whether functions can be compiled."""
    return find_spec("numba") is not None


class _Compiled:
    """A function that is compiled, or taken from the cache on disk, when it is first called.

    numba takes longer to import than all of this library, and many programs never call such a function.
    """

    def __init__(self, function: Any) -> None:
        self.py_func = function
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__

    def __call__(self, *args: Any) -> Any:
        return self.ready(*args)

    @cached_property
    def ready(self) -> Callable[..., Any]:
        """The function as numba has it, with those that it calls."""
        try:
            from numba import njit
        except ImportError:  # pragma: no cover - numba is installed wherever tests run
            return cast(Callable[..., Any], self.py_func)
        names = dict(self.py_func.__globals__)
        for name in self.py_func.__code__.co_names:
            if isinstance(names.get(name), _Compiled):
                names[name] = names[name].ready
        return cast(Callable[..., Any], njit(nogil=True, cache=True)(_with_names(self.py_func, names)))


def compiled(function: Function) -> Function:
    """Have a function compiled at its first call; it then runs beside other threads."""
    return cast(Function, _Compiled(function))


def as_python(function: Function, *helpers: Callable[..., Any]) -> Function:
    """Return a compiled function as plain Python: the same text, with plain helpers in place of compiled ones."""
    each: list[Any] = [getattr(one, "py_func", one) for one in (*helpers, function)]
    names = dict(each[-1].__globals__)
    for plain in each:
        names[plain.__name__] = _with_names(plain, names)
    return cast(Function, names[each[-1].__name__])


def _with_names(function: Any, names: dict[str, Any]) -> Any:
    """Return a function that finds its global names elsewhere."""
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return copy
