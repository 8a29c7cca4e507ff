"""The compiled search among sets of items that quadratic knapsacks allow: depth first, with linear bounds.

In: knapsacks as whole numbers, what each item costs, and a cost. Out: items that all knapsacks allow and that cost
more, or a record of why there are none. The same text runs compiled, on 64-bit integers, and as plain Python on
integers of any size (`exact_search`). Where numbers are too long for 64 bits the caller rounds weights down and rooms
up: what is closed so is closed by the exact numbers too, while items that are found need not be allowed by them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.numbers.compiling import as_python, compiled

FOUND, NONE, UNFINISHED = 1, 0, -1


class Knapsacks(NamedTuple):
    """`Σ weights + Σ products of two ≤ room`, over freed items, as whole numbers; arrays by knapsack and item.

    While two items are undecided, their product counts as linear: `parts[r, i, j]` is what `i` bears of it, and a
    positive one adds `spare` to the room. Any parts will do of which `Surrogate` says so.
    """

    weights: Any
    products: Any  # by knapsack and two items, symmetric
    parts: Any  # by knapsack, the item that bears it, and the other item
    spare: Any  # by knapsack and two items, symmetric
    rooms: Any
    appeal: Any  # floats: items with more are decided first


class Limits(NamedTuple):
    """The sum of the largest few weights of freed items is no more than the room; arrays by inequality and item."""

    weights: Any
    base: Any  # the largest weights of what is freed in any case, as many as count
    rooms: Any


@compiled
def fill(loads: Any, items: Any, costs: Any, room: Any, shift: Any) -> Any:
    """Return a bound on what items cost that fit into a room together; not all do.

    With the price `c / w` of any item, `(c·room + Σ max(0, w·cost - c·load)) / w` is such a bound (Lagrange). It is
    best for the first item that does not fit in the order of load for cost, which floats may guess.
    """
    keys = np.empty(len(loads))
    for p in range(len(loads)):
        keys[p] = float(loads[p] >> shift) / float(costs[items[p]])
    rest, critical = room, 0
    for p in np.argsort(keys):
        critical = p
        if loads[p] > rest:
            break
        rest -= loads[p]
    load, cost = loads[critical], costs[items[critical]]
    gain = cost * room
    for p in range(len(loads)):
        more = load * costs[items[p]] - cost * loads[p]
        if more > 0:
            gain += more
    return gain // load


@compiled
def most_below(
    loads: Any, left: Any, order: Any, depth: Any, costs: Any, is_counting: Any, shift: Any, light: Any, which: Any
) -> Any:
    """Return a bound on what undecided items cost that a knapsack leaves room for: -1 if not even that of none."""
    # Items with loads of 0 and below are taken first, for they make room: sums of the lightest fall before they rise.
    room, heavy, borne = left, 0, left * 0
    gain = costs[:1].sum() * 0
    for p in range(depth, len(order)):
        item = order[p]
        load = loads[item]
        if load > 0:
            light[heavy], which[heavy] = load, item
            heavy += 1
            borne += load
        else:
            room -= load
            gain += costs[item]
    if room < 0:
        return gain - gain - 1
    if borne <= room:
        for p in range(heavy):
            gain += costs[which[p]]
    elif is_counting:
        for load in np.sort(light[:heavy]):
            if load > room:
                break
            room -= load
            gain += 1
    else:
        gain += fill(light[:heavy], which[:heavy], costs, room, shift)
    return gain


@compiled
def is_past(weights: Any, base: Any, room: Any, order: Any, freed: Any, depth: Any, costs: Any, missing: Any) -> Any:
    """Whether undecided items that cost more than `missing` take the largest few weights past a room."""
    items, few = order[depth:], 0
    gain = costs[:1].sum() * 0
    for cost in np.sort(costs[items])[::-1]:  # whatever costs more has at least so many items
        if gain > missing:
            break
        gain += cost
        few += 1
    if gain <= missing:
        return True
    moving = np.sort(np.concatenate((base, weights[order[:depth]][freed[:depth]], np.sort(weights[items])[:few])))
    rest = room
    for p in range(len(base)):
        if moving[len(moving) - 1 - p] > 0:
            rest -= moving[len(moving) - 1 - p]
    return rest < 0


@compiled
def search(
    knapsacks: Any,
    limits: Any,
    costs: Any,
    shift: Any,
    enough: Any,
    max_nodes: Any,
    order: Any,
    freed: Any,
    record: Any,
) -> Any:
    """Look for items that all inequalities allow and that cost more than `enough`.

    Parameters
    ----------
    knapsacks, limits : what holds
    costs : what each item costs, all positive
    shift : loads are compared as floats without so many of their last bits
    max_nodes : budget; the record has room for as many entries
    order, freed : written: the items in the order they were decided in, and which of them are freed
    record : written: for each node in preorder, the side where an item is kept first, which inequality closes it
        (knapsacks, then limits, then: all that is left costs too little), or -1 less the item that is decided

    Returns
    -------
    How it ended; the nodes.
    """
    count, items, few = knapsacks.weights.shape[0], len(costs), len(limits.rooms)
    zero, none = knapsacks.rooms[:1].sum() * 0, costs[:1].sum() * 0
    loads = np.empty((items + 1, count, items), knapsacks.weights.dtype)
    left = np.empty((items + 1, count), knapsacks.weights.dtype)
    gained, open_ = np.empty(items + 1, costs.dtype), np.empty(items + 1, costs.dtype)
    light, which = np.empty(items, knapsacks.weights.dtype), np.empty(items, np.int64)
    state, turn = np.zeros(items + 1, np.int64), np.arange(count + few)
    is_counting, gained[0], open_[0] = True, none, none
    for i in range(items):
        order[i], freed[i] = i, False
        open_[0] += costs[i]
        is_counting &= costs[i] == 1
    for r in range(count):
        left[0, r] = knapsacks.rooms[r] + zero
        for i in range(items):
            loads[0, r, i] = knapsacks.weights[r, i]
            for j in range(items):
                loads[0, r, i] += knapsacks.parts[r, i, j]
                if j > i:
                    left[0, r] += knapsacks.spare[r, i, j]
    nodes, depth = 0, 0
    while depth >= 0:
        if state[depth] == 2:
            depth -= 1
            continue
        if state[depth] == 0:
            if nodes == max_nodes:
                return UNFINISHED, nodes
            missing = enough - gained[depth]
            closer, tightest, least = -1, 0, open_[depth]
            if open_[depth] <= missing:
                closer = count + few
            for place in range(count + few):
                if closer >= 0:
                    break
                r = turn[place]
                if r < count:
                    gain = most_below(
                        loads[depth, r], left[depth, r], order, depth, costs, is_counting, shift, light, which
                    )
                    if gain < 0 or gain <= missing:
                        closer = r
                    elif gain < least:
                        tightest, least = r, gain
                elif is_past(
                    limits.weights[r - count], limits.base[r - count], limits.rooms[r - count],
                    order, freed, depth, costs, missing,
                ):  # fmt: skip
                    closer = r
                if closer >= 0:  # what closes a node is likely to close the next
                    for p in range(place, 0, -1):
                        turn[p] = turn[p - 1]
                    turn[0] = closer
            if closer < 0 and depth == items:
                return FOUND, nodes
            record[nodes] = closer
            nodes += 1
            if closer >= 0:
                depth -= 1
                continue
            best = depth
            if count:
                for p in range(depth + 1, items):
                    if knapsacks.appeal[tightest, order[p]] > knapsacks.appeal[tightest, order[best]]:
                        best = p
            order[depth], order[best] = order[best], order[depth]
            record[nodes - 1] = -1 - order[depth]
        freed[depth] = state[depth] == 1
        state[depth] += 1
        item = order[depth]
        gained[depth + 1], open_[depth + 1] = gained[depth] + none, open_[depth] - costs[item]
        if freed[depth]:
            gained[depth + 1] += costs[item]
        for r in range(count):
            room = left[depth, r]
            if freed[depth]:
                room -= loads[depth, r, item]
            for p in range(depth + 1, items):
                other = order[p]
                room -= knapsacks.spare[r, item, other]
                loads[depth + 1, r, other] = loads[depth, r, other] - knapsacks.parts[r, other, item]
                if freed[depth]:
                    room += knapsacks.parts[r, item, other]
                    loads[depth + 1, r, other] += knapsacks.products[r, item, other]
            left[depth + 1, r] = room
        depth += 1
        state[depth] = 0
    return NONE, nodes


exact_search = as_python(search, fill, most_below, is_past)
