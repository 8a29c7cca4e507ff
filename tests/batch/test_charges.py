"""What is charged on each row lies between two numbers for many rows, and answers are those of each row alone."""

import math
from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import Domain, Explainer, Feature, ReluNetwork, Table, Within
from suffice.batch.cells import read_source
from suffice.batch.charges import Charges
from suffice.core.case import Case
from suffice.errors import ClaimError
from suffice.numbers.exact import rational
from suffice.search.explain import explain


def network(rng, outputs=1, size=1.0):
    weights = [rng.normal(size=(6, 1)), rng.normal(size=(5, 6)), size * rng.normal(size=(outputs, 5))]
    return ReluNetwork([w.astype(np.float32) for w in weights], [rng.normal(size=len(w)) for w in weights])


def drawn_features(rng, outputs=1):
    """Return shapes and features of all kinds that a network can be over, and cells to draw from."""
    codes = Table({-9: [0.5] * outputs, suffice.MISSING: [0.25] * outputs}, otherwise=network(rng, outputs))
    points = Domain.points(0, 1, 2.5) | Domain.interval(4, 6)
    constant = suffice.PiecewiseLinear([0], [[0.125] * outputs])
    numbers = [0.0, 1 / 3, -2.0, 1.5, 2**-6, -(2**-6), math.nextafter(0.5, 1), 1e-30, 77.0, -4096.0]
    drawn = [
        (network(rng, outputs), Feature("real", deviation="1/3"), [*numbers, 1e9, *rng.normal(size=6)]),
        (
            network(rng, outputs),
            Feature("scaled", center=100, scale=7),
            [100.0, 93.5, 1e4, *(100 + 7 * rng.normal(size=6))],
        ),
        (network(rng, outputs), Feature("bounded", Domain.interval(-1, "1/3"), deviation=1), [-1.0, 0.0, 0.25, -0.999]),
        (network(rng, outputs), Feature("narrow", Domain.interval(0, "1/100")), [0.0, 0.001, 0.0099]),
        (network(rng, outputs), Feature("whole", Domain.integers(-3, 40)), [-3.0, 0.0, 1.0, 40.0]),
        (
            codes,
            Feature("codes", Domain.interval("-8.999", 10) | Domain.codes(-9, suffice.MISSING)),
            [-9.0, None, 0.0, -8.9, -8.5, 3.0],
        ),
        (network(rng, outputs), Feature("gaps", points), [0.0, 1.0, 2.5, 4.0, 5.5]),
        (constant, Feature("constant"), [0.0, 5.0, 1e20]),
        (network(rng, outputs, size=1e6), Feature("large", scale=1e-3), [0.0, 1e-3, 0.5, -2.0]),
    ]
    few = rng.permutation(len(drawn))[: rng.integers(2, 6)]
    return [drawn[k] for k in few]


def drawn(seed):
    """Return an explainer, rows of its model, a radius and options."""
    rng = np.random.default_rng(seed)
    task, outputs = [("binary", 1), ("regression", 1), ("multiclass", 3)][seed % 3]
    made = drawn_features(rng, outputs)
    model = suffice.AdditiveModel(
        [shape for shape, *_ in made], [0.25] * outputs, task, features=[feature for _, feature, _ in made]
    )
    rows = np.array([[rng.choice(np.array(cells, object)) for *_, cells in made] for _ in range(25)], object)
    radius = [0, "1/1000", 0.1, "1/3", 1, 20][rng.integers(6)]
    options = {"arithmetic": ["float32", "float64"][rng.integers(2)]}
    if rng.integers(3) == 0:
        options["fix"] = [model.names[0]]
    if rng.integers(4) == 0:
        options["cost"] = {model.names[-1]: 2}
    if task == "regression":
        options["claim"] = Within("1/5")
    return Explainer(model), rows, radius, options


@pytest.mark.parametrize("seed", range(24))
def test_the_charge_of_a_row_alone_lies_between(seed):
    explainer, rows, radius, options = drawn(seed)
    question = explainer.question(radius, unit="raw", **options)
    found = Charges(explainer.compiled, question).of(*read_source(explainer.model, rows).cells(0, len(rows)))
    compared = 0
    for k, row in enumerate(rows):
        try:
            case = Case.of(explainer.compiled, question, list(row))
            alone = case.charges
        except (suffice.SufficeError, ClaimError):
            assert np.isnan(found.middle[:, k]).all() or not case_is_refused_for_rounding(explainer, question, row)
            continue
        factors = np.abs([one.factors for one in case.inequalities])
        each = zip(factors @ found.middle[:, k], factors @ found.off[:, k], alone, strict=True)
        for middle, off, charge in each:
            assert np.isnan(middle) or abs(rational(float(middle)) - charge) <= rational(float(off) * 1.000001)
            compared += bool(off < 2**-12 * middle)
    assert compared or radius == 20 or np.isnan(found.middle).mean() > 0.5


def line_of(domain, scale=1):
    return network(np.random.default_rng(5)), Feature("x", domain, scale=scale)


FAR = 2**53


@pytest.mark.parametrize(
    ("made", "cells", "radius"),
    [
        # A single term is added to nothing, and yet its count is rounded upwards.
        ((suffice.PiecewiseLinear([0], [1]), Feature("x")), [0.5], 1),
        ((Table({"a": 1, "b": 2}), Feature("x", Domain.categories("a", "b"))), ["a"], 1),
        # The nearest float of the radius is a step more.
        (line_of(Domain.integers(), 128), np.arange(-20.0, 20), "2.99999999999999999999"),
        (line_of(Domain.integers(), 128), np.arange(-20.0, 20), "63.99999999999999999999"),
        (line_of(Domain.integers(-19, 99), 128), np.arange(-19.0, 20), "0.99999999999999999999"),
        # Places of fine cells are no floats so far away.
        (line_of(Domain.integers(FAR, FAR + 8), 64), [float(FAR), float(FAR + 8)], 512),
        (line_of(Domain.points(FAR, FAR + 8), 64), [float(FAR), float(FAR + 8)], 512),
        # Counted in cells that are wide, the least floats are 0, and yet they are on one side of it.
        (line_of(Domain.reals(), 2**40), [0.0, 5e-324, -5e-324, 1e-310, -1e-310], 5e-324),
        (line_of(Domain.interval(-1, 1), 2**40), [0.0, 5e-324, -5e-324, 1e-310, -1e-310], 5e-324),
        (line_of(Domain.reals(), 2**40), [5e-324, -5e-324, 1e-310, -1e-310], 0),
    ],
    ids=[
        "constant",
        "category",
        "below 3",
        "below 64",
        "below 1",
        "far integers",
        "far points",
        "tiny",
        "cut",
        "point",
    ],
)
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_charges_at_the_limits_of_floats(made, cells, radius, arithmetic):
    shape, feature = made
    explainer = Explainer(suffice.AdditiveModel([shape], 0, "regression", [feature]))
    question = explainer.question(radius, unit="raw", arithmetic=arithmetic, claim=Within(10**30))
    rows = np.array([[cell] for cell in cells], object)
    found = Charges(explainer.compiled, question).of(*read_source(explainer.model, rows).cells(0, len(rows)))
    for k, row in enumerate(rows):
        for charge in Case.of(explainer.compiled, question, list(row)).charges:
            middle, off = float(found.middle[0, k]), float(found.off[0, k])
            assert math.isnan(middle) or abs(rational(middle) - charge) <= rational(off * 1.000001)


def case_is_refused_for_rounding(explainer, question, row):
    try:
        _ = Case.of(explainer.compiled, question, list(row)).charges
    except ClaimError as error:
        return "overflow" in str(error) or "rounding" in str(error)
    except suffice.SufficeError:
        return False
    return False


@pytest.mark.parametrize("seed", range(24))
def test_rows_are_answered_as_each_is_alone(seed):
    explainer, rows, radius, options = drawn(seed)
    result = explainer.explain_batch(rows, radius, unit="raw", threads=1, **options)
    for k, row in enumerate(rows):
        if k in result.messages:
            with pytest.raises(suffice.SufficeError) as refused:
                explainer.explain(list(row), radius, unit="raw", **options)
            assert result.messages[k] == str(refused.value)
            continue
        why = explainer.explain(list(row), radius, unit="raw", **options)
        assert (result.fixed_of(k), result.statuses[k]) == (why.fixed, why.status.value)
        assert abs(Fraction(float(result.margins[k])) - why.margin) <= Fraction(float(result.margin_errors[k]))
        if "cost" not in options:
            assert result.lower_bounds[k] == why.bound


def test_a_row_that_rounding_alone_may_break_is_refused():
    rng = np.random.default_rng(3)
    shape = network(rng)
    value = Explainer(suffice.AdditiveModel([shape], 0, "regression")).predict([0.5])
    for off in (1e-8, 1e-7, 1e-6, 1e-5, 1e-2):
        model = suffice.AdditiveModel([shape], off - value, "binary")
        result = Explainer(model).explain_batch(np.array([[0.5]]), 0, unit="raw", arithmetic="float32")
        if result.messages:
            with pytest.raises(ClaimError) as refused:
                Explainer(model).explain([0.5], 0, unit="raw", arithmetic="float32")
            assert result.messages == {0: str(refused.value)}
        else:
            assert Explainer(model).explain([0.5], 0, unit="raw", arithmetic="float32").status.value == "proven"
    assert not result.was_exact.any()


def test_ordinary_rows_need_no_exact_arithmetic():
    rng = np.random.default_rng(0)
    features = [Feature(f"f{i}", deviation=1) for i in range(8)]
    model = suffice.AdditiveModel([network(rng) for _ in range(8)], 0.1, "binary", features)
    rows = rng.normal(size=(500, 8))
    for options in ({}, {"fix": ["f1"]}, {"immutable": ["f2"]}, {"groups": [["f3", "f4"]]}, {"max_changed": 2}):
        result = Explainer(model).explain_batch(rows, 0.5, arithmetic="float32", **options)
        assert result.was_exact.mean() < 0.02


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fix": ["f1"]},
        {"free": ["f2"]},
        {"cost": {"f3": 2}},
        {"groups": [["f3", "f4"]]},
        {"max_changed": 2},
        {"norm": 1},
    ],
)
def test_rows_between_two_answers_are_bounded_without_exact_arithmetic(options):
    # All rows are near the boundary, where rounding may take what a feature needs to be freed.
    rng = np.random.default_rng(1)
    features = [Feature(f"f{i}", deviation=1) for i in range(6)]
    shapes = [network(rng) for _ in range(6)]
    middle = Explainer(suffice.AdditiveModel(shapes, 0, "regression", features)).predict([0.1] * 6)
    explainer = Explainer(suffice.AdditiveModel(shapes, -middle, "binary", features))
    rows = 0.1 + rng.normal(size=(150, 6)) / 4096
    question = explainer.question("1/16384", arithmetic="float32", **options)
    result = explainer.explain_batch(rows, question)
    assert result.was_exact.mean() < 0.02
    assert 0 < (result.statuses == "bounded").sum() < 150
    assert result.messages
    for k, row in enumerate(rows):
        if k in result.messages:
            with pytest.raises(suffice.SufficeError) as refused:
                explain(explainer.compiled, question, list(row))
            assert str(refused.value) == result.messages[k]
            continue
        why = explain(explainer.compiled, question, list(row))
        assert (result.fixed_of(k), result.statuses[k]) == (why.fixed, why.status.value)
        assert abs(Fraction(float(result.margins[k])) - why.margin) <= Fraction(float(result.margin_errors[k]))
