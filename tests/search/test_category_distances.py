"""Distances of categories, in every question: an oracle that shares no code tries all inputs."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from oracles.mixed import Mixed

import suffice_check
from suffice import MISSING, ClaimError, Explainer, Status
from suffice.model.writing import to_bytes

HALF = Fraction(1, 2)


def checked(world, answer):
    """Let the checker read the certificate of an answer; return its sentence."""
    document = json.dumps(answer.certificate().document).encode()
    return suffice_check.check(to_bytes(world.model), document)


def radius_of(world):
    """A radius at which something happens, just below one, or any."""
    known = world.radii() or [Fraction(1)]
    at = world.rng.choice(known)
    return world.rng.choice([at, at, at - Fraction(1, 1000), HALF, Fraction(2), None])


def given(radius):
    return math.inf if radius is None else radius


def try_world(seed):
    """Ask every question about a random model, and compare each answer with that of trying everything."""
    world = Mixed(seed)
    explainer, options, names = Explainer(world.model), world.options(), world.names
    radius = radius_of(world)
    if radius is not None and radius < 0:
        radius = HALF
    enough, breaking = world.sufficient(radius), world.breaking(radius)
    able = world.able()

    def index(features):
        return frozenset(names.index(name) for name in features)

    why = explainer.explain(world.row, given(radius), **options)
    assert why.status is Status.PROVEN
    assert (why.size, why.lower_bound) == (len(enough[0]), len(enough[0]))
    assert index(why.features) in enough
    checked(world, why)
    try_batch(world, explainer, given(radius), options)

    fixed = frozenset(i for i in able if world.rng.random() < 0.5)
    told = explainer.sufficiency(world.row, [names[i] for i in fixed], given(radius), **options)
    assert bool(told) == (fixed in enough)
    checked(world, told)

    contrast = explainer.contrast(world.row, given(radius), **options)
    least = min(map(len, breaking), default=None)
    assert contrast.is_possible == bool(breaking)
    if breaking:
        point = tuple(contrast.counterexample[name] for name in names)
        assert point in world.points(radius)
        assert not world.holds(point)
        assert len(contrast.changed) == least
    checked(world, contrast)

    if radius is not None:
        found = explainer.counterfactual(world.row, radius, **options)
        assert found.is_possible == bool(breaking)
        if breaking and radius:

            def size(point):
                return max(world.distance(i, point[i]) for i in world.changed(point)) / radius

            cheapest = [p for p in world.points(radius) if not world.holds(p) and len(world.changed(p)) == least]
            nearest = min(map(size, cheapest))
            assert (found.least_change, found.is_attained) == (nearest, True)
            point = tuple(found.counterexample[name] for name in names)
            assert size(point) == max(found.changes.values()) == nearest
        checked(world, found)

    minimal = [one for one in enough if not any(other < one for other in enough)]
    every = explainer.explanations(world.row, given(radius), minimal="subset", **options)
    assert {index(one) for one in every} == set(minimal)
    roles = explainer.relevance(world.row, given(radius), **options)
    assert index(roles.necessary) == frozenset(able).intersection(*minimal)
    assert index((*roles.necessary, *roles.relevant)) == frozenset().union(*minimal)
    checked(world, every)
    checked(world, roles)

    inflated = explainer.inflate(world.row, given(radius), **options)
    region = world.within(radius)
    ranged = [names.index(name) for name in inflated.ranges]
    for i in ranged:
        region[i] = [value for value in world.columns[i].every if value in inflated.ranges[names[i]]]
        assert world.row[i] in region[i] or world.row[i] in world.columns[i].codes
    check_ranges(world, region, ranged)
    checked(world, inflated)

    try_radii(world, explainer, options, fixed)


def try_batch(world, explainer, radius, options):
    """Compare a batch with its rows, asked one by one."""
    rows = [world.row, *(tuple(world.rng.choice(one.every) for one in world.columns) for _ in range(3))]
    table = np.array([[cell(value) for value in row] for row in rows], dtype=object)
    batch = explainer.explain_batch(table, radius, **options)
    for k, row in enumerate(rows):
        if k in batch.messages:  # of this row the claim is false
            with pytest.raises(ClaimError):
                explainer.explain(row, radius, **options)
            continue
        why = explainer.explain(row, radius, **options)
        assert batch.sizes[k] == why.size
        assert world.model.pairs or set(batch.features_of(k)) == set(why.features)


def cell(value):
    """A value as a table has it."""
    return None if value is MISSING else float(value) if isinstance(value, Fraction) else value


def check_ranges(world, region, ranged):
    """Whether all inputs in some ranges keep the claim, if at most so many others change."""
    most = len(world.row) if world.max_changed is None else world.max_changed
    for point in product(*region):
        if len([i for i in world.changed(point) if i not in ranged]) <= most:
            assert world.holds(point), point


def try_radii(world, explainer, options, fixed):
    """Compare `radius` and `curve` with every radius at which something happens."""
    known = world.radii()
    # Just above 0, and then each of these radii up to the next.
    first = (known[0] if known else Fraction(1)) / 2
    places = [first, *known]
    names = world.names

    def is_enough(radius):
        return fixed in world.sufficient(radius)

    found = explainer.radius(world.row, [names[i] for i in sorted(fixed)], **options)
    fails = next((at for at in places if not is_enough(at)), None)
    if fails is None:
        assert (found.radius, found.is_attained) == (math.inf, is_enough(None))
    elif fails == first:
        assert (found.radius, found.is_attained) == (0, True)
    else:
        assert (found.radius, found.is_attained) == (fails, False)
    sentence = checked(world, found)
    is_name = any(
        column.kind in ("names", "both")
        and isinstance(world.row[i], str)
        and i not in (*world.immutable, *fixed)
        and not (column.kind == "both" and world.unit == "std" and column.deviation == 0)  # held at any radius
        for i, column in enumerate(world.columns)
    )
    if found.radius != math.inf and is_name:
        assert ("at a radius of 1 or more" in sentence) == (world.categories == "step")

    until = (known[-1] if known else Fraction(1)) + 1
    curve = explainer.curve(world.row, until, **options)
    assert curve.status is Status.PROVEN
    for at in (Fraction(0), *places, *(at - Fraction(1, 10**6) for at in known), until):
        step, enough = curve.at(at), world.sufficient(at)
        assert step.cost == len(enough[0]), at
        assert frozenset(names.index(name) for name in step.features) in enough
    checked(world, curve)


@pytest.mark.parametrize("seed", range(24))
def test_every_question_is_answered_as_by_trying_all_inputs(seed):
    try_world(seed)
