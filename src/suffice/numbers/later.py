"""Sequences whose items are made when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Later(Sequence[T]):
    """So many items, each made once: at the first look at it. Equal to, and sent to other processes as, a tuple.

    Parameters
    ----------
    count : int
        How many there are.
    make : callable
        Returns the item of an index. Where two threads ask at once it may be called twice, and must return equals.

    Examples
    --------
    >>> squares = Later(4, lambda i: print("made", i) or i * i)
    >>> squares[2], squares[2]
    made 2
    (4, 4)
    """

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count, self._make = count, make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._count)))
        if index not in self._made:
            index = range(self._count)[index]  # one of the last by its place from the start, as it may be made already
            if index not in self._made:
                self._made[index] = self._make(index)
        return self._made[index]

    def __iter__(self) -> Iterator[T]:
        return (self[i] for i in range(self._count))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)
