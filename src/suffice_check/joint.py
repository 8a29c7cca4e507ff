"""Features that act together, in a model with terms over two features: falls at places, and bounds by messages.

What a feature's *label* stands for: the row's own value; a label of the region; a cell of numbers between cuts of its
pair terms, along which these are constant, so that only the feature's own part matters there; or, where a pair term
varies, one of the places at which a function that is affine between knots is lowest. Whatever an input does, some
choice of labels falls at least as far. Messages then move parts of what two features do together to each of them:
any messages give a bound, which adds up over features like the falls of a model without such terms.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm
from operator import sub
from typing import Any, NamedTuple

from suffice_check.core import Around, Case, places
from suffice_check.domain import Domain, Span
from suffice_check.ordered import ZERO, Number, total
from suffice_check.pairs import PairTerm
from suffice_check.reading import RejectedError, Value, fields, items, number, only_field, whole
from suffice_check.tree import Node, read_tree

Edge = tuple[int, int]  # two features, the smaller first
Bins = list[list[Number]]  # for each feature numbers that part its labels into groups


class Label(NamedTuple):
    """Where a feature may be, as far as its pair terms tell."""

    at: Value
    group: int  # of labels that get the same messages
    fall: Number | None  # how far the inequality falls by the feature's own part at most; None: without bound


class Step(NamedTuple):
    """A node of a proof by messages: "split" by the groups of a feature, or a leaf of "messages"."""

    kind: str
    feature: int = 0
    groups: frozenset[int] = frozenset()
    unit: Fraction = Fraction(0)
    edges: dict[Edge, tuple[list[int], list[int]]] = {}  # noqa: RUF012
    tree: list[Node] = []  # noqa: RUF012


def read_steps(document: Any) -> list[Step]:
    """Return the nodes of a proof by messages."""
    return [_read_step(node) for node in items(document)]


def _read_step(document: Any) -> Step:
    kind, content = only_field(document)
    if kind == "split":
        feature, groups = items(content)
        return Step(kind, whole(feature, 10**6), frozenset(whole(group, 10**6) for group in items(groups)))
    if kind != "messages":
        raise ValueError(f"{kind!r} is not a kind of node")
    unit, edges, tree = fields(content, "unit", "edges", "tree")
    found: dict[Edge, tuple[list[int], list[int]]] = {}
    for i, j, first, second in map(items, items(edges)):
        edge = whole(i, 10**6), whole(j, 10**6)
        if edge in found or any(type(one) is not int for one in (*items(first), *items(second))):
            raise ValueError("messages are whole numbers, and two features have them once")
        found[edge] = first, second
    return Step(kind, unit=number(unit), edges=found, tree=read_tree(tree))


class Joint(Around):
    """The row and its region, in a model with terms over two features."""

    def __init__(self, case: Case, region: Sequence[Domain]) -> None:
        super().__init__(case, region)
        self.near: list[list[tuple[PairTerm, int]]] = [[] for _ in self.row]  # for each feature its terms, and its side
        self.terms: dict[Edge, list[PairTerm]] = {}
        for term in case.model.pairs:
            i, j = term.features
            self.terms.setdefault((min(i, j), max(i, j)), []).append(term)
            self.near[i].append((term, 0))
            self.near[j].append((term, 1))

    def varies(self, i: int, at: Value) -> bool:
        """Whether a pair term may not be constant along a feature in the cell of a place."""
        return any(term.shape.varies(side, at) for term, side in self.near[i])

    def part_fall(self, c: int, i: int, at: Value) -> Number:
        """Return how far an inequality falls by a feature's own part; just below that if pair terms only come close."""
        fall = self.parts[i].fall(c, at)
        return Number(fall.value, -1) if isinstance(at, Number) and at.edge and self.varies(i, at) else fall

    def anchored(self, c: int, edge: Edge, firsts: Sequence[Value], seconds: Sequence[Value]) -> Anchored:
        """Return what two features do to an inequality at all places of two lists, of which the row comes first."""
        factors, grids = self.constraints[c].inequality.factors, []
        for term in self.terms[edge]:
            if term.features == edge:
                grids.append(term.shape.grid(firsts, seconds))
            else:
                turned = term.shape.grid(seconds, firsts)
                grids.append([[row[k] for row in turned] for k in range(len(firsts))])
        used = [(factor, j, grid) for grid in grids for j, factor in enumerate(factors) if factor]
        under = lcm(*{entry[j].denominator for _, j, grid in used for row in grid for entry in row})
        levels = [[0] * len(seconds) for _ in firsts]
        for factor, j, grid in used:
            for row, entries in zip(levels, grid, strict=True):
                for k, entry in enumerate(entries):
                    row[k] += factor * entry[j].numerator * (under // entry[j].denominator)
        return Anchored(under, levels)

    def fall(self, c: int, places: Sequence[Value], changed: Collection[int]) -> Number:
        """Return by how much an inequality falls if some features go to places of theirs."""
        alone, both = self.scenario(c, places, changed)
        return total([*alone.values(), Number(sum(both.values(), Fraction(0)))])

    def scenario(
        self, c: int, places: Sequence[Value], changed: Collection[int]
    ) -> tuple[dict[int, Number], dict[Edge, Fraction]]:
        """Return by how much each change lowers an inequality alone, and each two changes beyond that."""
        alone = {i: self.part_fall(c, i, places[i]) for i in changed}
        both = {}
        for i, j in self.terms:
            if i in alone or j in alone:
                lists = [[self.row[k], *([places[k]] if k in alone else [])] for k in (i, j)]
                table = self.anchored(c, (i, j), *lists)
                for k, falls in ((i, table.first), (j, table.second)):
                    if k in alone:
                        alone[k] = total([alone[k], Number(Fraction(falls[1], table.under))])
                if i in alone and j in alone:
                    both[i, j] = Fraction(table.together[1][1], table.under)
        return alone, both


class Anchored:
    """What two features do to an inequality, seen from the row, which comes first: each alone, and both beyond that.

    All are integers, over one denominator.
    """

    def __init__(self, under: int, levels: list[list[int]]) -> None:
        here, self.under = levels[0][0], under
        self.first, self.second = [here - row[0] for row in levels], [here - one for one in levels[0]]
        self.together = [
            [here - level - a - b for level, b in zip(row, self.second, strict=True)]
            for row, a in zip(levels, self.first, strict=True)
        ]


class Bounds:
    """How far some features can lower inequalities together at most, by messages."""

    def __init__(self, around: Joint, bins: Bins) -> None:
        if len(bins) != len(around.row) or any(a >= b for cuts in bins for a, b in pairwise(cuts)):
            raise RejectedError("bins", "each feature has a list of numbers in order")
        self.around, self.bins = around, bins
        self._labels: dict[Edge, list[Label]] = {}
        self._spans: dict[int, list[Span]] = {}
        self._over: dict[tuple[int, Span], list[Number | None]] = {}
        self._own: dict[Edge, list[Number]] = {}
        self._tables: dict[tuple[int, Edge], Anchored] = {}

    # --- labels -------------------------------------------------------------------------------------------------------

    def labels(self, c: int, i: int) -> list[Label]:
        """Return the labels of a feature, for an inequality: the row's own value first."""
        if (c, i) not in self._labels:
            self._labels[c, i] = list(self._each_label(c, i))
        return self._labels[c, i]

    def _each_label(self, c: int, i: int) -> Iterator[Label]:
        around, part, region, cuts = self.around, self.around.parts[i], self.around.region[i], self.bins[i]
        yield Label(around.row[i], 0, ZERO)
        if i not in self._spans:
            self._spans[i] = [cell for span in region.spans for cell in self._cells(i, span)]
        for cell in self._spans[i]:
            at = cell.low or (Number(cell.high.value - 1) if cell.high else ZERO)
            if around.varies(i, at):
                for place, fall in self._corners(c, i, cell):
                    yield Label(place, 1 + bisect_right(cuts, place), fall)
            else:
                if (i, cell) not in self._over:  # of all inequalities at once
                    self._over[i, cell] = part.over(cell)
                yield Label(at, 1 + bisect_right(cuts, at), self._over[i, cell][c])
        first = 2 + len(cuts) if region.spans else 1
        for k, at_ in enumerate((*region.categories, *region.codes)):
            if at_ != around.row[i]:
                yield Label(at_, first + k, part.fall(c, at_))

    def groups(self, i: int) -> int:
        """Return how many groups the labels of a feature are in."""
        region = self.around.region[i]
        inner = len(self.bins[i]) + 1 if region.spans else 0
        return 1 + inner + len(region.categories) + len(region.codes)

    def _cells(self, i: int, span: Span) -> Iterator[Span]:
        """Yield the parts of a span in which the pair terms of a feature are one polynomial along it."""
        cuts = sorted({cut for term, side in self.around.near[i] for cut in term.shape.cuts(side)})
        first = 0 if span.low is None else bisect_right(cuts, span.low)
        last = len(cuts) if span.high is None else bisect_right(cuts, span.high)
        starts = [None, *cuts[first:last]]
        ends = [*(Number(t, edge - 1) for t, edge in cuts[first:last]), None]  # what is not past the next cut
        for low, high in zip(starts, ends, strict=True):
            cell = span.cut(low, high)
            if cell is not None:
                known = [end for end in (cell.low, cell.high) if end is not None]
                if len({end.value for end in known}) < len(known) and any(end.edge for end in known):
                    raise RejectedError("radius", "what is just beyond an end is not bounded")
                yield cell

    def _corners(self, c: int, i: int, cell: Span) -> list[tuple[Number, Number]]:
        """Return places of a cell, with falls, of which one is largest beside whatever is affine along the feature.

        Where the feature's own part is curved, its tangents stand for it where it bends upwards: see `Part.below`. They
        touch it at the numbers that part its labels into groups.
        """
        part = self.around.parts[i]
        if cell.low is None or cell.high is None:
            raise RejectedError("sufficiency", f"a pair term of {part.name!r} goes on for ever in its region")
        pieces = part.shape.pieces(cell.low.value, cell.high.value)
        around = (pieces.cells[2 * k : 2 * k + 3] for k in range(len(pieces.knots)))
        bent = [t for t, lines in zip(pieces.knots, around, strict=True) if lines.count(lines[0]) < 3]
        # Pieces that end before the cell, or begin after it, may be there as well: they are none of its.
        first, last = bisect_right(pieces.knots, cell.low.value), bisect_left(pieces.knots, cell.high.value)
        met = pieces.cells[2 * first : 2 * last + 1 : 2]
        is_curved = any(any(map(any, line.more)) for line in met if line is not None)
        inner = bent[bisect_right(bent, cell.low.value) : bisect_left(bent, cell.high.value)]
        between = [(a, b) for a, b in pairwise([cell.low.value, *inner, cell.high.value]) if a < b]
        # On lines, what is only approached is approached by the sum as well, or is a value in between.
        edge = 0 if is_curved else -1

        def is_taken(at: Number) -> bool:
            """Whether the limit at a place is the value at a number of the cell."""
            t, side = at.value, int(at.edge)
            return cell.holds(Number(t)) and pieces.cell(t, 0).at(t) == pieces.cell(t, side).at(t)

        listed = [at for at in places(cell, bent) if not (at.edge and is_taken(at))]
        found = [(at, Number(part.fall(c, at).value, edge if at.edge else 0)) for at in listed]
        if is_curved:
            touching = [cut.value for cut in self.bins[i] if not cut.edge]
            return [*found, *(one for ends in between for one in part.below(c, *ends, touching, cell.is_integers))]
        for left, right in between if not cell.is_integers else ():
            # A value in between stands for all, where the sum is constant and neither end has the same.
            if not (is_taken(Number(left, 1)) or is_taken(Number(right, -1))):
                middle = Number((left + right) / 2)
                found.append((middle, Number(part.fall(c, middle).value)))
        return found

    # --- what labels do -----------------------------------------------------------------------------------------------

    def own(self, c: int, i: int) -> list[Number]:
        """Return how far an inequality falls if a feature alone takes each of its labels."""
        if (c, i) not in self._own:
            around, labels = self.around, self.labels(c, i)
            falls = [label.fall for label in labels]
            known = [fall for fall in falls if fall is not None]
            if len(known) < len(falls):
                raise RejectedError("sufficiency", f"{around.parts[i].name!r} can lower the score without bound")
            sums, at = [fall.value for fall in known], [label.at for label in labels]
            for edge in (edge for edge in around.terms if i in edge):
                lists = [at if k == i else [around.row[k]] for k in edge]
                table = around.anchored(c, edge, *lists)
                falls_ = table.first if i == edge[0] else table.second
                sums = [one + Fraction(fall, table.under) for one, fall in zip(sums, falls_, strict=True)]
            self._own[c, i] = [Number(value, fall.edge) for value, fall in zip(sums, known, strict=True)]
        return self._own[c, i]

    def table(self, c: int, edge: Edge) -> Anchored:
        """Return what labels of two features do."""
        if (c, edge) not in self._tables:
            first, second = ([label.at for label in self.labels(c, i)] for i in edge)
            self._tables[c, edge] = self.around.anchored(c, edge, first, second)
        return self._tables[c, edge]

    # --- messages -----------------------------------------------------------------------------------------------------

    def check(
        self, c: int, moving: Collection[int], steps: Sequence[Step],
        close: Callable[[Number, list[Number], set[int], list[Node]], None],
    ) -> None:  # fmt: skip
        """Check a proof by messages: `close` is given each leaf as an inequality in which features act alone.

        That is: what falls may add up to, the largest fall of each feature, which features are changed in any case, and
        what the leaf says beside its messages.
        """
        stack: list[dict[int, frozenset[int]]] = [{i: frozenset(range(self.groups(i))) for i in moving}]
        for step in steps:
            if not stack:
                raise RejectedError("messages", "there are nodes after the end")
            left = stack.pop()
            if step.kind == "split":
                if step.feature not in left:
                    raise RejectedError("messages", "a feature that does not move is split")
                for groups in (left[step.feature] - step.groups, left[step.feature] & step.groups):
                    stack.append({**left, step.feature: groups})
            elif all(any(label.group in left[i] for label in self.labels(c, i)) for i in left):
                close(*self._shared(c, left, step), step.tree)
        if stack:
            raise RejectedError("messages", "a part of the proof is missing")

    def _shared(self, c: int, left: dict[int, frozenset[int]], step: Step) -> tuple[Number, list[Number], set[int]]:
        """Return an inequality in which features act alone, and which follows from messages."""
        received = {i: [0] * self.groups(i) for i in left}
        for edge, messages in step.edges.items():
            if edge not in self.around.terms or not {*edge} <= left.keys():
                raise RejectedError("messages", "there are some between features that do not act together")
            for i, sent in zip(edge, messages, strict=True):
                if len(sent) not in (0, self.groups(i)):
                    raise RejectedError("messages", "there must be one for each group of labels")
                received[i] = list(map(sum, zip(received[i], sent, strict=True))) if sent else received[i]
        spent, drops, forced = [], [ZERO] * len(self.around.row), set()
        for i, groups in left.items():
            each = [
                total([fall, Number(step.unit * received[i][label.group])])
                for fall, label in zip(self.own(c, i), self.labels(c, i), strict=True)
                if label.group in groups
            ]
            if 0 in groups:
                drops[i] = total([max(each), Number(-each[0].value)])  # the row's own value, which comes first
                spent.append(each[0])
            else:
                forced.add(i)
                spent.append(max(each))
        spent += [Number(self._most(c, edge, left, step)) for edge in self.around.terms if {*edge} <= left.keys()]
        margin = self.around.constraints[c].margin
        used = total(spent)
        return Number(margin.value - used.value, margin.edge - used.edge), drops, forced

    def _most(self, c: int, edge: Edge, left: dict[int, frozenset[int]], step: Step) -> Fraction:
        """Return the most that two labels do together beyond what they do alone, less their messages."""
        under, table = self.table(c, edge).under, self.table(c, edge).together
        scale = lcm(under, step.unit.denominator)
        factor, sent = scale // under, step.edges.get(edge, ([], []))
        each = [
            [
                (k, step.unit.numerator * (scale // step.unit.denominator) * (messages[label.group] if messages else 0))
                for k, label in enumerate(self.labels(c, i))
                if label.group in left[i]
            ]
            for i, messages in zip(edge, sent, strict=True)
        ]
        columns, taken = [k for k, _ in each[1]], [message for _, message in each[1]]
        best = max(max(map(sub, [factor * table[k][b] for b in columns], taken)) - message for k, message in each[0])
        return Fraction(best, scale)
