"""Proofs by messages: what features that act together can do at most, as a certificate writes it.

In: a joint constraint, which features move, what must follow. Out: nodes in preorder, each leaf with messages of few
digits; or a refusal. Sweeps in whole units propose messages; exact fractions decide whether a leaf closes, by the
checker's own rule. Messages are rounded up, so that no two labels do more together than their messages say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from flint import fmpq

from suffice.certificate.witnesses import Ordered, total
from suffice.core.graph import graph
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.labelling import sweep
from suffice.core.tangents import CurvedLadder
from suffice.errors import CertificateError
from suffice.numbers.compiling import as_python
from suffice.numbers.exact import ZERO, Rational
from suffice.question.documents import Json

_MOST_NODES = 127
_MOST_ROUNDS = 60
_MOST_EXACT = 200_000  # entries of tables that are worked out in exact fractions
_ROOM = 20  # bits by which exact numbers may be halved

# Given what falls may add up to, the largest fall of each feature that moves, and which features are changed in any
# case: what a leaf says beside its messages, or None if it does not close.
Close: TypeAlias = Callable[[Ordered, Mapping[int, Ordered], Collection[int]], "list[Json] | None"]
Start: TypeAlias = "tuple[Rational, int] | None"  # an ordered number from which on a group begins; None: from nowhere

plain_sweep = as_python(sweep)


class Groups:
    """How the labels of a feature are told apart in a certificate: the row, groups of numbers, each label."""

    def __init__(self, ground: Ground, i: int, count: int) -> None:
        region, ladder = ground.region[i], ground.landscape.ladders[i]
        labels = [*region.categories_, *region.codes_]
        place = {label: k for k, label in enumerate(labels)}
        starts: dict[int, Start] = {}
        listed: dict[int, int] = {}
        for a in range(1, count):
            spot = ground.spot(i, a)
            at = spot.infimum.at
            if at in place and spot.within is None and not spot.infimum.side:
                listed[a] = place[at]
            elif ladder.varies[spot.cell]:
                assert isinstance(at, fmpq)
                is_corner = not spot.infimum.side and spot.infimum.value != ladder.function(at)
                starts[a] = at, -1 if is_corner else spot.infimum.side
            else:
                cell = ladder.axis.interval(spot.cell)
                starts[a] = None if cell.low is None else (cell.low, 0 if cell.has_low else 1)
        self.starts: list[Start] = [*([None] if None in starts.values() else [])]
        self.starts += sorted({start for start in starts.values() if start is not None})
        order = {start: k for k, start in enumerate(self.starts)}
        self.touching = frozenset((at, 0) for at in ladder.places) if isinstance(ladder, CurvedLadder) else frozenset()
        self.spans, self.has_numbers = region.spans, bool(region.spans)
        self.numbers = max(len(self.starts), 1) if self.has_numbers else 0
        self.count = 1 + self.numbers + len(labels)
        first = 1 + self.numbers
        self.of = [0] + [1 + order[starts[a]] if a in starts else first + listed[a] for a in range(1, count)]
        self.label_in = [0] * self.count  # of each group one label; where there is none, the row's own value
        for a, group in enumerate(self.of):
            self.label_in[group] = a


class Step(NamedTuple):
    """A node: a split by groups of a feature, or a leaf with messages for each group."""

    split: tuple[int, frozenset[int]] | None
    unit: Rational = ZERO
    edges: Mapping[tuple[int, int], tuple[list[int], list[int]]] = {}
    tree: Sequence[Json] = ()


class Proof(NamedTuple):
    """Nodes in preorder, with the groups that they speak of."""

    steps: list[Step]
    groups: Mapping[int, Groups]


class _State(NamedTuple):
    """Labels that are left at a node, and the messages so far."""

    alive: Any
    own: Any
    message: Any


class Sender:
    """Searches for messages that show what some features can do together.

    Parameters
    ----------
    constraint : Joint
    moving : collection of int
        The features that may change.
    close : callable
        Whether a leaf shows what is wanted.
    """

    def __init__(self, constraint: Joint, moving: Collection[int], close: Close) -> None:
        self.constraint, self.close, self.moving = constraint, close, sorted(moving)
        self.ground = constraint.ground.whole()
        first = self.ground.graph.first
        self.first = [int(one) for one in first]
        self.groups = {i: Groups(self.ground, i, self.first[i + 1] - self.first[i]) for i in self.moving}
        some = set(self.moving)
        ends = [pair for pair, _ in self.ground.landscape.pairs]
        self.edges = [e for e, (i, j) in enumerate(ends) if i in some and j in some]
        self.ends = ends
        self.falls = {i: [self._fall(i, a) for a in range(self._size(i))] for i in self.moving}

    def _size(self, i: int) -> int:
        return self.first[i + 1] - self.first[i]

    def _fall(self, i: int, label: int) -> Ordered:
        drop = self.ground.own_fall(i, label)
        return drop.value, fmpq(drop.edge)

    def prove(self) -> Proof:
        """Return a proof.

        Raises
        ------
        CertificateError
            If messages do not show it in a small tree.
        """
        if not self.ground.infinite.isdisjoint(self.moving):
            raise CertificateError("a feature that lowers the score without bound is no part of a proof by messages")
        steps = self._search(False)
        if steps is None and sum(self._size(self.ends[e][0]) * self._size(self.ends[e][1]) for e in self.edges) <= (
            _MOST_EXACT
        ):
            steps = self._search(True)
        if steps is None:
            raise CertificateError(
                f"messages between features do not show in {_MOST_NODES} steps what free features can do together at "
                "most; ask about a smaller radius"
            )
        return Proof(steps, self.groups)

    # --- the search ---------------------------------------------------------------------------------------------------

    def _search(self, is_exact: bool) -> list[Step] | None:
        """Return nodes in preorder; None if they are too many, or whole numbers too large."""
        ground = self.ground
        if is_exact:
            self._take_exact()
        else:
            units = ground.graph
            self.graph = units._replace(own=units.own - ground.weights() if ground.is_exact else units.own)
            self.run, self.unit = sweep, fmpq(2) ** -ground.landscape.bits
            self.bump, self.limit = 0 if ground.is_exact else 2, ground.landscape.limit
        alive = np.ones(len(self.graph.own), dtype=np.bool_)
        message = np.zeros(int(self.graph.slot[-1]), dtype=self.graph.own.dtype)
        stack, steps = [_State(alive, self.graph.own.copy(), message)], list[Step]()
        while stack:
            state = stack.pop()
            leaf, is_closed = self._leaf(state)
            if leaf is not None:
                steps.append(leaf)
            elif is_closed or len(steps) + len(stack) >= _MOST_NODES:
                return None
            else:
                split = self._split(state)
                if split is None:
                    return None
                i, group = split
                steps.append(Step((i, frozenset([group]))))
                chosen = np.zeros_like(alive)
                for a, one in enumerate(self.groups[i].of):
                    chosen[self.first[i] + a] = one == group
                inside = state.alive.copy()
                inside[self.first[i] : self.first[i + 1]] &= chosen[self.first[i] : self.first[i + 1]]
                outside = state.alive & ~chosen
                stack.append(_State(outside, state.own.copy(), state.message.copy()))
                stack.append(_State(inside, state.own, state.message))
        return steps

    def _take_exact(self) -> None:
        """Take exact whole numbers over a common denominator in place of rounded ones."""
        ground, old = self.ground, self.ground.graph
        tables = {
            e: [
                ground.product(e, a, b)
                for a in range(self._size(self.ends[e][0]))
                for b in range(self._size(self.ends[e][1]))
            ]
            for e in self.edges
        }
        values = [value for falls in self.falls.values() for value, _ in falls]
        below = math.lcm(*(int(one.q) for one in values), *(int(one.q) for table in tables.values() for one in table))
        scale = below << _ROOM
        own = np.zeros(self.first[-1], dtype=object)
        for i, falls in self.falls.items():
            own[self.first[i] : self.first[i + 1]] = [int((value * scale).p) for value, _ in falls]
        both: list[int] = []
        for e, (i, j) in enumerate(self.ends):
            both += (
                [int((one * scale).p) for one in tables[e]] if e in tables else [0] * (self._size(i) * self._size(j))
            )
        self.graph = graph(old.first, own, old.moves, self.ends, np.array(both, dtype=object))
        self.run, self.unit, self.bump, self.limit = plain_sweep, fmpq(1, scale), 0, scale << 4096

    def _leaf(self, state: _State) -> tuple[Step | None, bool]:
        """Return a leaf, after some sweeps; else None, and whether nothing can be done about it."""
        widest = max([1, *(self._size(i) for i in self.moving)])
        kind = self.graph.own.dtype
        left, right, rest = np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest, kind)
        edges, before = np.array(self.edges, dtype=np.int64), None
        if not all(state.alive[self.first[i] : self.first[i + 1]].any() for i in self.moving):
            return Step(None, fmpq(1)), False  # no label is left: nothing to show
        for k in range(_MOST_ROUNDS if self.edges else 1):
            for is_forward in (True, False) if self.edges else ():
                given = state.own, state.message, state.alive, left, right, rest, self.limit
                if self.run(self.graph, edges, is_forward, *given) < 0:
                    return None, True
            found = self._closing(state)
            if found is not None:
                return found, False
            bound = sum(
                int(state.own[self.first[i] : self.first[i + 1]][state.alive[self.first[i] : self.first[i + 1]]].max())
                for i in self.moving
            )
            if before is not None and k > 3 and before - bound <= (abs(before) >> 30):
                break
            before = bound
        return None, False

    def _split(self, state: _State) -> tuple[int, int] | None:
        """Return a feature and a group of its labels to look at apart: those where the best has the smallest lead."""
        best: tuple[int, int, int] | None = None
        for i in self.moving:
            tops: dict[int, int] = {}
            for a, group in enumerate(self.groups[i].of):
                at = self.first[i] + a
                if state.alive[at]:
                    tops[group] = max(int(state.own[at]), tops.get(group, int(state.own[at])))
            if len(tops) > 1:
                order = sorted(tops, key=lambda group: (-tops[group], group))
                lead = tops[order[0]] - tops[order[1]]
                if best is None or lead < best[0]:
                    best = lead, i, order[0]
        return None if best is None else best[1:]

    # --- leaves -------------------------------------------------------------------------------------------------------

    def _closing(self, state: _State) -> Step | None:
        """Return a leaf with messages of few bits that closes, if exact ones do."""
        fine = self._try(state, 0)
        if fine is None:
            return None
        longest = max((abs(int(one)) for one in state.message), default=0).bit_length()
        for shift in range(longest, 0, -2):
            found = self._try(state, shift)
            if found is not None:
                return found
        return fine

    def _try(self, state: _State, shift: int) -> Step | None:
        """Return a leaf with messages in units of so many bits less, if it closes."""
        sent: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        received = {i: [0] * self._size(i) for i in self.moving}
        for e in self.edges:
            at = int(self.graph.slot[e])
            both = []
            for i in self.ends[e]:
                size = self._size(i)
                bump = self.bump if i == self.ends[e][0] else 0
                whole = [
                    -(-(int(one) + bump) >> shift) if is_left else 0
                    for one, is_left in zip(
                        state.message[at : at + size], state.alive[self.first[i] : self.first[i + 1]], strict=True
                    )
                ]
                received[i] = [a + b for a, b in zip(received[i], whole, strict=True)]
                both.append([whole[a] for a in self.groups[i].label_in])
                at += size
            sent[self.ends[e]] = both[0], both[1]
        unit = self.unit * 2**shift
        margin: Ordered = (self.constraint.margin, fmpq(-1 if self.constraint.is_strict else 0))
        drops, forced = {}, list[int]()
        for i in self.moving:
            is_left = state.alive[self.first[i] : self.first[i + 1]]
            each = [
                (fall[0] + unit * got, fall[1]) if left else None
                for fall, got, left in zip(self.falls[i], received[i], is_left, strict=True)
            ]
            top = max(one for one in each if one is not None)
            stay = each[0]
            if stay is None:
                forced.append(i)
                stay = top
            drops[i] = total([top, (-stay[0], -stay[1])])
            margin = margin[0] - stay[0], margin[1] - stay[1]
        tree = self.close(margin, drops, forced)
        return None if tree is None else Step(None, unit, sent, tree)


def fits(most: int | None, always: Collection[int] = ()) -> Close:
    """Return what closes a proof that features leave a claim true, if at most so many of them change at once.

    Those that always move do not count.
    """

    def close(margin: Ordered, drops: Mapping[int, Ordered], forced: Collection[int]) -> list[Json] | None:
        left = None if most is None else most - len(set(forced).difference(always))
        if left is not None and left < 0:
            return []
        counted = sorted((drop for i, drop in drops.items() if i not in always), reverse=True)[:left]
        return [] if total([*counted, *(drop for i, drop in drops.items() if i in always)]) <= margin else None

    return close
