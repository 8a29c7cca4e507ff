"""Generated input, made to be awkward: ties, zeros, subnormals, weights of very different size."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from oracles import CLASSES, Finite, Plain, PlainNetwork, Wishes

from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Feature,
    PiecewiseLinear,
    ReluNetwork,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.core.constraint import INFINITE, Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.question.preferences import Choices

awkward_floats = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1 / 3, 5e-324, -5e-324, 1e-40, 1e30, -1e30, 2.0**-30]),
    st.integers(-4, 4).map(float),
    st.floats(-3, 3, width=32),
)
small_rationals = st.fractions(min_value=-4, max_value=4, max_denominator=6)
activation_names = st.sampled_from(["relu", "relu1", "relu6", "leaky_relu", "hard_tanh", "abs", "identity"])


@st.composite
def networks(draw, outputs=None):
    """Arguments of a small network: weights, biases, activations, skips."""
    depth = draw(st.integers(0, 3))
    widths = [1, *(draw(st.integers(1, 4)) for _ in range(depth)), outputs or draw(st.integers(1, 2))]
    kind = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    numbers = awkward_floats if kind is np.float64 else awkward_floats.filter(lambda v: abs(v) < 1e4)
    weights = [
        np.array(draw(st.lists(st.lists(numbers, min_size=i, max_size=i), min_size=o, max_size=o)), dtype=kind)
        for i, o in itertools.pairwise(widths)
    ]
    biases = [
        draw(st.none() | st.lists(numbers, min_size=o, max_size=o).map(lambda b: np.array(b, dtype=kind)))
        for o in widths[1:]
    ]
    activations = [draw(activation_names) for _ in range(depth)]
    pairs = [(to, source) for to in range(1, depth + 2) for source in range(to) if widths[to] == widths[source]]
    skips = dict([draw(st.sampled_from(pairs))]) if pairs and draw(st.booleans()) else {}
    return weights, biases, activations, skips


@st.composite
def constraints(draw, most=9):
    """A margin and drops with many ties, some only approached, some infinite."""
    sizes = st.sampled_from(
        [Fraction(0), Fraction(1), Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**20 + 1, 10**20)]
    )
    drops = draw(st.lists(st.tuples(sizes, st.booleans(), st.integers(0, 9)), max_size=most))
    is_strict = draw(st.booleans())
    exact = tuple(INFINITE if rare == 0 else Drop(False, rational(v), 0 if a or not v else -1) for v, a, rare in drops)
    some = draw(st.lists(st.sampled_from(drops), max_size=most)) if drops else []
    margin = sum((value for value, _, _ in some), Fraction(0)) + (
        Fraction(1, 7) if is_strict and draw(st.booleans()) else 0
    )
    if is_strict and margin == 0:
        margin = Fraction(1)
    return Separable(rational(margin), exact, is_strict)


@st.composite
def systems(draw, most=8, max_changed=None):
    """Up to four constraints over some features, with many ties."""
    count, rows = draw(st.integers(0, most)), draw(st.integers(1, 4))
    sizes = st.sampled_from([Fraction(k, 3) for k in (0, 1, 3, 5, 6, 9)])
    infinite = st.just(INFINITE)
    # A drop of 0 is always attained: by the row itself.
    finite = st.builds(
        lambda value, is_attained: Drop(False, rational(value), 0 if is_attained or not value else -1),
        sizes,
        st.booleans(),
    )
    any_drop = st.integers(0, 15).flatmap(lambda rare: infinite if rare == 0 else finite)
    constraints = []
    for _ in range(rows):
        is_strict = draw(st.booleans())
        drops = tuple(draw(any_drop) for _ in range(count))
        margin = draw(
            st.sampled_from([Fraction(0), Fraction(1), Fraction(3), Fraction(4), Fraction(8), Fraction(10, 3)])
        )
        constraints.append(Separable(rational(margin + (is_strict and margin == 0)), drops, is_strict, max_changed))
    return constraints


@st.composite
def choices(draw, count):
    """Some groups, costs and wishes over so many features; what must be freed may break a constraint."""
    features = list(range(count))
    items = []
    while features:
        size = draw(st.sampled_from([1, 1, 1, 2, 3]))
        items.append(tuple(features[:size]))
        features = features[size:]
    costs = tuple(draw(st.sampled_from([1, 1, 2, 3, 7])) for _ in items)
    if draw(st.booleans()):
        costs = (1,) * len(items)
    wishes = [draw(st.sampled_from(["open"] * 6 + ["fix", "free"])) for _ in items]
    fix = frozenset(k for k, wish in enumerate(wishes) if wish == "fix")
    free = frozenset(k for k, wish in enumerate(wishes) if wish == "free")
    names = tuple(f"item {k}" for k in range(len(items)))
    return Choices(tuple(items), names, costs, fix, free)


# --- whole models -------------------------------------------------------------------------------------------------

IDENTITY = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
few = st.sampled_from([Fraction(k, 2) for k in (-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6)])


@st.composite
def small_models(draw):
    """A model of up to ten features, as our own and as plain functions with their worst values."""
    count = draw(st.integers(1, 10))
    kinds = [draw(st.sampled_from(["network", "integers", "steps", "points", "copy"])) for _ in range(count)]
    shapes, features, plain = [], [], []
    radius = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(0)]))
    for i, kind in enumerate(kinds):
        x = draw(st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2)]))
        if kind == "copy" and i:
            shapes.append(shapes[-1])
            features.append(Feature(f"f{i}", features[-1].domain, features[-1].center, features[-1].scale))
            plain.append(plain[-1])
            continue
        domain, center, scale = Domain.reals(), draw(small_rationals), draw(small_rationals.filter(bool))
        if kind in ("network", "copy"):
            weights, biases, activations, skips = draw(networks(outputs=1))
            shape, network = (
                ReluNetwork(weights, biases, activations, skips),
                PlainNetwork(weights, biases, activations, skips),
            )
            ends = sorted([(x - radius - center) / scale, (x + radius - center) / scale])
            worst = [ends[0], *network.corners(*ends), ends[1]]
            values = [network(z)[0] for z in worst]
            here = network((x - center) / scale)[0]
        else:
            center, scale = Fraction(0), Fraction(1)
            slope, jump = draw(small_rationals), draw(small_rationals)
            shape = IDENTITY * slope + Steps([Fraction(1, 3)], [0, jump])

            def line(z, slope=slope, jump=jump):
                return slope * z + (jump if z >= Fraction(1, 3) else 0)

            x = Fraction(math.floor(x)) if kind == "integers" else x
            if kind == "integers":
                domain = Domain.integers()
                places = [Fraction(n) for n in range(math.ceil(x - radius), math.floor(x + radius) + 1)]
            elif kind == "points":
                every = {x, *draw(st.sets(small_rationals, max_size=4))}
                domain = Domain.points(*every)
                places = [p for p in every if abs(p - x) <= radius]
            else:
                shape, domain = Steps([Fraction(1, 3)], [slope, jump]), Domain.reals()
                line = lambda z, a=slope, b=jump: b if z >= Fraction(1, 3) else a  # noqa: E731
                places = [x - radius, x + radius, x]
            values, here = [line(p) for p in places], line(x)
        shapes.append(shape)
        features.append(Feature(f"f{i}", domain, center, scale))
        plain.append((x, here, min(values), max(values)))
    intercept = draw(small_rationals)
    if draw(st.booleans()):  # a row exactly on the boundary
        intercept = -sum((here for _, here, _, _ in plain), Fraction(0))
    ties = draw(st.sampled_from(["positive", "negative"]))
    model = AdditiveModel(shapes, intercept, "binary", features, ties=ties)
    return model, [x for x, *_ in plain], radius, intercept, plain, ties


@st.composite
def numeric_features(draw, outputs):
    """A shape, its domain, the same as a plain function, and a value."""
    kind = draw(st.sampled_from(["steps", "line", "line", "table"]))
    if kind == "table":
        labels = ("a", "b", "c")[: draw(st.integers(1, 3))]
        table = {label: [draw(few) for _ in range(outputs)] for label in labels}
        return Table(table), Domain.categories(*labels), Plain(table.__getitem__, (), (), labels), "a"
    knots = sorted(draw(st.sets(few, min_size=1, max_size=4)))
    if kind == "steps":
        values = [[draw(few) for _ in range(outputs)] for _ in range(len(knots) + 1)]
        closed = draw(st.sampled_from(["left", "right"]))
        shape = Steps(knots, values, closed)

        def evaluate(at):
            return values[sum(knot <= at if closed == "left" else knot < at for knot in knots)]
    else:
        values = [[draw(few) for _ in range(outputs)] for _ in knots]
        left, right = [draw(few) for _ in range(outputs)], [draw(few) for _ in range(outputs)]
        shape = PiecewiseLinear(knots, values, left, right)

        def evaluate(at):
            if at <= knots[0]:
                return [v + s * (at - knots[0]) for v, s in zip(values[0], left, strict=True)]
            if at >= knots[-1]:
                return [v + s * (at - knots[-1]) for v, s in zip(values[-1], right, strict=True)]
            k = max(k for k, knot in enumerate(knots) if knot <= at)
            share = (at - knots[k]) / (knots[k + 1] - knots[k])
            return [a + share * (b - a) for a, b in zip(values[k], values[k + 1], strict=True)]

    domains = [
        (Domain.reals(), ((None, None, False),)),
        (Domain.interval(-2, 3), ((Fraction(-2), Fraction(3), False),)),
        (Domain.integers(-3, 4), ((Fraction(-3), Fraction(4), True),)),
        (Domain.integers(), ((None, None, True),)),
        (
            Domain.interval(-1, 1) | Domain.interval(2, 3),
            ((Fraction(-1), Fraction(1), False), (Fraction(2), Fraction(3), False)),
        ),
        (Domain.interval(-1, 1) | Domain.integers(3), ((Fraction(-1), Fraction(1), False), (Fraction(3), None, True))),
        (Domain.points(-1, 0, 1, "5/2"), tuple((v, v, False) for v in map(Fraction, ("-1", "0", "1", "5/2")))),
    ]
    domain, spans = draw(st.sampled_from(domains))
    starts = [start for start in map(Fraction, ("0", "1", "1/3")) if start in domain]
    return shape, domain, Plain(evaluate, knots, spans), draw(st.sampled_from(starts))


@st.composite
def numeric_cases(draw, most=4):
    """A model, a row, a claim, and its inequalities in plain terms: (factors, constant, is strict)."""
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    outputs = 2 if task == "multiclass" else 1
    parts = [draw(numeric_features(outputs)) for _ in range(draw(st.integers(1, most)))]
    intercept = [draw(few) for _ in range(outputs)]
    names = [Feature(f"x{i}", domain) for i, (_, domain, _, _) in enumerate(parts)]
    model = AdditiveModel([shape for shape, _, _, _ in parts], intercept, task, features=names)
    row, plains = [value for *_, value in parts], [plain for _, _, plain, _ in parts]
    here = [b + sum(p.evaluate(v)[j] for p, v in zip(plains, row, strict=True)) for j, b in enumerate(intercept)]
    if task == "multiclass":
        first = here[0] >= here[1]
        claim, plain = Same(), [((1, -1) if first else (-1, 1), Fraction(0), not first)]
    elif task == "binary" and draw(st.booleans()):
        is_positive = here[0] >= 0
        claim, plain = Same(), [((1,) if is_positive else (-1,), Fraction(0), not is_positive)]
    elif draw(st.booleans()):
        claim, plain = AtLeast(here[0] - 1), [((1,), 1 - here[0], False)]
    else:
        claim, plain = Within(1), [((1,), 1 - here[0], False), ((-1,), 1 + here[0], False)]
    margins = [sum(f * s for f, s in zip(fs, here, strict=True)) + constant for fs, constant, _ in plain]
    return model, row, claim, plains, [(fs, m, strict) for (fs, _, strict), m in zip(plain, margins, strict=True)]


@st.composite
def finite_cases(draw, kinds=("labels", "labels", "integers", "points"), most=5):
    """A model with finitely many inputs: (model, its oracle, a claim)."""
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    outputs = draw(st.integers(2, 4)) if task == "multiclass" else 1
    numbers = st.sampled_from([Fraction(k, 3) for k in (-6, -3, -1, 0, 0, 1, 2, 3, 5)])
    shapes, features, tables, row = [], [], [], []
    for i in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(kinds))
        if kind == "labels":
            places, domain = ("a", "b", "c")[: draw(st.integers(1, 3))], None
        elif kind == "integers":
            places, domain = [Fraction(k) for k in range(-2, 3)], Domain.integers(-2, 2)
        else:
            places = [Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(2)]
            domain = Domain.points(*places)
        table = {place: [draw(numbers) for _ in range(outputs)] for place in places}
        values = list(table.values())
        shapes.append(Table(table) if kind == "labels" else PiecewiseLinear(places, values))
        features.append(Feature(f"x{i}", domain))
        tables.append(table)
        row.append("a" if kind == "labels" else draw(st.sampled_from(places)))
    intercepts = [draw(numbers) for _ in range(outputs)]
    classes = CLASSES[:outputs] if task == "multiclass" else None
    model = AdditiveModel(shapes, intercepts, task, features, classes=classes)
    oracle = Finite(task, tables, intercepts, tuple(row))
    return model, oracle, draw(st.sampled_from(claims_for(task, oracle.here)))


def claims_for(task, here):
    """Claims that hold at these scores."""
    if task == "multiclass":
        winner = here.index(max(here))
        return [Same(), *(Beats(CLASSES[j]) for j in range(len(here)) if j != winner)]
    common = [AtLeast(here[0] - 1), AtLeast(here[0]), AtMost(here[0] + Fraction(2, 3)), Within(1), Within(0)]
    return common if task == "regression" else [Same(), *common]


@st.composite
def wishes(draw, count, has_cost=True):
    """Preferences over so many features."""
    each = [draw(st.sampled_from(["", "", "", "fix", "free"])) for _ in range(count)]
    fix, free = ({i for i in range(count) if each[i] == wish} for wish in ("fix", "free"))
    group = draw(st.sets(st.sampled_from(range(count)), min_size=2)) if count > 2 else set()
    group = set() if group & (fix | free) else group
    price = {i: draw(st.sampled_from([1, 2, Fraction(1, 2)])) for i in range(count) if i not in group}
    return Wishes(fix, free, group, *((price, Fraction(3)) if has_cost else ()))
