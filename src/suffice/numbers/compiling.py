"""Functions that run compiled on 64-bit integers, where numba is installed, and as they stand on any integers.

numba keeps machine code on disk, and takes it for good as long as the file of the function has not changed. But such
code holds that of all functions it calls, and the constants that it reads, wherever they are written. So a function
bears a `key` of all that it is made of in its name, by which numba finds it: code is used again only for the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from hashlib import sha256
from importlib.util import find_spec
from types import CodeType, FunctionType
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

    def __init__(self, function: Any, is_inlined: bool = False) -> None:
        self.py_func, self.is_inlined = function, is_inlined
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
        copy = _with_names(self.py_func, names)
        copy.__qualname__ += f"-{self.key[:16]}"
        options = {"inline": "always"} if self.is_inlined else {"nogil": True, "cache": True}
        return cast(Callable[..., Any], njit(**options)(copy))

    @cached_property
    def key(self) -> str:
        """A hash of the function, of all that it calls, and of the constants and records that they use."""
        return sha256(repr(sorted(_made_of(self, {}).items())).encode()).hexdigest()


def _made_of(one: _Compiled, found: dict[str, Any]) -> dict[str, Any]:
    """Return what a function and those that it calls are made of, by name; without places of files and lines."""
    function = one.py_func
    name = f"{function.__module__}.{function.__qualname__}"
    if name in found:
        return found
    parts = found[name] = [one.is_inlined, function.__defaults__, *_text(function.__code__)]
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in closure}}
    used = {*function.__code__.co_names, *function.__code__.co_freevars}
    for other, value in known.items():
        if isinstance(value, type) and hasattr(value, "_fields"):
            parts.append((other, value._fields))
        elif other in used and isinstance(value, _Compiled):
            _made_of(value, found)
        elif other in used and hasattr(value, "tobytes"):
            parts.append((other, str(value.dtype), value.shape, value.tobytes()))
        elif other in used and isinstance(value, int | float | str | bytes | tuple | None):
            parts.append((other, value))
    return found


def _text(code: CodeType) -> list[Any]:
    """Return what a function does, without where it is written."""
    constants = [_text(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return [code.co_code, constants, code.co_names, code.co_varnames]


def compiled(function: Function) -> Function:
    """Have a function compiled at its first call; it then runs beside other threads."""
    return cast(Function, _Compiled(function))


def inlined(function: Function) -> Function:
    """Put a function's body where it is called: a call counts references to every array, which takes longer."""
    return cast(Function, _Compiled(function, is_inlined=True))


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
