"""The compiled loop behind `charges`: what rounding can do over each row's region, looked up in cells of a grid.

In: a column of cells and a `Grid`. Out: for each row the largest of the numbers of all cells that its region meets,
twice: over cells that it may meet, and over cells that it surely meets. Infinite where that is not known.
Guaranteed: ends of regions are between two floats, which are equal where they are exact; floors, ceilings, the largest
and the smallest of such ends are monotone, so that every cell that a region meets is between those of the outer ends,
and every cell between those of the inner ends is met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.numbers.compiling import compiled, inlined

LAYERS = 7  # the largest of 1, 2, 4, ... 64 cells from each on: two of them make the largest of up to 127
FIELDS = 4  # of a cell: above, below, count, error
TINY = 2.0**-100  # more than all underflow in the end of a region, and still above 0 when it is counted in cells
ENDS_OFF = 2.0**-51  # share of |x| + radius that the end of a region is off by: x, the radius, their sum


class Grid(NamedTuple):
    """Cells of one feature."""

    radius: float
    is_exact: bool  # whether the radius is that float
    spans: Any  # low and high end, each between two floats, whether it holds integers; indices of levels, see below
    widths: Any  # from which width of a region on its cells are those of each level; the first is 0
    rates: Any  # cells per unit of each level, a power of two
    first: Any  # the first cell of each level that is kept
    count: Any  # how many are
    records: Any  # of levels, each in layers, end to end: for each cell its outputs and fields
    of_integers: int  # where those of cells of integers begin
    named: Any  # places of labels and codes
    named_records: Any


UNCUT, WHOLE = 5, 6  # of a span: the level of a region that its ends do not cut, of the span itself
IS_INTEGERS = 4


@compiled
def add_terms(column: Any, vague: Any, low: float, high: float, grid: Grid, most: Any, more: Any) -> None:
    """Add for each row and output the largest numbers of cells that its region may meet, and how much less is sure.

    Numbers below `low` or above `high` are left open.
    """
    odd = np.empty(len(column), np.int64)
    count = 0
    is_sure = grid.is_exact or grid.spans[0, IS_INTEGERS] == 0.0  # in whole steps a rounded radius may be one more
    if len(grid.spans) == 1 and len(grid.named) == 0 and len(vague) == 0 and is_sure:
        count = add_uncut(column, low, high, grid, most, odd)
    else:
        for r in range(len(column)):
            odd[r] = r
        count = len(column)
    add_odd(column, vague, low, high, grid, most, more, odd[:count])


@compiled
def add_uncut(column: Any, low: float, high: float, grid: Grid, most: Any, odd: Any) -> int:
    """Do so for rows whose region surely is all within one span, and surely meets certain cells; write the others.

    It is what `add_odd` does for such rows, without what makes that slow.
    """
    rows, outputs, _ = most.shape
    records, is_whole, level = grid.records, grid.spans[0, IS_INTEGERS] > 0.0, np.int64(grid.spans[0, UNCUT])
    radius = np.floor(grid.radius) if is_whole else grid.radius
    rate, start, count, at = grid.rates[level], grid.first[level], grid.count[level], np.int64(0)
    for k in range(level):
        at += LAYERS * grid.count[k]
    lowest, highest, from_cell, to_cell = grid.spans[0, 1], grid.spans[0, 2], float(start), float(start + count)
    first, last = np.empty(rows, np.int32), np.empty(rows, np.int32)  # cells; the last is -1 where that is not sure
    for r in range(rows):
        x = column[r]
        off = (abs(x) + radius) * ENDS_OFF + TINY
        a, b, c, d = x - radius - off, x - radius + off, x + radius - off, x + radius + off
        begin, end = np.floor(a * rate), np.ceil(d * rate) - 1.0
        is_sure = (np.floor(b * rate) == begin) & (np.ceil(c * rate) - 1.0 == end)
        is_sure &= (begin <= end) & (end - begin < 2**LAYERS - 2)
        is_sure &= (low <= x) & (x <= high) & (lowest <= a) & (d <= highest)
        is_sure &= (from_cell <= begin) & (end < to_cell) & (level >= 0)
        first[r] = np.int32(begin - from_cell if is_sure else 0.0)
        last[r] = np.int32(end - from_cell if is_sure else -1.0)
    layers = np.zeros(2**LAYERS, np.uint32)  # where the records begin of the most cells that are no more than so many
    sizes = np.ones(2**LAYERS, np.uint32)  # and how many these are
    for n in range(2, 2**LAYERS):
        layers[n] = layers[n // 2] + count
        sizes[n] = 2 * sizes[n // 2]
    left = 0
    for r in range(rows):
        odd[left] = r
        left += last[r] < 0
        met = np.uint32(max(last[r] - first[r] + 1, 1))
        one = at + np.int64(layers[met]) + first[r]
        other = at + np.int64(layers[met]) + max(last[r] + 1 - np.int64(sizes[met]), 0)
        is_sure = last[r] >= 0
        for o in range(outputs):
            for field in range(FIELDS):
                here, there = records[np.uint64(one), o, field], records[np.uint64(other), o, field]
                here = there if here < there else here
                most[r, o, field] += here if is_sure else 0.0
    return left


@compiled
def add_odd(column: Any, vague: Any, low: float, high: float, grid: Grid, most: Any, more: Any, odd: Any) -> None:
    """Do so for some rows, whatever they are like."""
    outputs = most.shape[1]
    spans, records, named, named_records = grid.spans, grid.records, grid.named, grid.named_records
    found, sure = np.empty((outputs, FIELDS)), np.empty((outputs, FIELDS))
    for r in odd:
        x = column[r]
        is_vague = len(vague) > 0 and vague[r]
        name = name_of(named, x) if len(named) > 0 else -1
        if name >= 0 or not low <= x <= high:  # a NaN is not
            for o in range(outputs):
                for field in range(FIELDS):
                    most[r, o, field] += named_records[name, o, field] if name >= 0 and not is_vague else np.inf
            continue
        is_exact = grid.is_exact and not is_vague
        a, b = between(x, -grid.radius, is_exact)
        c, d = between(x, grid.radius, is_exact)
        for o in range(outputs):
            for field in range(FIELDS):
                found[o, field] = sure[o, field] = 0.0
        is_known, is_anywhere = True, False
        for s in range(len(spans)):
            state, one, other, sure_one, sure_other = cells_met(grid, s, a, b, c, d)
            is_known &= state != UNKNOWN
            is_anywhere |= state > NONE
            for o in range(outputs if state > NONE else 0):
                for field in range(FIELDS):
                    found[o, field] = max(found[o, field], records[one, o, field], records[other, o, field])
                    if state > PERHAPS:
                        own = max(records[sure_one, o, field], records[sure_other, o, field])
                        sure[o, field] = max(sure[o, field], own)
        for o in range(outputs):
            for field in range(FIELDS):
                most[r, o, field] += found[o, field] if is_known and is_anywhere else np.inf
                more[r, o, field] += found[o, field] - sure[o, field]


UNKNOWN, NONE, PERHAPS, SOME, SURE = -1, 0, 1, 2, 3  # what is known of the cells that a region meets


@compiled
def cells_met(grid: Any, s: int, a: float, b: float, c: float, d: float) -> Any:
    """Return what is known of the cells that a region meets in a span, and which two records hold their numbers.

    The region begins between `a` and `b` and ends between `c` and `d`. It may meet cells of two records, and surely
    those of two more; `NONE` if it meets none, `PERHAPS` if that is all that is known, `SURE` if both are the same.
    """
    state, one, other, sure_one, sure_other = UNKNOWN, 0, 0, 0, 0
    spans = grid.spans
    is_whole = spans[s, IS_INTEGERS] > 0.0
    if is_whole:
        a, b, c, d = np.ceil(a), np.ceil(b), np.floor(c), np.floor(d)
    is_uncut = a >= spans[s, 1] and d <= spans[s, 2] and not is_whole
    is_all = b <= spans[s, 0] and c >= spans[s, 3]
    a, b, c, d = max(a, spans[s, 0]), max(b, spans[s, 1]), min(c, spans[s, 2]), min(d, spans[s, 3])
    level = int(spans[s, UNCUT] if is_uncut else spans[s, WHOLE])
    if not (is_uncut or is_all):
        level = level_of(grid.widths, a, b, c, d)
    if a > d:
        state = NONE
    elif level >= 0:
        rate, start, count = grid.rates[level], grid.first[level], grid.count[level]
        begin, begin_late = cell_from(a, rate), cell_from(b, rate)
        end, end_late = max(begin, cell_up_to(c, rate)), max(begin_late, cell_up_to(d, rate))
        if begin >= start and end_late < start + count and end_late - begin < 2**LAYERS - 1:
            at = grid.of_integers if is_whole else 0
            for k in range(level):
                at += LAYERS * grid.count[k]
            first, last = np.int64(begin) - start, np.int64(end_late) - start
            layer = layer_of(last - first + 1)
            one, other = at + layer * count + first, at + layer * count + last + 1 - (1 << layer)
            state = PERHAPS
            if begin_late == begin and end_late == end and b <= c:
                state, sure_one, sure_other = SURE, one, other
            elif b <= c and begin_late <= end:
                first, last = np.int64(begin_late) - start, np.int64(end) - start
                layer = layer_of(last - first + 1)
                sure_one, sure_other = at + layer * count + first, at + layer * count + last + 1 - (1 << layer)
                state = SOME
    return state, one, other, sure_one, sure_other


@inlined
def cell_from(x: float, rate: float) -> float:
    """Return the cell that begins at a number or holds it; a number below 0 is never in cell 0, however small it is."""
    place = x * rate
    return -1.0 if place == 0.0 and x < 0.0 else np.floor(place)


@inlined
def cell_up_to(x: float, rate: float) -> float:
    """Return the cell that ends at a number or holds it."""
    place = x * rate
    return 0.0 if place == 0.0 and x > 0.0 else np.ceil(place) - 1.0


@inlined
def layer_of(count: int) -> int:
    """Return which layer has the most cells in a row that are no more than so many."""
    layer = 0
    while (2 << layer) <= count:
        layer += 1
    return layer


@compiled
def name_of(named: Any, x: float) -> int:
    """Return which of some places a cell is at, -1 if at none; a missing cell is at NaN."""
    name = -1
    for k in range(len(named)):
        if named[k] == x or (named[k] != named[k] and x != x):
            name = k
    return name


@inlined
def between(x: float, shift: float, is_exact: bool) -> Any:
    """Return two floats between which `x + shift` lies; equal ones where it is a float."""
    near = x + shift
    part = near - x
    rest = (x - (near - part)) + (shift - part)  # what the sum is off by, exactly
    off = 0.0 if is_exact and rest == 0.0 else (abs(x) + abs(shift)) * ENDS_OFF + TINY
    return near - off, near + off


@inlined
def level_of(widths: Any, a: float, b: float, c: float, d: float) -> int:
    """Return the level of a region that begins between `a` and `b`, ends between `c` and `d`; -1 if in doubt."""
    low, high = max(c - b, 0.0), d - a
    part = high - d
    is_exact = a == b and c == d and (d - (high - part)) + (-a - part) == 0.0
    if not is_exact:
        low, high = low * (1.0 - 2.0**-50), high * (1.0 + 2.0**-50)
    level, other = 0, 0
    for k in range(1, len(widths)):
        level += low >= widths[k]
        other += high >= widths[k]
    return level if level == other else -1


@compiled
def extent(column: Any, named: Any, large: float) -> Any:
    """Return the least and the largest number of a column that is no label or code, nor large; infinities if none."""
    low, high = np.inf, -np.inf
    for r in range(len(column)):
        x = column[r]
        if abs(x) < large:
            is_named = False
            for k in range(len(named)):
                is_named |= named[k] == x
            if not is_named:
                low, high = min(low, x), max(high, x)
    return low, high
