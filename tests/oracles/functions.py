"""Functions of one feature with jumps, and how far they fall within a radius."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from oracles.sets import sufficient


def infimum_by_sampling(function, places, low, high):
    """Infimum over [low, high] of a function that is affine between the given places: (value, is attained).

    On an open stretch an affine function comes as near as one likes to its limits at both ends, and two inner points
    tell these limits.
    """
    inner = sorted({low, high, *(place for place in places if low < place < high)})
    candidates = [(function(place), 0) for place in inner]
    for left, right in pairwise(inner):
        third = (right - left) / 3
        first, second = function(left + third), function(left + 2 * third)
        is_constant = first == second
        candidates += [(2 * first - second, not is_constant), (2 * second - first, not is_constant)]
    value, is_approached = min(candidates)
    return value, not is_approached


def part_of(factors, outputs):
    """A combination of outputs."""
    return sum((factor * output for factor, output in zip(factors, outputs, strict=True)), Fraction(0))


class Plain:
    """A function of one feature with several outputs, and where it may be asked: spans (low, high, is integers) or
    labels."""

    def __init__(self, evaluate, places, spans=(), labels=()):
        self.evaluate, self.places, self.spans, self.labels = evaluate, places, spans, labels

    def drop(self, factors, value, radius):
        """How far the combination of outputs can fall within a radius: (value, is attained)."""

        def function(at):
            return part_of(factors, self.evaluate(at))

        here = function(value)
        found = [(Fraction(0), True)]
        if value in self.labels:
            found += [(here - function(label), True) for label in (self.labels if radius else ())]
        else:
            for low, high, is_integers in self.spans:
                first = value - radius if low is None else max(low, value - radius)
                last = value + radius if high is None else min(high, value + radius)
                if is_integers:
                    whole = range(math.ceil(first), math.floor(last) + 1)
                    found += [(here - function(Fraction(k)), True) for k in whole]
                elif first <= last:
                    low_value, is_attained = infimum_by_sampling(function, self.places, first, last)
                    found.append((here - low_value, is_attained))
        return max(found)


def enough(fixed, row, plains, parts, radius, max_changed=None):
    """Whether fixing some features suffices within a radius, for parts of a claim (factors, margin, is strict)."""
    return all(
        sufficient(
            fixed, margin, [p.drop(factors, v, radius) for p, v in zip(plains, row, strict=True)], strict, max_changed
        )
        for factors, margin, strict in parts
    )


def breaks_at(point, row, plains, parts):
    """Whether an input makes one of the parts of a claim false."""
    for factors, margin, is_strict in parts:
        left = margin + sum(
            part_of(factors, plain.evaluate(new)) - part_of(factors, plain.evaluate(old))
            for plain, new, old in zip(plains, point, row, strict=True)
        )
        if left < 0 or (left == 0 and is_strict):
            return True
    return False
