"""Concrete inputs that break a claim about a model with pair terms.

In: a `Joint` constraint, and features that can break it. Out: an input of the region at which the claim is false,
checked exactly. Spots give the first values; where a worst case is only approached, they come closer until the claim
breaks. Numbers are then shortened for as long as it stays broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import fmpq

from suffice.core.joint import Joint
from suffice.core.landscape import Spot
from suffice.model.domain import Span
from suffice.numbers.exact import ONE, Rational, nearest_float
from suffice.numbers.values import Value

_DIGITS = (2, 3, 4, 6, 9, 12, 17)


def breaking_point(joint: Joint, moved: Sequence[int]) -> list[Value]:
    """Return an input that differs from the row in the moved features only and breaks the constraint."""
    ground = joint.ground
    endless = [i for i in moved if i in ground.infinite]
    point = _far_point(joint, endless[0]) if endless else _near_point(joint, joint.breaking_labels(moved))
    score = _score(joint, point)
    for i in moved:
        for digits in _DIGITS:
            short = _shortened(point[i], digits)
            if short is None or not ground.region[i].holds(short):
                continue
            shorter = [*point[:i], short, *point[i + 1 :]]
            there = score + ground.landscape.change(point, shorter)
            if _is_broken(joint, there):
                point, score = shorter, there
                break
    assert _is_broken(joint, _score(joint, point)), "a counterexample must break the claim"
    return point


def _score(joint: Joint, point: Sequence[Value]) -> Rational:
    return joint.margin + joint.gap + joint.ground.landscape.change(joint.ground.row, point)


def _is_broken(joint: Joint, score: Rational) -> bool:
    return bool(score < 0 or (score == 0 and joint.is_strict))


def _near_point(joint: Joint, labels: Sequence[int]) -> list[Value]:
    """Return values at or near the spots of a labelling that breaks the constraint."""
    closeness = ONE / 2
    for _ in range(10_000):
        point = list(joint.ground.row)
        for i, label in enumerate(labels):
            if label:
                point[i] = _value_at(joint, i, joint.ground.spot(i, label), closeness)
        if _is_broken(joint, _score(joint, point)):
            return point
        closeness = closeness / 2**8
    raise AssertionError("no input comes as close to a worst case as it should")


def _value_at(joint: Joint, i: int, spot: Spot, closeness: Rational) -> Value:
    """Return a value of a spot's cell: the place itself if it is in it, or one that is close to it."""
    at, side = spot.infimum.at, spot.infimum.side
    if not side or spot.within is None:
        return at
    assert isinstance(at, fmpq)
    function, inside = joint.ground.landscape.ladders[i].function, spot.within
    k = function.segment_after(at) if side > 0 else function.segment_before(at)
    knots = function.knots[k : k + 1] if side > 0 else function.knots[max(k - 1, 0) : k]
    ends = [end for end in (*knots, inside.high if side > 0 else inside.low) if end is not None]
    room = abs((min if side > 0 else max)(ends) - at) if ends else ONE
    return at + side * room * closeness


def _far_point(joint: Joint, i: int) -> list[Value]:
    """Return the row with a feature that lowers the score for ever, far enough to break the constraint."""
    ground = joint.ground
    spans = [span for span in ground.region[i].spans if span.low is None or span.high is None]
    far = ONE
    while True:
        for span in spans:
            for end in _ends(span, far):
                point = list(ground.row)
                point[i] = end
                if _is_broken(joint, _score(joint, point)):
                    return point
        far = far * 4


def _ends(span: Span, far: Rational) -> list[Rational]:
    """Return numbers of a span as far out as one likes, towards each side without end."""
    ends = []
    if span.high is None:
        ends.append(fmpq(far.ceil()) if span.low is None else fmpq((span.low + far).ceil()))
    if span.low is None:
        ends.append(fmpq(-far.ceil()) if span.high is None else fmpq((span.high - far).floor()))
    return ends


def _shortened(value: Value, digits: int) -> Rational | None:
    if not isinstance(value, fmpq):
        return None
    near = float(f"{nearest_float(value):.{digits}g}")
    return fmpq(*near.as_integer_ratio()) if math.isfinite(near) else None
