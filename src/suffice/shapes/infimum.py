"""The greatest lower bound of a function over a region, where it lies, and finding it fast.

A function with jumps need not attain its infimum: `t -> -t` for `t < 1` with value 0 at 1 comes as close to
-1 as one likes and never gets there. A strict claim holds in that case where it would fail if -1 were
attained, so the difference is part of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.values import Value


class Infimum(NamedTuple):
    """Greatest lower bound, and the place where it is attained or approached.

    The first three fields, in this order, say which of two candidates is lower: unbounded before bounded, then by
    value, then attained before approached.
    """

    is_bounded: bool
    value: Rational  # 0 where unbounded
    is_approached: bool  # never attained: the values come as close as one likes
    at: Value  # the point; with a side, the end of an open piece
    side: int  # 0: at the point itself; -1 or 1: on the piece to its left or right

    @classmethod
    def attained(cls, value: Rational, at: Value) -> Infimum:
        """Return a value that is taken at a point."""
        return cls(True, value, False, at, 0)

    @classmethod
    def limit(cls, value: Rational, at: Rational, side: int, slope: Rational) -> Infimum:
        """Return the limit of the affine piece on one side of a point; a constant piece attains it."""
        return cls(True, value, slope != 0, at, side)

    @classmethod
    def unbounded(cls, side: int) -> Infimum:
        """Return the infimum of a function that falls for ever towards one side."""
        return cls(False, ZERO, True, ZERO, side)

    @property
    def rank(self) -> tuple[bool, Rational, bool]:
        """What is compared: smaller is lower."""
        return self[:3]


class RangeMinimum:
    """The lowest of `candidates[first:last]`, leftmost if several are, in constant time.

    Each candidate gets its place in the order of all, found once by exact comparison; the smallest
    place in a range comes from two overlapping windows whose length is a power of two.
    """

    def __init__(self, candidates: Sequence[Infimum]) -> None:
        self.candidates = candidates
        self.floats = [nearest_float(one.value) for one in candidates]
        # Rounding is monotone, so the float decides where it can; exact comparison decides where floats are equal.
        if len(set(self.floats)) == len(candidates):
            self._order: list[int] = np.argsort(self.floats).tolist()
        else:
            self._order = sorted(range(len(candidates)), key=lambda k: (self.floats[k], candidates[k].rank))

    @cached_property
    def _windows(self) -> list[np.ndarray]:
        places = np.empty(len(self._order), dtype=np.int64)
        places[self._order] = np.arange(len(self._order))
        windows = [places]
        while 2 ** len(windows) <= len(places):
            width = 2 ** (len(windows) - 1)
            windows.append(np.minimum(windows[-1][:-width], windows[-1][width:]))
        return windows

    def best(self, first: int, last: int) -> Infimum:
        """Return the lowest of `candidates[first:last]`, a range that is not empty."""
        level = (last - first).bit_length() - 1
        window = self._windows[level]
        place = min(int(window[first]), int(window[last - 2**level]))
        return self.candidates[self._order[place]]
