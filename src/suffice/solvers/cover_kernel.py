"""Several knapsacks at once, compiled: the dearest items that fit into all of them, and of such choices the first.

In: whole-numbered weights by knapsack and item, rooms, costs. Out: which items are put in.
Guaranteed: whole numbers decide. Floats only propose multipliers `λ ≥ 0` of the knapsacks; whatever these are, what is
put in costs at most `Σ_c λ_c · room_c + Σ_k max(0, cost_k - Σ_c λ_c · weight_ck)`: the bound of linear programming.
No sum is above `unit` times twice all costs, but for rounding: multipliers are proposed such that `Σ_c λ_c · room_c` is
at most the cost of what is open, so is what an item that fits loses, and one that no longer fits is left out.
On 64-bit integers the functions run compiled; as plain Python (`compiling.as_python`) they take integers of any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.numbers.compiling import compiled

OPEN, FREED, KEPT = 0, 1, 2  # what is said of an item: nothing, it is put in, it is left out
ENDED = -1  # the budget of nodes ended
ROUNDS = 24  # of improving multipliers at the root of a tree, and
FEWER = 6  # below it


@compiled
def first_best(weights: Any, rooms: Any, costs: Any, scales: Any, unit: Any, budget: int, found: Any) -> Any:
    """Write the choice of the highest cost, of several the one that leaves early items out; return its cost, and nodes.

    Parameters
    ----------
    weights, rooms, costs : arrays of integers
        By knapsack and item, by knapsack, by item. Rooms are above 0, and each item fits alone.
    scales : array of floats
        About `unit / rooms`.
    unit : integer
        Multipliers are counted in `1 / unit`; large beside the rooms.
    budget : int
        Nodes that may be looked at. Past it the cost returned is `ENDED`.
    found : array of int8
        Where the choice is written: `FREED` or `KEPT` for each item.
    """
    count = len(costs)
    state, trial = np.zeros(count, np.int8), np.zeros(count, np.int8)
    direction = np.full(len(rooms), 1.0)
    rates, ranked = np.empty((count, len(rooms))), np.arange(count)
    for k in range(count):
        for c in range(len(rooms)):
            rates[k, c] = weights[c, k] / rooms[c] / float(costs[k])
    found[:] = KEPT
    most, nodes = search(weights, rooms, costs, scales, unit, rates, ranked, state, direction, 0, False, budget, found)
    if nodes > budget:
        return ENDED, nodes
    # Which items are in every best choice, or in none, is told by the bound at the root for most of them.
    rest = rooms.copy()
    multipliers = np.zeros_like(rooms)
    order = np.empty(count, np.int64)
    propose(rooms, costs, scales, rates, ranked, state, rest, direction, ROUNDS, most - 1, multipliers, order)
    fix_by_bound(weights, costs, unit, state, rest, multipliers, most - 1)
    put_in = costs[:0].sum()
    for k in range(count):
        if state[k] == FREED:
            put_in += costs[k]
    for k in range(count):
        if state[k] != OPEN:
            continue
        state[k] = KEPT
        if put_in == most or found[k] == KEPT:
            continue
        trial[:] = state
        reached, more = search(
            weights, rooms, costs, scales, unit, rates, ranked, state, direction, most - 1, True, budget - nodes, trial
        )
        nodes += more
        if nodes > budget:
            return ENDED, nodes
        if reached == most:
            found[:] = trial
        else:
            state[k] = FREED
            put_in += costs[k]
    found[:] = state
    return most, nodes


@compiled
def search(
    weights: Any,
    rooms: Any,
    costs: Any,
    scales: Any,
    unit: Any,
    rates: Any,
    ranked: Any,
    start: Any,
    direction: Any,
    best: Any,
    is_first: bool,
    budget: int,
    found: Any,
) -> Any:
    """Write a choice that costs more than `best`, the dearest or, if asked, the first; return its cost, and nodes.

    Some items are decided at the start. Where no choice costs more than `best`, that is returned and nothing written.
    """
    count = len(costs)
    state, rest = start.copy(), rooms.copy()
    multipliers = np.zeros_like(rooms)
    order = np.full(count, -1)
    trail, marks = (
        np.empty(count, np.int64),
        np.empty(count + 1, np.int64),
    )  # items as decided; where levels begin
    decided, depth, nodes = 0, 0, 0
    put_in = costs[:0].sum()
    for k in range(count):
        if state[k] == FREED:
            put_in += costs[k]
            for c in range(len(rest)):
                rest[c] -= weights[c, k]
    go_down = True
    while True:
        if go_down:
            nodes += 1
            if nodes > budget:
                return best, nodes
            middle, room, left = count, put_in, put_in
            rounds = ROUNDS if nodes == 1 else FEWER
            while True:  # what the bound decides may lead to a better one
                is_dead = False
                for c in range(len(rest)):
                    is_dead |= rest[c] < 0
                left = costs[:0].sum()
                for k in range(count):
                    if state[k] != OPEN:
                        continue
                    if fits(weights, rest, k):
                        left += costs[k]
                    else:  # left out, so that no multiplier meets a weight above what is left
                        state[k] = KEPT
                        trail[decided] = k
                        decided += 1
                is_dead |= put_in + left <= best
                if is_dead or left == 0:
                    break
                target = best - put_in
                middle = propose(
                    rooms, costs, scales, rates, ranked, state, rest, direction, rounds, target, multipliers, order
                )
                before = decided
                room = bound(weights, costs, unit, state, rest, multipliers)
                if put_in + room // unit <= best:
                    is_dead = True
                    break
                for k in range(count):
                    if state[k] != OPEN:
                        continue
                    gain = costs[k] * unit
                    for c in range(len(rest)):
                        gain -= multipliers[c] * weights[c, k]
                    if put_in + (room - abs(gain)) // unit <= best:
                        state[k] = FREED if gain > 0 else KEPT
                        trail[decided] = k
                        decided += 1
                        if gain > 0:
                            put_in += costs[k]
                            for c in range(len(rest)):
                                rest[c] -= weights[c, k]
                if decided == before:
                    break
                rounds = FEWER
            if not is_dead:
                reached = fill(weights, costs, state, rest, order, put_in, best, found)
                if reached > best:
                    best = reached
                    if is_first:
                        return best, nodes
                    is_dead = left == 0 or put_in + room // unit <= best
            if is_dead or left == 0:
                go_down = False
                continue
            marks[depth] = decided
            depth += 1
            state[middle] = KEPT
            trail[decided] = middle
            decided += 1
        else:
            if depth == 0:
                return best, nodes
            depth -= 1
            item = trail[marks[depth]]
            was_kept = state[item] == KEPT
            while decided > marks[depth]:
                decided -= 1
                k = trail[decided]
                if state[k] == FREED:
                    put_in -= costs[k]
                    for c in range(len(rest)):
                        rest[c] += weights[c, k]
                state[k] = OPEN
            if was_kept:  # now the other way: it is put in, which is the last choice at this level
                state[item] = FREED
                trail[decided] = item
                decided += 1
                put_in += costs[item]
                for c in range(len(rest)):
                    rest[c] -= weights[c, item]
                depth += 1
                go_down = True


@compiled
def fits(weights: Any, rest: Any, item: int) -> bool:
    """Whether an item fits into what is left of every knapsack."""
    is_in = True
    for c in range(len(rest)):
        is_in &= weights[c, item] <= rest[c]
    return is_in


@compiled
def bound(weights: Any, costs: Any, unit: Any, state: Any, rest: Any, multipliers: Any) -> Any:
    """Return a bound on what open items can cost that fit into what is left, times `unit`."""
    total = costs[:0].sum()
    for c in range(len(rest)):
        total += multipliers[c] * rest[c]
    for k in range(len(costs)):
        if state[k] == OPEN:
            gain = costs[k] * unit
            for c in range(len(rest)):
                gain -= multipliers[c] * weights[c, k]
            if gain > 0:
                total += gain
    return total


@compiled
def fix_by_bound(weights: Any, costs: Any, unit: Any, state: Any, rest: Any, multipliers: Any, best: Any) -> None:
    """Decide items for which the other way leads to nothing that costs more than `best`; none is decided yet."""
    room = bound(weights, costs, unit, state, rest, multipliers)
    gains = np.zeros_like(costs)
    for k in range(len(costs)):
        gains[k] = costs[k] * unit
        for c in range(len(rest)):
            gains[k] -= multipliers[c] * weights[c, k]
    for k in range(len(costs)):
        if (room - abs(gains[k])) // unit <= best:
            state[k] = FREED if gains[k] > 0 else KEPT


@compiled
def propose(
    rooms: Any,
    costs: Any,
    scales: Any,
    rates: Any,
    ranked: Any,
    state: Any,
    rest: Any,
    direction: Any,
    rounds: int,
    target: Any,
    multipliers: Any,
    order: Any,
) -> Any:
    """Write multipliers with a low bound, and open items by cost for weight; return the item at which rooms are full.

    Floats throughout, which decide nothing: `rates` has the share of each room (second index) that an item takes for
    its cost. The direction of the multipliers is improved from where it is: knapsacks that items overfill count more,
    others less. It ends where the bound is down to `target`. A little changes at a time, so that items are sorted by
    insertion, from where they were the last time (`ranked`).
    """
    count, knapsacks = rates.shape
    left, load = np.empty(knapsacks), np.empty(knapsacks)
    for c in range(knapsacks):
        left[c] = rest[c] / rooms[c]
    some, ratios = np.empty(count, np.int64), np.empty(count)
    m = 0
    for k in ranked:
        if state[k] == OPEN:
            some[m] = k
            m += 1
    order[m:] = -1
    least, middle = np.inf, some[0]
    for step in range(rounds):
        room = 0.0
        for c in range(knapsacks):
            room += direction[c] * left[c]
        for t in range(m):
            k, ratio, place = some[t], 0.0, t
            for c in range(knapsacks):
                ratio += direction[c] * rates[k, c]
            while place > 0 and ratios[place - 1] > ratio:
                ratios[place], some[place] = ratios[place - 1], some[place - 1]
                place -= 1
            ratios[place], some[place] = ratio, k
        value, filled, place = 0.0, 0.0, 0
        load[:] = 0.0
        while place < m:
            k, ratio = some[place], ratios[place]
            cost = float(costs[k])
            part = 1.0
            if filled + ratio * cost > room:
                part = max(room - filled, 0.0) / (ratio * cost)
            for c in range(knapsacks):
                load[c] += part * cost * rates[k, c]
            value += part * cost
            filled += ratio * cost
            if part < 1.0:
                break
            place += 1
        if value < least:
            least = value
            at = min(place, m - 1)
            middle = some[at]
            rate = 1.0 / ratios[at] if place < m and ratios[at] > 1e-290 else 0.0
            for c in range(knapsacks):  # into a full knapsack go only items that weigh nothing there
                multipliers[c] = int(rate * direction[c] * scales[c]) if rest[c] > 0 else 0
            for place in range(m):
                order[place] = some[place]
        if least < float(target) + 0.999 or knapsacks == 1:
            break
        worst = 0.0
        for c in range(knapsacks):
            worst = max(worst, abs(load[c] - left[c]))
        if worst <= 1e-9:
            break
        total = 0.0
        for c in range(knapsacks):
            direction[c] *= np.exp(1.5 / (1.0 + 0.15 * step) * (load[c] - left[c]) / worst)
            total += direction[c]
        for c in range(knapsacks):
            direction[c] = max(direction[c] / total, 1e-9)
    t = 0
    for place in range(count):
        if state[ranked[place]] == OPEN:
            ranked[place] = some[t]
            t += 1
    return middle


@compiled
def fill(weights: Any, costs: Any, state: Any, rest: Any, order: Any, put_in: Any, best: Any, found: Any) -> Any:
    """Put open items in as they fit, in order; write the choice if it costs more than `best`. Return its cost."""
    left = rest.copy()
    reached = put_in
    chosen = np.zeros(len(costs), np.bool_)
    for k in order:
        if k < 0:
            break
        if state[k] == OPEN and fits(weights, left, k):
            chosen[k] = True
            reached += costs[k]
            for c in range(len(left)):
                left[c] -= weights[c, k]
    if reached > best:
        for k in range(len(costs)):
            found[k] = FREED if state[k] == FREED or chosen[k] else KEPT
    return reached
