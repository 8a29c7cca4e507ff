"""The numbers of a feature in order, as far as they matter: between two neighbours every function of it is affine.

In: the domain of a feature, and the places where functions of it may bend or jump. Out: *stations* in ascending order:
numbers of the domain, and limits on either side of a place. A function never falls along the domain if and only if it
does not fall from any station to the next. A limit of a function that is affine beside a place is a combination of two
values there, so that a station is a few weighted numbers: what is true of a function is then true of a sum of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

from flint import fmpq

from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, Rational


class Station(NamedTuple):
    """A number of a domain (side 0), or the limit at it from below (-1) or above (1)."""

    place: Rational
    side: int
    beyond: Rational  # the neighbour towards that side; the place itself for a number
    is_far: bool = False  # whether it stands for all numbers further out, where a function is affine for ever

    @property
    def weights(self) -> tuple[tuple[Rational, Rational], ...]:
        """Weights and numbers of which the station is the sum."""
        if not self.side:
            return ((ONE, self.place),)
        step = (self.beyond - self.place) / 3
        return (ONE + 1, self.place + step), (-ONE, self.place + 2 * step)

    def near(self, share: Rational) -> Rational:
        """Return a number of the domain that is close to a limit: a share of the way to the neighbour."""
        return self.place + (self.beyond - self.place) * share


def stations(domain: Domain, bends: Collection[Rational]) -> list[Station]:
    """Return the stations of the numbers of a domain, in ascending order."""
    marks = sorted(set(bends))
    found = {one for span in domain.spans for one in (_integers if span.is_integers else _reals)(span, marks)}
    return sorted(found)


def _reals(span: Span, marks: list[Rational]) -> Iterator[Station]:
    inside = [at for at in marks if (span.low is None or at > span.low) and (span.high is None or at < span.high)]
    places = [*([] if span.low is None else [span.low]), *inside, *([] if span.high is None else [span.high])]
    places = sorted(set(places)) or [ONE * 0]
    # Beyond the last bend a function is affine for ever: one more number shows whether it falls.
    places = [*([places[0] - 1] if span.low is None else []), *places, *([places[-1] + 1] if span.high is None else [])]
    far = {*([places[0]] if span.low is None else []), *([places[-1]] if span.high is None else [])}
    for at in places:
        yield Station(at, 0, at, at in far)
    for low, high in pairwise(places):
        yield from (Station(low, 1, high, low in far), Station(high, -1, low, high in far))


def _integers(span: Span, marks: list[Rational]) -> Iterator[Station]:
    # Only at the integers next to a bend, or to an end, can an affine stretch end; one more shows where it leads.
    ends = [end for end in (span.low, span.high) if end is not None]
    near = {fmpq(n + k) for at in [*marks, *ends] or [ONE * 0] for n in (at.floor(), at.ceil()) for k in (-1, 0, 1)}
    low, high = min(near) - 1, max(near) + 1
    far = {*([low] if span.low is None else []), *([high] if span.high is None else [])}
    for at in near | far:
        if span.holds(at):
            yield Station(at, 0, at, at in far)
