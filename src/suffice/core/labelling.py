"""The worst case of features that act together: the best labelling of a graph, by messages and branch and bound.

In: a `Graph`, whole numbers for each label of each feature and for each two labels of two features that have a pair
term; which features are free. Out: a labelling of the free features with the largest sum, or the proof that none is
above a threshold. All features that are not free have their first label.
Guaranteed: every step is exact. A message moves part of a pair's numbers to its two features and leaves the sum of
every labelling as it is, so that the sum of the features' largest numbers is a bound, however the messages came about.
Labels leave the search only by such a bound.

The same text runs compiled, on 64-bit integers, and as plain Python on integers of any size. Numbers that come near the
end of 64 bits end the search (`OVERFLOW`): then the plain one is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.graph import climb, copied, value_of
from suffice.numbers.compiling import as_python, compiled

DONE, ENOUGH, WORK_ENDED, OVERFLOW = 0, 1, 2, 3


@compiled
def sweep(
    graph: Any,
    edges: Any,
    is_forward: Any,
    own: Any,
    message: Any,
    alive: Any,
    left: Any,
    right: Any,
    rest: Any,
    limit: Any,
) -> Any:
    """Share the numbers of each pair out between its two features; return the work done, or -1 on overflow.

    Of a pair's best sums with one label of a feature given, the first feature takes half; what then remains goes to the
    second, and what that leaves over to the first. No label's share is above what it can be part of: afterwards every
    number left in the pair's own table is 0 or less.
    """
    first, both = graph.first, graph.both
    work = 0
    for step in range(len(edges)):
        e = edges[step] if is_forward else edges[len(edges) - 1 - step]
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        width, at, beside = first[j + 1] - first[j], graph.start[e], graph.slot[e]
        count, others = 0, 0
        for a in range(first[i + 1] - first[i]):
            if alive[first[i] + a]:
                left[count] = a
                count += 1
        for b in range(width):
            if alive[first[j] + b]:
                right[others] = b
                others += 1
        middle = beside + first[i + 1] - first[i]
        for s in range(others):
            b = right[s]
            rest[s] = own[first[j] + b] - message[middle + b]
        for r in range(count):
            a = left[r]
            line = at + a * width
            best = both[line + right[0]] + rest[0]
            for s in range(1, others):
                here = both[line + right[s]] + rest[s]
                if here > best:
                    best = here
            alone = own[first[i] + a] - message[beside + a]
            message[beside + a] = ((alone + best) >> 1) - alone
            own[first[i] + a] = alone  # for now without this pair
        for s in range(others):
            b = right[s]
            best = both[at + left[0] * width + b] - message[beside + left[0]]
            for r in range(1, count):
                here = both[at + left[r] * width + b] - message[beside + left[r]]
                if here > best:
                    best = here
            message[middle + b] = best
            own[first[j] + b] = rest[s] + best
            if own[first[j] + b] > limit or own[first[j] + b] < -limit or best > limit or best < -limit:
                return -1
        for r in range(count):
            a = left[r]
            line = at + a * width
            best = both[line + right[0]] - message[middle + right[0]]
            for s in range(1, others):
                here = both[line + right[s]] - message[middle + right[s]]
                if here > best:
                    best = here
            message[beside + a] = best
            own[first[i] + a] += best
            if own[first[i] + a] > limit or own[first[i] + a] < -limit or best > limit or best < -limit:
                return -1
        work += count * others
    return work


@compiled
def bound_of(
    graph: Any, free: Any, own: Any, alive: Any, most: Any, stay: Any, gain: Any, place: Any, order: Any
) -> Any:
    """Return the largest sum that the labels left may have, whether there is any, and what pruning needs to know.

    For each free feature `stay` is its best number without a change (with one where it must change), and `gain` what
    its best change adds to that; `place` is the best label. At most so many features change, those with the largest
    gains. The last two results are the least gain among these and the largest among the others.
    """
    first, zero = graph.first, graph.own[0] * 0
    found, forced, count = zero, 0, 0
    for k in range(len(free)):
        i = free[k]
        kept, best = -1, -1
        for a in range(first[i], first[i + 1]):
            if alive[a]:
                if not graph.moves[a]:
                    if kept < 0 or own[a] > own[kept]:
                        kept = a
                elif best < 0 or own[a] > own[best]:
                    best = a
        if kept < 0 and best < 0:
            return zero, False, zero, zero
        if kept < 0:
            stay[k], gain[k], place[k] = own[best], zero, best - first[i]
            forced += 1
            found += own[best]
            order[k] = -1  # changes in any case
            continue
        stay[k], gain[k], place[k] = own[kept], zero, kept - first[i]
        found += own[kept]
        order[k] = 0
        if best >= 0 and own[best] > own[kept]:
            gain[k], place[k] = own[best] - own[kept], best - first[i]
            count += 1
            order[k] = 1
    room = most - forced
    if room < 0:
        return zero, False, zero, zero
    least, following = zero, zero
    if count <= room:
        for k in range(len(free)):
            found += gain[k]
        if count == room and count:
            is_first = True
            for k in range(len(free)):
                if order[k] == 1 and (is_first or gain[k] < least):
                    least, is_first = gain[k], False
        return found, True, least, following
    # Of more features that gain than may change, those with the largest gains do: taken out one after the other.
    for _ in range(room):
        top = -1
        for k in range(len(free)):
            if order[k] == 1 and (top < 0 or gain[k] > gain[top]):
                top = k
        order[top] = 2
        found += gain[top]
        least = gain[top]
    for k in range(len(free)):
        if order[k] == 1:
            if gain[k] > following:
                following = gain[k]
            order[k] = 0
            for a in range(first[free[k]], first[free[k] + 1]):
                if alive[a] and not graph.moves[a] and own[a] == stay[k]:
                    place[k] = a - first[free[k]]
        elif order[k] == 2:
            order[k] = 1
    return found, True, least, following


@compiled
def prune(
    graph: Any,
    free: Any,
    own: Any,
    alive: Any,
    most: Any,
    stay: Any,
    gain: Any,
    order: Any,
    bound: Any,
    least: Any,
    following: Any,
    best: Any,
) -> Any:
    """Take out labels that are in no labelling above `best`; return how many, or -1 if a feature has none left."""
    first, count = graph.first, 0
    forced = 0
    for k in range(len(free)):
        forced += order[k] == -1
    for k in range(len(free)):
        i, is_left = free[k], False
        for a in range(first[i], first[i + 1]):
            if not alive[a]:
                continue
            if order[k] == -1:
                reach = bound - stay[k] + own[a]
            elif not graph.moves[a]:
                reach = bound + own[a] - stay[k]
                if order[k] == 1:
                    reach += following - gain[k]
            elif order[k] == 1:
                reach = bound - gain[k] + own[a] - stay[k]
            elif forced >= most:
                reach = best  # no room for another change
            else:
                reach = bound - least + own[a] - stay[k]
            if reach <= best:
                alive[a] = False
                count += 1
            else:
                is_left = True
        if not is_left:
            return -1
    return count


@compiled
def search(
    graph: Any,
    is_free: Any,
    most: Any,
    threshold: Any,
    enough: Any,
    is_listing: Any,
    max_work: Any,
    limit: Any,
    labels: Any,
    listed: Any,
) -> Any:
    """Look for labellings with a sum above a threshold.

    Parameters
    ----------
    is_free : for each feature whether it may change
    most : how many features may have a label that is a change
    threshold : labellings of no larger sum do not matter
    enough : with a sum above it a labelling is returned at once
    is_listing : the best labelling is not looked for, but all labels that are in some labelling above the threshold
    max_work, limit : how many entries of tables may be visited, and which numbers are near overflow
    labels : written: the best labelling
    listed : written if the search is done: True for each such label of a free feature; False for all labels before

    Returns
    -------
    How it ended; whether a labelling above the threshold was found; its sum (else the threshold); a bound on all sums,
    the threshold where no sum is above it; the work; the nodes.
    """
    first, ends = graph.first, graph.ends
    features = len(first) - 1
    zero = graph.own[0] * 0
    count = 0
    for i in range(features):
        count += is_free[i]
    free = np.zeros(count, np.int64)
    count = 0
    for i in range(features):
        if is_free[i]:
            free[count] = i
            count += 1
    inside = 0
    for e in range(len(ends)):
        inside += is_free[ends[e, 0]] and is_free[ends[e, 1]]
    edges = np.zeros(inside, np.int64)
    inside = 0
    for e in range(len(ends)):
        if is_free[ends[e, 0]] and is_free[ends[e, 1]]:
            edges[inside] = e
            inside += 1
    widest = 1
    for i in range(features):
        widest = max(widest, first[i + 1] - first[i])
    # A state for each depth; what is never reached takes no memory.
    owns = np.empty((count + 2, len(graph.own)), graph.own.dtype)
    messages = np.empty((count + 2, graph.slot[-1]), graph.own.dtype)
    lives = np.empty((count + 2, len(graph.own)), np.bool_)
    branch = np.zeros(count + 2, np.int64)  # the label that was tried at each depth, -1 before any was
    left, right = np.empty(widest, np.int64), np.empty(widest, np.int64)
    rest, local = np.empty(widest, graph.own.dtype), np.empty(len(graph.own), graph.own.dtype)
    stay, gain = np.empty(count, graph.own.dtype), np.empty(count, graph.own.dtype)
    place, order = np.empty(count, np.int64), np.empty(count, np.int64)
    now = np.zeros(features, np.int64)

    best, is_found = threshold, False
    for i in range(features):
        labels[i] = 0
    for a in range(len(graph.own)):
        owns[0, a], lives[0, a] = graph.own[a], True
    for k in range(graph.slot[-1]):
        messages[0, k] = zero
    root = threshold
    work, nodes, depth = 0, 0, 0
    branch[0] = -1
    moved = 0
    for i in range(features):
        moved += graph.moves[first[i]]
    if not is_listing and moved <= most:
        climb(graph, now, is_free, most, local)
        here = value_of(graph, now)
        if here > best:
            best, is_found = here, True
            copied(now, labels)
            if best > enough:
                return ENOUGH, True, best, best, work, nodes
    while depth >= 0:
        own, message, alive = owns[depth], messages[depth], lives[depth]
        if branch[depth] >= 0:  # the label that was tried is taken out
            alive[branch[depth]] = False
            branch[depth] = -1
        nodes += 1
        is_closed, is_forward, rounds = False, True, 0
        bound, is_any, least, following = bound_of(graph, free, own, alive, most, stay, gain, place, order)
        if not is_any or (nodes > 1 and bound <= best):  # before the first sweep the tables are not in the bound
            is_closed = True
        while not is_closed:
            before = bound
            for _ in range(2):
                done = sweep(graph, edges, is_forward, own, message, alive, left, right, rest, limit)
                if done < 0:
                    return OVERFLOW, is_found, best, bound, work, nodes
                work += done
                is_forward = not is_forward
            bound, is_any, least, following = bound_of(graph, free, own, alive, most, stay, gain, place, order)
            rounds += 1
            if nodes == 1:
                root = bound
            if bound <= best:
                is_closed = True
                break
            if not is_listing:
                for i in range(features):
                    now[i] = 0
                for k in range(count):
                    now[free[k]] = place[k]
                climb(graph, now, is_free, most, local)
                here = value_of(graph, now)
                if here > best:
                    best, is_found = here, True
                    copied(now, labels)
                    if best > enough:
                        return ENOUGH, True, best, bound, work, nodes
                    if bound <= best:
                        is_closed = True
                        break
            pruned = prune(graph, free, own, alive, most, stay, gain, order, bound, least, following, best)
            if pruned < 0:
                is_closed = True
                break
            if work > max_work:
                return WORK_ENDED, is_found, best, root, work, nodes
            if not pruned and rounds > 1 and before - bound <= (bound - best) >> 6:
                break
        if is_listing and not is_closed:  # labels that are all listed have nothing to add
            is_closed = True
            for k in range(count):
                for a in range(first[free[k]], first[free[k] + 1]):
                    is_closed = is_closed and (listed[a] or not alive[a])
        pick, lead = -1, zero
        if not is_closed:
            for k in range(count):
                i = free[k]
                one, two = -1, -1
                for a in range(first[i], first[i + 1]):
                    if alive[a]:
                        if one < 0 or own[a] > own[one]:
                            one, two = a, one
                        elif two < 0 or own[a] > own[two]:
                            two = a
                if two >= 0 and (pick < 0 or own[one] - own[two] < lead):
                    pick, lead, branch[depth] = i, own[one] - own[two], one
        if pick < 0:  # closed, or one label each: that labelling was looked at, and is now listed
            if is_listing and not is_closed:
                for k in range(count):
                    for a in range(first[free[k]], first[free[k] + 1]):
                        listed[a] = listed[a] or alive[a]
            depth -= 1
            continue
        depth += 1
        copied(own, owns[depth])
        copied(message, messages[depth])
        copied(alive, lives[depth])
        for a in range(first[pick], first[pick + 1]):
            if a != branch[depth - 1]:
                lives[depth, a] = False
        branch[depth] = -1
    return DONE, is_found, best, best, work, nodes


exact_search = as_python(search, copied, value_of, climb, sweep, bound_of, prune)
