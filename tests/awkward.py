"""Models, questions and rows made to be awkward: ties, grids, values at and beside breaks, domains of all kinds."""

import math
from fractions import Fraction

from hypothesis import strategies as st

import suffice
from suffice import AtLeast, AtMost, Beats, Domain, Feature, PiecewiseLinear, Same, Steps, Table, Within

numbers = st.one_of(st.integers(-4, 4), st.sampled_from([0.1, 0.5, -0.25, 1 / 3, 2.5, 1e-9]))
values = st.one_of(st.integers(-2, 2), st.sampled_from([0.1, 0.5, 1 / 3, -0.7]))


def rows_of(outputs, one):
    return one if outputs == 1 else st.lists(one, min_size=outputs, max_size=outputs)


@st.composite
def shapes(draw, outputs):
    """A shape and a domain for it."""
    knots = sorted(draw(st.sets(numbers, min_size=1, max_size=4)), key=float)
    kind = draw(st.sampled_from(["line", "steps", "integers", "codes", "labels", "points", "bounded", "gaps"]))
    several = rows_of(outputs, values)
    line = PiecewiseLinear(knots, [draw(several) for _ in knots], left_slope=draw(several), right_slope=draw(several))
    steps = Steps(
        knots, [draw(several) for _ in range(len(knots) + 1)], closed=draw(st.sampled_from(["left", "right"]))
    )
    if kind == "line":
        return line, Domain.reals()
    if kind == "steps":
        return steps, Domain.reals()
    if kind == "integers":
        return draw(st.sampled_from([line, steps])), Domain.integers(-3, draw(st.integers(0, 5)))
    if kind == "codes":
        table = Table({-9: draw(several), "odd": draw(several), suffice.MISSING: draw(several)}, otherwise=line)
        return table, Domain.interval(-4, 4) | Domain.codes(-9, suffice.MISSING, "odd")
    if kind == "labels":
        names = {"a": draw(several), "b": draw(several), "c": draw(several), 7: draw(several)}
        return Table(names), Domain.categories(*names)
    if kind == "points":
        return draw(st.sampled_from([line, steps])), Domain.points(-1, 0, 0.5, 2, "1/3")
    if kind == "bounded":
        return draw(st.sampled_from([line, steps])), Domain.interval(-2, 3)
    return steps, Domain.interval(-4, -1) | Domain.interval(0, 2) | Domain.points(3)


@st.composite
def questions(draw):
    task = draw(st.sampled_from(["binary", "binary", "regression", "multiclass"]))
    outputs = 3 if task == "multiclass" else 1
    made = [draw(shapes(outputs)) for _ in range(draw(st.integers(1, 5)))]
    features = [Feature(f"f{i}", domain, deviation=1) for i, (_, domain) in enumerate(made)]
    intercept = draw(rows_of(outputs, values))
    ties = draw(st.sampled_from(["positive", "negative"]))
    model = suffice.AdditiveModel([shape for shape, _ in made], intercept, task, features, ties=ties)
    radius = [draw(st.sampled_from([0, 0.5, 1, 0.1, Fraction(1, 3), 2, math.inf])) for _ in made]
    claim = draw(
        {
            "binary": st.sampled_from([Same(), Same(), Beats(0), AtLeast(-1), AtMost(0.5), Within(0.5)]),
            "regression": st.sampled_from([AtLeast(-1), AtMost(1), Within(1), Within("1/3"), Within(0)]),
            "multiclass": st.sampled_from([Same(), Same(), Beats(1)]),
        }[task]
    )
    return (
        model,
        radius,
        claim,
        draw(st.lists(st.tuples(*(cells(domain) for _, domain in made)), min_size=1, max_size=8)),
    )


def cells(domain):
    """Cells of a domain: its codes and categories, numbers next to and at likely breaks, now and then a wrong one."""
    near = [n + d for n in (-3, -2, -1, 0, 0.5, 1, 2, 3) for d in (0, 0.5, 0.1, 1e-16, Fraction(1, 3))]
    likely = [cell for cell in [*near, -9, "odd", None, "a", "b", "c", 7, 0.1, 1 / 3, Fraction(1, 3)] if cell in domain]
    return st.one_of(st.sampled_from(likely), st.sampled_from([*likely, 99.5, "wrong", math.nan, "0.1", "1/3"]))


@st.composite
def preferences(draw, count):
    """What is fixed, freed, tied together, and what features cost."""
    names = [f"f{i}" for i in range(count)]
    wish = dict(zip(names, draw(st.permutations(["fix", "free", "group", "group", ""]))[:count], strict=True))
    options = {one: [name for name in names if wish[name] == one] for one in ("fix", "free")}
    group = [name for name in names if wish[name] == "group"]
    if len(group) > 1 and draw(st.booleans()):
        return {**options, "groups": [group]}
    return {**options, "cost": {name: draw(st.sampled_from([1, 2, 3])) for name in names}}
