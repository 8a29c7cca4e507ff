"""The third kind of compiled function: smooth, known between rationals.

In: chains of stages. Out: values, and infima over intervals with ends, each enclosed as closely as one likes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import NoReturn

from flint import fmpq, fmpq_poly

from suffice.errors import ModelError
from suffice.numbers.enclosure import Enclosure, of_ball, working
from suffice.numbers.exact import ONE, ZERO, Rational, brief
from suffice.numbers.values import Label, Value
from suffice.shapes.chains import Chain, Chains
from suffice.shapes.curves import MOST_DEGREE, Curves, curved_form, tidy
from suffice.shapes.function import Function, Lowest
from suffice.shapes.infimum import Infimum
from suffice.shapes.monotone import GUARD_BITS, Lowpoint, Monotone

_MOST_KEPT = 4_096  # values at places
_FARTHEST = fmpq(*math.ldexp(1.0, 1023).as_integer_ratio())
_FURTHER = fmpq(2**200)  # how many times further out an input is looked for along a line that falls


class _Unknown(Enum):
    VALUE = "not computed yet"


@dataclass(frozen=True, eq=False)
class Enclosed(Function):
    """A sum of chains of stages.

    Parameters
    ----------
    chains : Chains
    feature : str
        Whose function it is, for messages.

    Examples
    --------
    >>> from suffice import Smooth
    >>> curve, = (Smooth("exp") - 2 * Smooth("tanh")).compile()
    >>> found = curve.lowpoint(fmpq(-1), fmpq(1), bits=64)
    >>> round(float(found.at), 6), round(float(found.high), 6), found.high - found.low < fmpq(1, 2**60)
    (0.475281, 0.723553, True)
    """

    chains: Chains
    feature: str = "x"
    knots: tuple[Rational, ...] = ()  # what a function of other kinds has
    values: tuple[Rational, ...] = ()
    labels: Mapping[Label, Rational] = field(default_factory=dict)
    _kept: dict[tuple[Hashable, int, int], Enclosure | None] = field(default_factory=dict, repr=False)

    is_exact = False

    @property
    def count(self) -> None:
        """How many pieces there are is not known."""

    def __call__(self, at: Value) -> Rational:
        """Return the exact value at a label that was given one, or of polynomials; of others only `value` tells."""
        if isinstance(at, fmpq):
            return sum((chain.factor * chain.exact(at) for chain in self.chains.each), ZERO)
        return sum((chain.factor * chain.labels[at] for chain in self.chains.each), ZERO)

    def value(self, at: Value, bits: int) -> Enclosure:
        """Return the value at a number or a label, enclosed."""
        found = self._value(at, bits, 0)
        if found is None:
            self._has_none(brief(at))
        return found

    def limit(self, at: Rational, bits: int, side: int) -> Enclosure:
        """Return the limit at a number from one side (-1 or 1), enclosed."""
        found = self._value(at, bits, 0 if self.chains.is_continuous(at) else side)
        if found is None:
            self._has_none(brief(at))
        return found

    def _value(self, at: Value, bits: int, side: int) -> Enclosure | None:
        # A rational takes six times as long to hash as the two integers that it is made of.
        key = (int(at.p), int(at.q)) if isinstance(at, fmpq) else at, bits, side
        found = self._kept.get(key, _Unknown.VALUE)
        if isinstance(found, _Unknown):
            with working(bits + GUARD_BITS):
                found = of_ball(self.chains.value(at, side))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def has_value(self, at: Value) -> bool:
        """Whether the function is known to have a value at a place."""
        return self._value(at, 64, 0) is not None

    @cached_property
    def monotone(self) -> Monotone:
        """The function, cell by cell."""
        return Monotone(self.chains, self._value)

    def lowpoint(
        self, low: Rational | None, high: Rational | None, bits: int, *, is_integers: bool = False
    ) -> Lowpoint:
        """Return the infimum over a closed interval with ends, or over its integers, enclosed to about `2^-bits`."""
        if low is None or high is None:
            return self._beyond(low, high, bits, is_integers)
        if is_integers:
            low, high = fmpq(low.ceil()), fmpq(high.floor())
        if low == high:
            return Lowpoint.of(self.value(low, bits), low)
        find = self.monotone.lowest_integer if is_integers else self.monotone.lowpoint
        found = find(low, high, bits)
        if found is None or not self.monotone.has_values(low, high, bits):
            self._has_none(f"some numbers from {brief(low)} to {brief(high)}")
        return found

    def _beyond(self, low: Rational | None, high: Rational | None, bits: int, is_integers: bool) -> Lowpoint:
        """Return the infimum over an interval without an end, of a function whose way out is known."""
        ends, is_unbounded, beyond = [low, high], False, list[Lowpoint]()
        for k, side in enumerate((-1, 1)):
            if ends[k] is None:
                start, way = self.chains.tail(side)
                if way is None:
                    start, lowest = self._far(
                        side, max([ONE, *(abs(one) for one in (low, high) if one is not None)]), bits
                    )
                    ends[k] = start
                    beyond.append(lowest)
                    continue
                # One that never falls on the way out is lowest where that begins; of one that does, as far as floats go
                # is as far as an input is looked for, and nothing is known from below.
                is_unbounded |= way < 0
                ends[k] = (
                    side * _FARTHEST
                    if way < 0
                    else side * (max(side * one for one in (start, low, high) if one is not None) + 1)
                )
        found = self.lowpoint(ends[0], ends[1], bits, is_integers=is_integers)
        for one in beyond:
            found = found.or_lower(one)
        return found._replace(low=None) if is_unbounded else found

    def _far(self, side: int, beyond: Rational, bits: int) -> tuple[Rational, Lowpoint]:
        """Return a number from which on outwards the function is known to be near a line, and how low it gets there."""
        with working(bits + GUARD_BITS):
            known = self.chains.far(side, beyond, bits)
            offset = None if known is None else of_ball(known[1].offset)
        if known is None or offset is None:
            self._refuse()
        start, (slope, _) = known
        if slope * side < 0:
            at = start * _FURTHER
            return start, Lowpoint(None, slope * at + offset.high, at)
        return start, Lowpoint(slope * start + offset.low, slope * start + offset.high, start)

    def _has_none(self, where: str) -> NoReturn:
        raise ModelError(
            f"the shape of {self.feature!r} has no value at {where}, or one too large to write down; give the feature "
            "a domain where it has values, such as Domain.interval(low, high)"
        )

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"the shape of {self.feature!r} is smooth and its domain has no end, so that it would have to be known "
            "arbitrarily far away; give the feature a domain, such as Domain.interval(low, high), or ask with a radius"
        )

    # --- as other functions are ---------------------------------------------------------------------------------------

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Refuse: an infimum is known as an enclosure only; see `lowpoint`."""
        raise NotImplementedError

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return the place of an infimum that is known, where the function is at most `target`."""
        assert isinstance(infimum.at, fmpq)
        return infimum.at

    @property
    def on_integers(self) -> Lowest:
        """The function itself: what is asked over integers is asked of `lowpoint`."""
        return self

    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Return a side on which the function may fall without end, of those that are asked about; 0 if on none."""
        for is_asked, side in ((to_right, 1), (to_left, -1)):
            way = self.chains.tail(side)[1] if is_asked else 0
            if way is None:
                way = -1 if self._far(side, ONE, 64)[1].low is None else 1
            if way < 0:
                return side
        return 0

    def rescaled(self, center: Rational, scale: Rational) -> Enclosed:
        """Return `x -> self((x - center) / scale)` for a scale other than 0; labels keep their values."""
        return replace(self, chains=Chains(one.rescaled(center, scale) for one in self.chains.each), _kept={})

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Enclosed:
        """Return the function with other values at some numbers and labels."""
        return replace(self, chains=self.chains.overwritten(points, labels), _kept={})

    def with_labels(self, labels: Mapping[Label, Rational]) -> Enclosed:
        """Return the function with these labels in place of its own."""
        plain = Chains(replace(one, labels={}) for one in self.chains.each)
        return replace(self, chains=plain.overwritten({}, labels), _kept={})


def piecewise(
    knots: Sequence[Rational],
    polynomials: Sequence[fmpq_poly],
    values: Sequence[Rational],
    feature: str = "x",
) -> Function:
    """Return polynomials between knots as a function: exact up to degree 3, else enclosed."""
    if max(one.degree() for one in polynomials) <= MOST_DEGREE:
        return tidy(knots, polynomials, values)
    # Where the slope is 0 is no root of a quadratic: values are exact, but minima are only enclosed.
    first = Curves(tuple(knots), tuple(polynomials), tuple(values))
    return Enclosed(Chains([Chain(ONE, ZERO, ONE, first, ())]), feature)


def chains_of(function: Function) -> tuple[Chain, ...]:
    """Return a compiled function as chains."""
    if isinstance(function, Enclosed):
        return function.chains.each
    return (Chain(ONE, ZERO, ONE, curved_form(function), ()),)


def summed(parts: Iterable[tuple[Rational, Function]]) -> Enclosed | None:
    """Return a linear combination of functions of all kinds; None where every factor is 0."""
    used = [(factor, part) for factor, part in parts if factor]
    if not used:
        return None
    names = [part.feature for _, part in used if isinstance(part, Enclosed)]
    chains = [replace(one, factor=factor * one.factor) for factor, part in used for one in chains_of(part)]
    return Enclosed(Chains(chains), names[0] if names else "x")
