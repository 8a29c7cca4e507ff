"""Monotonicity and perverse rows, against comparing all neighbours."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from oracles.small import Small, table_of

import suffice_check
from suffice import (
    AdditiveModel,
    BoxError,
    CertificateError,
    ClaimError,
    Domain,
    Explainer,
    Feature,
    FeatureNameError,
    OptionError,
    PairLinear,
    PiecewiseLinear,
    Steps,
    Table,
)


def numbers_of(small, i, direction):
    return sorted((v for v in small.values[i] if small.is_number(i, v)), reverse=direction < 0)


def falls_somewhere(small, i, direction, outcome):
    """Whether some neighbours along a feature, with some other values, have a lower lead."""
    others = [values if k != i else [None] for k, values in enumerate(small.values)]
    for rest in itertools.product(*others):
        along = [small.lead([*rest[:i], at, *rest[i + 1 :]], outcome) for at in numbers_of(small, i, direction)]
        if any(new < old for a, b in itertools.pairwise(along) for old, new in zip(a, b, strict=True)):
            return True
    return False


def is_perverse(small, row, i, direction, outcome):
    if small.decides(row) != outcome or not small.is_number(i, row[i]):
        return False
    onwards = [at for at in numbers_of(small, i, direction) if (at - row[i]) * direction >= 0]
    return any(small.decides([*row[:i], at, *row[i + 1 :]]) != outcome for at in onwards)


def check_certificate(explainer, found, task):
    if found or task == "multiclass":
        with pytest.raises(CertificateError, match="only that a score falls has a certificate"):
            found.certificate()
        return
    told = suffice_check.check(explainer.compiled.content, found.certificate().text.encode())
    assert re.match(r"Proven: .*the claim that the .* stays at (least|most) .* is false at an input", told)
    assert re.search(rf"Region: '{explainer.model.names[found.feature]}' one of [-0-9/]+ and [-0-9/]+\.", told)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))])
def test_a_verdict_is_that_of_comparing_neighbours(block, pairs):
    for seed in range(1000 + 100 * block, 1000 + 100 * block + (100 if not pairs else 40)):
        small = Small(seed, pairs=pairs, most=3)
        explainer = Explainer(small.model)
        rows = [small.some_row() for _ in range(8)]
        outcome = small.random.choice(small.classes) if small.classes else None
        for i in range(len(small.values)):
            if not numbers_of(small, i, 1):
                continue
            direction = small.random.choice([1, -1])
            found = explainer.monotone(f"f{i}", direction, outcome, table=table_of(small, rows))
            assert bool(found) == (not falls_somewhere(small, i, direction, outcome)), seed
            for fall in found.falls:
                before, after = ([to_plain(v) for v in one] for one in (fall.before, fall.after))
                assert [k for k in range(len(before)) if before[k] != after[k]] == [i]
                assert (after[i] - before[i]) * direction > 0
                high, low = small.lead(before, outcome), small.lead(after, outcome)
                assert any(new < old for old, new in zip(high, low, strict=True))
            check_certificate(explainer, found, small.task)
            expected = [k for k, row in enumerate(rows) if outcome and is_perverse(small, row, i, direction, outcome)]
            assert list(found.perverse) == expected, seed


def to_plain(value):
    return Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else value


def model(shape, domain, **pairs):
    return Explainer(
        AdditiveModel(
            [shape, Steps([1], [0, 0])], features=[Feature("x", domain), Feature("y", Domain.interval(0, 2))], **pairs
        )
    )


@pytest.mark.parametrize(
    ("shape", "domain", "falls"),
    [
        (PiecewiseLinear([0], [0], left_slope=1, right_slope=1), Domain.reals(), []),
        (PiecewiseLinear([0], [0], left_slope=1, right_slope=-1), Domain.reals(), [(0, None)]),
        (PiecewiseLinear([0], [0], left_slope=-1, right_slope=1), Domain.reals(), [(None, 0)]),
        (PiecewiseLinear([0], [0], left_slope=-1, right_slope=1), Domain.interval(0, 9), []),
        (PiecewiseLinear([0], [0], left_slope=-1, right_slope=-1), Domain.integers(), [(None, None)]),
        (Steps([3], [1, 0]), Domain.interval(0, 2), []),
        (Steps([3], [1, 0]), Domain.interval(0, 2) | Domain.interval(5, 6), [(2, 5)]),
        (Steps([3], [1, 0]), Domain.points(2, 3, 4), [(2, 3)]),
        (Steps([3, 4], [0, 1, 0], "right"), Domain.reals(), [(4, 4)]),
        (Table({4: -1}, otherwise=Steps([9], [0, 1])), Domain.reals(), [(4, 4)]),  # one number falls out of line
    ],
)
def test_falls_are_found_where_they_are(shape, domain, falls):
    found = model(shape, domain).monotone("x", "up")
    assert [(fall.start, fall.end) for fall in found.falls] == falls


def test_a_slope_that_depends_on_another_feature_is_taken_at_its_worst():
    bilinear = PairLinear([0, 1], [0, 2], [[0, 0], [0, -3]])  # falls in x, the more so the larger y is
    steep = PiecewiseLinear([0, 1], [0, 3])
    for slope, holds in ((steep, True), (steep * Fraction(99, 100), False)):
        explainer = model(slope, Domain.interval(0, 1), pairs={("x", "y"): bilinear})
        found = explainer.monotone("x", 1)
        assert bool(found) is holds
    (fall,) = found.falls
    assert fall.amount == Fraction(3, 100)
    assert "whatever the other features are" in str(found)
    assert "with y = " in str(found)


def test_what_has_no_direction_is_refused():
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": 1})], features=["colour"]))
    with pytest.raises(BoxError, match="has no numbers"):
        explainer.monotone("colour", 1)
    with pytest.raises(FeatureNameError):
        explainer.monotone("color", 1)
    with pytest.raises(OptionError, match="direction must be"):
        explainer.monotone("colour", 0)
    three = Explainer(AdditiveModel([Steps([0], [[0, 0, 0], [0, 1, 2]])], [0, 0, 0], "multiclass", features=["x"]))
    with pytest.raises(ClaimError, match="must name a class"):
        three.monotone("x", 1)


def test_of_several_classes_the_lead_is_what_must_not_fall():
    shapes = [Steps([1], [[0, 0, 0], [1, 2, 0]])]
    found = Explainer(AdditiveModel(shapes, [0, 0, 0], "multiclass", ["x"], classes=["a", "b", "c"])).monotone(
        "x", 1, "a"
    )
    assert not found  # the score for a rises, but that for b rises more
    assert found.sentence.startswith("as x rises, the lead of a over any other class never falls")


@pytest.mark.parametrize("side", [-1, 1])
def test_integers_that_begin_or_end_beyond_all_knots_are_looked_at(side):
    ends = {"high": -100} if side < 0 else {"low": 100}
    slope = {"left_slope": -1} if side < 0 else {"right_slope": -1}
    shape = PiecewiseLinear([5, 6], [0, 1], **slope)
    model = AdditiveModel([shape], 0, features=[Feature("a", Domain.integers(**ends))], classes=["no", "yes"])
    assert not Explainer(model).monotone("a", "up")
    assert Explainer(model).monotone("a", "down")
