"""Certificates about smooth shapes: the checker's integers against mpmath, and forged statements against sampling."""

import copy
import json
import math
import random
import statistics
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from builders import sentence

from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    CertificateError,
    Composed,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    PiecewisePolynomial,
    ProbabilityAtLeast,
    Smooth,
    SmoothNetwork,
    Steps,
    Table,
    Within,
)
from suffice.model.writing import to_bytes
from suffice_check import RejectedError, UnreadableError, balls, check, shapes, smooth
from suffice_check.cells import SmoothPart, check_known
from suffice_check.checker import Checker
from suffice_check.claims import Claim, Inequality
from suffice_check.domain import Span
from suffice_check.network import Tensor
from suffice_check.ordered import Number
from suffice_check.shape_reading import read_any
from suffice_check.smooth import Cell
from suffice_check.smooth_functions import function
from suffice_check.tensors import Tensors

DIGITS = 300  # bits


def real(integer):
    return mpmath.mpf(integer) / 2**balls.BITS


def holds(ball, value):
    return abs(value - real(ball[0])) <= real(ball[1])


def numbers(rng, low, high):
    """Balls: thin and wide ones, near 0 and at the ends too."""
    for _ in range(150):
        near = rng.uniform(-0.01, 0.01) if low < 0 else rng.uniform(low, 1)
        x = rng.choice([rng.uniform(low, high), near, low, high])
        radius = rng.choice([0, 0, 1, 2**40, 2 ** (balls.BITS - 8), 2 ** (balls.BITS - 1)])
        yield int(x * 2**60) << (balls.BITS - 60), radius


BALLS = {
    "exp": (balls.exp, mpmath.exp, -90, 40),
    "logarithm": (balls.logarithm, mpmath.log, 0.6, 900),
    "root": (balls.root, mpmath.sqrt, 0.6, 900),
    "normal": (balls.normal, mpmath.ncdf, -15, 15),
    "density": (balls.density, mpmath.npdf, -15, 15),
    "inverse": (balls.inverse, lambda x: 1 / x, 0.6, 900),
    "square": (balls.square, lambda x: x * x, -9, 9),
    "sine": (lambda a: function("sine", [])(a)[0], mpmath.sin, -900, 900),
    "cosine": (lambda a: function("sine", [])(a)[1], mpmath.cos, -3e9, 3e9),
}


@pytest.mark.parametrize("name", BALLS)
def test_balls_hold_what_many_digits_say(name):
    enclose, exact, low, high = BALLS[name]
    rng = random.Random(name)
    with mpmath.workprec(DIGITS):
        for m, r in numbers(rng, low, high):
            found = enclose((m, r))
            for at in (m, m - r, m + r, m + rng.randint(-r, r)):
                assert holds(found, exact(real(at))), (m, r, at)
            if not r:
                assert found[1] <= 64 + (abs(found[0]) >> (balls.BITS - 20)), "a ball around one number is tight"


def test_errors_are_counted_where_they_are_not_covered_by_spare_digits(monkeypatch):
    """With 40 bits to spare, and sums of 180, what is off never shows: so without spare ones, and in shorter sums."""
    rng = random.Random(3)
    with mpmath.workprec(600):
        monkeypatch.setattr(balls, "_MORE", 0)
        for bits in (24, 80, 250):
            for _ in range(150):
                x = rng.randint(0, rng.choice([1, 6]) << bits)
                middle, off = balls.exp_minus(x, bits)
                assert abs(mpmath.exp(-mpmath.mpf(x) / 2**bits) * 2**bits - middle) <= off, (x, bits)
        monkeypatch.undo()
        monkeypatch.setattr(balls, "_SPARE", 0)
        for _ in range(150):
            x = rng.randint(0, balls.ONE)
            above, dense = balls._above(x)
            assert holds(above, 1 - mpmath.ncdf(real(x))), x
            assert holds(dense, mpmath.npdf(real(x))), x
        monkeypatch.undo()
        monkeypatch.setattr(balls, "_LAST", 1 << 60)
        for _ in range(150):
            x = rng.randint(0, rng.choice([1, 10]) * balls.ONE - 1)
            above, dense = balls._above(x)
            assert holds(above, 1 - mpmath.ncdf(real(x))), x
            assert holds(dense, mpmath.npdf(real(x))), x


def test_guesses_of_floats_are_not_believed(monkeypatch):
    """A wrong guess is refused, or mended; it never shows in what is found."""

    class Wrong:
        def inv_cdf(self, p):
            return statistics.NormalDist().inv_cdf(p) + 0.3

    monkeypatch.setattr(balls, "NormalDist", Wrong)
    monkeypatch.setattr(balls, "log", lambda x: math.log(x) + 0.1)
    with mpmath.workprec(DIGITS):
        for x in (balls.ONE // 3, balls.ONE // 50, balls.ONE // 10**6):
            for enclose, exact in (
                (balls.logarithm, mpmath.log(real(x))),
                (balls.quantile, mpmath.sqrt(2) * mpmath.erfinv(2 * real(x) - 1)),
            ):
                try:
                    found = enclose((x, 0))
                except balls.UnknownError:
                    continue
                assert holds(found, exact)


def test_constants_are_what_they_are_called():
    with mpmath.workprec(600):
        assert mpmath.floor(mpmath.pi * 2**256) == balls._PI
        assert mpmath.floor(mpmath.log(2) * 2**256) == balls._LOG_2
        for i in range(178):
            assert 0 <= mpmath.exp(-mpmath.mpf(i) / 256) * 2**256 - balls._of_256ths(i) < 4


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "silu", "gelu", "softplus", "mish"])
def test_coefficients_hold_over_wide_balls_and_where_functions_are_flat(name):
    """What bounds the third derivative must hold, near its largest value and far out, for balls of any width."""
    parameters = [Fraction(2)] if name == "softplus" else []
    formula, exact, rng = function(name, parameters), FUNCTIONS[(name, *map(int, parameters))], random.Random(name)
    with mpmath.workprec(DIGITS):
        for _ in range(15 if name == "gelu" else 60):  # whose derivatives the other library finds slowly
            m = int(rng.choice([0, 0.4, 0.75, 0.79, 1.3, 2.5, 6, 20, rng.uniform(-9, 9)]) * 2**60) << (balls.BITS - 60)
            r = rng.choice([1, 4, 12, 16, 17, 40, 160, 700]) << (balls.BITS - 4)
            found = formula((m, r))
            for at in (m - r, m + r, m - r // 2, m + r // 3, m + rng.randint(-r, r)):
                for k, ball in enumerate(found):
                    value = exact(real(at)) if not k else mpmath.diff(exact, real(at), k) / k
                    slack = mpmath.mpf(2) ** -70 if k else 0  # of numeric derivatives
                    assert abs(value - real(ball[0])) <= real(ball[1]) + slack, (name, k, m, r, at)


def mp_softplus(x):
    return mpmath.log1p(mpmath.exp(x))


FUNCTIONS = {
    ("tanh",): mpmath.tanh,
    ("sigmoid",): lambda x: 1 / (1 + mpmath.exp(-x)),
    ("silu",): lambda x: x / (1 + mpmath.exp(-x)),
    ("gelu",): lambda x: x * mpmath.ncdf(x),
    ("gelu_tanh",): lambda x: (
        x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))
    ),
    ("mish",): lambda x: x * mpmath.tanh(mp_softplus(x)),
    ("hardswish",): lambda x: x * min(max(x + 3, 0), 6) / 6,
    ("softplus", 2): lambda x: mp_softplus(2 * x) / 2,
    ("elu", 1): lambda x: x if x >= 0 else mpmath.expm1(x),
    ("celu", 2): lambda x: x if x >= 0 else 2 * mpmath.expm1(x / 2),
    ("exp",): mpmath.exp,
    ("log",): lambda x: mpmath.log(x + 7),
    ("sqrt",): lambda x: mpmath.sqrt(x + 7),
    ("box_cox", Fraction(1, 3)): lambda x: 3 * (mpmath.cbrt(x + 7) - 1),
    ("yeo_johnson", Fraction(1, 2)): lambda x: (
        2 * (mpmath.sqrt(1 + x) - 1) if x >= 0 else -((1 - x) ** mpmath.mpf("1.5") - 1) / mpmath.mpf("1.5")
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients_hold_over_balls(name):
    kind, *parameters = name
    formula, exact = function(kind, [Fraction(one) for one in parameters]), FUNCTIONS[name]
    moved = 7 * balls.ONE if kind in ("log", "sqrt", "box_cox") else 0
    rng = random.Random(kind)
    with mpmath.workprec(DIGITS):
        for m, r in numbers(rng, -6, 6):
            found = formula((m + moved, r))
            at = real(m + rng.randint(-r, r))
            if min(abs(at), abs(abs(at) - 3)) > 1e-3:  # derivatives may jump at 0, those of hardswish at -3 and 3
                for k, ball in enumerate(found):
                    if ball is None:
                        continue
                    value = exact(at) if not k else mpmath.diff(exact, at, k) / k
                    slack = mpmath.mpf(2) ** -70 if k else 0  # of numeric derivatives
                    assert abs(value - real(ball[0])) <= real(ball[1]) + slack, (kind, k, at)


def network(rng, activation, outputs=1):
    sizes = [1, 6, 6, outputs]
    weights = [rng.normal(size=(b, a)) for a, b in pairwise(sizes)]
    return SmoothNetwork(weights, [rng.normal(size=b) * 0.5 for b in sizes[1:]], activation)


def plain(shape, x):
    """A network in many digits."""
    functions = {"tanh": mpmath.tanh, "gelu": FUNCTIONS["gelu",], "selu": mp_selu, "silu": FUNCTIONS["silu",]}
    units = [x]
    for k, (weight, bias) in enumerate(zip(shape.weights, shape.biases, strict=True)):
        units = [
            mpmath.fsum(mpmath.mpf(float(w)) * u for w, u in zip(row, units, strict=True)) + mpmath.mpf(float(b))
            for row, b in zip(weight, bias, strict=True)
        ]
        if k + 1 < len(shape.weights):
            units = [functions[shape.activations[k].name](u) for u in units]
    return units[0]


def mp_selu(x):
    alpha, scale = mpmath.mpf(1.6732632423543772848), mpmath.mpf(1.0507009873554804934)
    return scale * (x if x >= 0 else alpha * mpmath.expm1(x))


@pytest.mark.parametrize("activation", ["tanh", "gelu", "selu"])
def test_jets_of_networks_hold_in_many_digits(activation):
    shape = network(np.random.default_rng(3), activation)
    read = Checker(to_bytes(AdditiveModel([shape]))).model.features[0].shape
    rng = random.Random(activation)
    with mpmath.workprec(DIGITS):
        for _ in range(25):
            low = Fraction(rng.randint(-300, 300), 100)
            high = low + Fraction(1, rng.choice([1, 8, 1000]))
            (jet,) = read.jets(Cell(low, high, (low + high) / 2))
            ends = [mpmath.mpf(one.numerator) / one.denominator for one in (low, high)]
            places = [ends[0] + (ends[1] - ends[0]) * k / 6 for k in range(7)]
            values = [plain(shape, x) for x in places]
            assert all(real(jet.at_least()) <= value and holds(jet.cell[0], value) for value in values)
            chord = (values[-1] - values[0]) / (ends[1] - ends[0])
            assert abs(chord - real(jet.cell[1][0])) <= real(jet.cell[1][1])


def test_values_at_a_number_are_those_over_a_cell_of_no_width_and_jumps_inside_are_refused():
    first = smooth.read_layer(
        Tensor("F64", (2, 1), (0.5, -3.0)), Tensor("F64", (2,), (0.25, 1.0)), [function("tanh", [])]
    )
    second = smooth.read_layer(Tensor("F64", (2, 2), (1.0, 2.0, -1.0, 0.5)), None, [function("gelu", [])])
    last = smooth.read_layer(Tensor("F64", (1, 2), (1.0, 1.0)), None, [])
    network = smooth.SmoothNetwork([first, second, last], {2: 1})
    at = Fraction(3, 8)
    with mpmath.workprec(DIGITS):
        a, b = mpmath.tanh(_mp(at) / 2 + 0.25), mpmath.tanh(1 - 3 * _mp(at))
        exact = sum(FUNCTIONS["gelu",](one) for one in (a + 2 * b, b / 2 - a)) + a + b
        (value,), (jet,) = network.values(at), network.jets(Cell(at, at, at))
        assert holds(value, exact)
        assert holds(jet.middle[0], exact)
    jump = smooth.Exact(shapes.steps([Fraction(0)], [(Fraction(0),), (Fraction(1),)], "left"))
    with pytest.raises(balls.UnknownError):
        jump.on(smooth.variable(Cell(Fraction(-1), Fraction(1), Fraction(1, 2))))
    bent = smooth.Exact(shapes.broken_line([Fraction(0)], [(Fraction(0),)], [(Fraction(-1),), (Fraction(2),)]))
    (jet,) = bent.on(smooth.variable(Cell(Fraction(-1), Fraction(1), Fraction(1, 2))))
    assert jet.cell[2] is None


def test_a_low_entry_of_a_table_counts():
    model = AdditiveModel(
        [Table({Fraction(1, 2): -5}, Smooth("tanh"))], 2, features=[Feature("a", domain=Domain.interval(-1, 1))]
    )
    document = json.loads(Explainer(model).explain([0], 1, unit="raw").certificate().text)
    assert document["result"]["fixed"] == [0]
    said = {"kind": "explanation", "fixed": [], "lower_bound": "0"}
    for cells in ([[]], [["-1/2", "1/4"]], [["1/2"]]):
        forged = document | {"result": said, "evidence": {"witnesses": [], "tree": [], "cells": cells}}
        with pytest.raises(RejectedError, match="sufficiency"):
            check(to_bytes(model), json.dumps(forged).encode())


class World:
    """A model of smooth networks, and what sampling and many digits say of it."""

    def __init__(self, activation, seed):
        rng = np.random.default_rng(seed)
        self.shapes = [network(rng, activation) for _ in range(4)]
        self.row = [Fraction(int(t), 8) for t in rng.integers(-8, 8, 4)]
        features = [Feature(f"x{i}", domain=Domain.interval(-3, 3)) for i in range(4)]
        self.model = AdditiveModel(self.shapes, 0.25, features=features)
        self.asked, self.checker = Explainer(self.model), Checker(to_bytes(self.model))
        self.radius = Fraction(1, 2)
        values = [plain(shape, _mp(x)) for shape, x in zip(self.shapes, self.row, strict=True)]
        self.score = mpmath.fsum(values) + mpmath.mpf(0.25)
        self.lowest = {r: [self._fall(i, r, values[i]) for i in range(4)] for r in (self.radius, Fraction(1, 4))}

    def _fall(self, i, radius, here):
        """How far a feature lowers the margin at least, by sampling."""
        low, high = (max(-3, min(3, self.row[i] + side * radius)) for side in (-1, 1))
        places = [low + (high - low) * Fraction(k, 24) for k in range(25)]
        sign = 1 if self.score > 0 else -1
        return max(sign * (here - plain(self.shapes[i], _mp(x))) for x in places)

    def is_broken(self, fixed, radius):
        """Whether sampled inputs break the claim; that none does shows nothing."""
        return sum(fall for i, fall in enumerate(self.lowest[radius]) if i not in fixed) > abs(self.score)


def _mp(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize(("activation", "seed"), [("tanh", 9), ("gelu", 8), ("silu", 2), ("selu", 4)])
def test_certificates_are_accepted_and_forged_ones_are_not(activation, seed):
    world = World(activation, seed)
    asked, row = world.asked, world.row
    answers = [
        asked.explain(row, world.radius, unit="raw"),
        asked.sufficiency(row, ["x0"], world.radius, unit="raw"),
        asked.contrast(row, world.radius, unit="raw", cost={"x1": 2}),
        asked.counterfactual(row, world.radius, unit="raw"),
        asked.radius(row, ["x0", "x1"], unit="raw"),
        asked.curve(row, unit="raw"),
    ]
    for answer in answers:
        document = json.loads(answer.certificate().text)
        world.checker.check(json.dumps(document).encode())
        said, tried = document["result"], []
        if said["kind"] == "explanation":
            tried += [
                {**said, "fixed": [i for i in said["fixed"] if i != k], "lower_bound": "0"} for k in said["fixed"]
            ]
            tried += [{**said, "lower_bound": str(int(said["lower_bound"]) + 1)}]
        if said["kind"] in ("contrast", "counterfactual"):
            tried += [{**said, "lower_bound": str(int(said["lower_bound"]) + 1)}]
        if said["kind"] == "radius" and said["fails_at"] is not None:
            tried += [{**said, "holds_at": said["fails_at"]}, {**said, "fails_at": said["holds_at"]}]
        for one in tried:
            for cells in (document["evidence"]["cells"], [[]] * 4):
                forged = copy.deepcopy(document) | {"result": one}
                forged["evidence"]["cells"] = cells
                if one["kind"] == "explanation" and one["lower_bound"] == "0":
                    forged["evidence"] |= {"witnesses": [], "tree": []}
                with pytest.raises((RejectedError, UnreadableError)):
                    world.checker.check(json.dumps(forged).encode())


@pytest.mark.parametrize(("activation", "seed"), [("tanh", 9), ("silu", 2), ("selu", 4)])
def test_roles_and_lists_of_sets_have_certificates_and_other_roles_are_refused(activation, seed):
    world = World(activation, seed)
    listed = world.asked.explanations(world.row, world.radius, unit="raw")
    world.checker.check(listed.certificate().text.encode())
    document = json.loads(world.asked.relevance(world.row, world.radius, unit="raw").certificate().text)
    world.checker.check(json.dumps(document).encode())
    roles = ("necessary", "relevant", "irrelevant")
    moved = 0
    for role in roles:
        for place, feature in enumerate(document["result"][role]):
            for other in set(roles) - {role}:
                forged = copy.deepcopy(document)
                evidence, said = forged["evidence"], forged["result"]
                said[role].remove(feature)
                lists = {"relevant": evidence["sets"], "irrelevant": evidence["trees"]}
                if role in lists:
                    del lists[role][place]
                said[other] = sorted([*said[other], feature])
                for entry in ([0, 1, 2, 3], [feature], []) if other == "relevant" else ([{"fits": True}], []):
                    tried = copy.deepcopy(forged)
                    if other in lists:
                        added = tried["evidence"]["sets" if other == "relevant" else "trees"]
                        added.insert(said[other].index(feature), entry)
                    moved += 1
                    with pytest.raises((RejectedError, UnreadableError)):
                        world.checker.check(json.dumps(tried).encode())
    assert moved


def test_what_samples_break_is_never_accepted():
    """Every set that sampled inputs show to be too small is refused, whatever cells are offered."""
    world = World("tanh", 9)
    document = json.loads(world.asked.explain(world.row, world.radius, unit="raw").certificate().text)
    fine = [[str(Fraction(k, 16)) for k in range(-48, 49)]] * 4
    refused = 0
    for radius in (world.radius, Fraction(1, 4)):
        for fixed in ([], [0], [1], [2], [3], [0, 1], [2, 3]):
            forged = copy.deepcopy(document)
            forged["question"]["radius"] = str(radius)
            forged |= {
                "result": {"kind": "explanation", "fixed": fixed, "lower_bound": "0"},
                "evidence": {"witnesses": [], "tree": [], "cells": fine},
            }
            if world.is_broken(fixed, radius):
                refused += 1
                with pytest.raises(RejectedError):
                    world.checker.check(json.dumps(forged).encode())
    assert refused


def test_shapes_of_shapes_tables_jumps_integers_and_several_classes():
    maps = [
        Composed(PiecewiseLinear([0], [0], left_slope=-1, right_slope=1), Smooth("log")),
        Table({MISSING: 1, 2: "1/3"}, Smooth("yeo_johnson", 0.5) + Steps([1], [0, "1/2"])),
        Composed(Smooth("sqrt"), PiecewisePolynomial([], [[1, 0, 1]])) * -2,
        Smooth("box_cox", "1/3") + PiecewisePolynomial([3], [[0, 1, -1], [5]]),
    ]
    features = [
        Feature("a", domain=Domain.interval("1/4", 5)),
        Feature("b", domain=Domain.interval(-2, 4) | Domain.codes(MISSING)),
        Feature("c", domain=Domain.integers(-6, 6)),
        Feature("d", domain=Domain.interval("1/2", 6)),
    ]
    model = AdditiveModel(maps, 4, features=features, task="regression")
    checker, asked = Checker(to_bytes(model)), Explainer(model)
    for row in ([2, 0, 3, 3], [1, MISSING, -1, "5/2"], ["1/4", 2, 6, 6]):
        for claim in (Within(1), AtLeast(-20)):
            for radius in (1, "1/3"):
                why = asked.explain(row, radius, unit="raw", claim=claim)
                checker.check(why.certificate().text.encode())
                checker.check(asked.contrast(row, radius, unit="raw", claim=claim).certificate().text.encode())
    rng = np.random.default_rng(8)
    classes = AdditiveModel([network(rng, "gelu", 3), network(rng, "tanh", 3)], [0, "1/2", 0], "multiclass")
    why = Explainer(classes).explain([0, 1], 1, unit="raw")
    check(to_bytes(classes), why.certificate().text.encode())


def test_smooth_shapes_beside_curves_whose_minima_are_roots():
    model = AdditiveModel([Smooth("tanh"), PiecewisePolynomial([], [[0, -2, 0, 1]]), Steps([0], [0, 1])], 2)
    asked, checker, row = Explainer(model), Checker(to_bytes(model)), [0, 0, 1]
    for answer in (
        asked.explain(row, 1, unit="raw"),
        asked.explain(row, 1, unit="raw", claim=ProbabilityAtLeast(0.6)),
        asked.contrast(row, 3, unit="raw", cost={"x1": 2}),
        asked.counterfactual(row, 3, unit="raw"),
        asked.radius(row, ["x0"], unit="raw"),
    ):
        checker.check(answer.certificate().text.encode())


def test_numbers_that_grow_too_long_are_refused_before_they_do():
    cube = {"kind": "piecewise_polynomial", "knots": [[]], "coefficients": [["0", "0", "0", "1"]], "values": []}
    cube = {key: content if key == "kind" else {"numbers": content} for key, content in cube.items()}
    deep = cube
    for _ in range(30):  # x^(3^31), whose digits no memory holds
        deep = {"kind": "composed", "outer": cube, "inner": deep}
    with pytest.raises(RejectedError):
        read_any(deep, Tensors({}, memoryview(b"")), []).values(Fraction(3))


def test_nothing_times_a_smooth_shape_is_exactly_nothing():
    model = AdditiveModel([Smooth("tanh") * 0, Steps([0], [0, 1])], 1)
    check(to_bytes(model), Explainer(model).explain([0, 1], 2, unit="raw").certificate().text.encode())
    model = AdditiveModel([Smooth("log") * 0, Steps([0], [0, 1])], 1)  # 0, as the format says, also below 0
    why = Explainer(model).explain([-1, 1], 2, unit="raw")
    assert (why.features, why.margin) == ((), 2)
    check(to_bytes(model), why.certificate().text.encode())
    features = [Feature("a", domain=Domain.interval(-3, 3) | Domain.codes(MISSING)), "b"]
    model = AdditiveModel([Table({MISSING: 1, 2: 3}, Smooth("tanh")) * 0, Steps([0], [0, 1])], 1, features=features)
    for row in ([MISSING, 1], [0, 1], [2, 1]):
        check(to_bytes(model), Explainer(model).explain(row, "inf").certificate().text.encode())


@pytest.mark.parametrize("cells", [None, [[]], [["1", "0"], []], [["x"], []], [[str(k) for k in range(20_001)], []]])
def test_malformed_cells_are_refused(cells):
    model = AdditiveModel([Smooth("tanh"), Smooth("tanh")], 1)
    document = json.loads(Explainer(model).explain([0, 0], 1, unit="raw").certificate().text)
    document["evidence"]["cells"] = cells
    if cells is None:
        del document["evidence"]["cells"]
    with pytest.raises(UnreadableError):
        check(to_bytes(model), json.dumps(document).encode())


def test_a_row_at_which_a_function_has_no_derivative_has_no_certificate_and_says_why():
    features = [Feature("a", domain=Domain.interval(0, 1)), "b"]
    model = AdditiveModel([Smooth("sqrt"), Steps([0], [0, 1])], 1, features=features)
    with pytest.raises(CertificateError) as error:
        Explainer(model).explain([0, 1], "1/4", unit="raw").certificate()
    assert "no derivative" in sentence(error)


def test_sines_and_normal_quantiles_have_certificates():
    for name, row in (("sine", "1/2"), ("normal_quantile", "1/2"), ("normal_quantile", "1/100")):
        domain = Domain.interval("1/1000", "3/4") if name == "normal_quantile" else Domain.interval(-9, 9)
        features = [Feature(letter, domain=domain) for letter in "ab"]
        model = AdditiveModel([Smooth(name), Smooth(name) * -2], "1/2", features=features)
        for radius in ("1/8", "1/200"):
            check(to_bytes(model), Explainer(model).explain([row, row], radius, unit="raw").certificate().text.encode())


def test_normal_quantiles_hold_what_many_digits_say_up_to_their_ends():
    rng = random.Random(4)
    with mpmath.workprec(DIGITS):
        for _ in range(60):
            p = int(balls.ONE * 10 ** -rng.uniform(0.01, 12))
            r = rng.choice([0, 1, p >> 30, p >> 3]) if p < balls.ONE // 2 else 0
            found = [function("normal_quantile", [])((one, r)) for one in (p, balls.ONE - p)]
            for at in (p - r, p, p + r):
                y = mpmath.sqrt(2) * mpmath.erfinv(2 * real(at) - 1)
                steep = 1 / mpmath.npdf(y)
                for sign, (value, slope, bend) in zip((1, -1), found, strict=True):
                    assert holds(value, sign * y), (p, r)
                    assert holds(slope, steep), (p, r)
                    assert holds(bend, sign * y * steep**2 / 2), (p, r)
    for p in (0, -1, balls.ONE, balls.ONE + 5):
        with pytest.raises(RejectedError):
            function("normal_quantile", [])((p, 0))


def powers_file(knots, coefficients, values):
    """A model file of one piecewise polynomial of any degree, for numbers from -2 to 2."""
    features = [Feature("a", domain=Domain.interval(-2, 2))]
    content = to_bytes(AdditiveModel([Steps([0], [0, 1])], 0, features=features, task="regression"))
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document = json.loads(header["__metadata__"]["suffice"])
    rows = {"knots": [knots], "coefficients": coefficients, "values": values}
    rows = {name: {"numbers": [[str(one) for one in row] for row in each]} for name, each in rows.items()}
    document["terms"][0]["shape"] = {"kind": "piecewise_polynomial", **rows}
    text = json.dumps({"__metadata__": {"suffice": json.dumps(document)}}).encode()
    return len(text).to_bytes(8, "little") + text


def test_polynomials_of_higher_degree_are_enclosed():
    rng, x, knot, jump = random.Random(6), Fraction(-1, 2), Fraction(1, 4), Fraction(1, 3)
    places = [x - 1 + Fraction(k, 500) for k in range(1001)]
    question = {"radius": "1", "unit": "raw", "immutable": [], "fix": [], "free": [], "cost": {}, "groups": {}}
    question |= {"max_changed": None, "norm": "inf", "arithmetic": "exact"}
    for degree in (4, 5, 9):
        pieces = [[Fraction(rng.randint(-9, 9), 4) for _ in range(degree + 1)] for _ in range(2)]
        checker = Checker(powers_file([knot], pieces, [[jump]]))
        values = [jump if t == knot else sum(p * t**k for k, p in enumerate(pieces[t > knot])) for t in places]
        for more, is_true in ((Fraction(-1, 100), True), (Fraction(1, 10**9), False)):
            claim = {"kind": "at_least", "value": str(min(values) + more)}
            document = {"version": 3, "model": checker.digest, "row": [{"number": str(x)}], "enclosure": None}
            document |= {"question": {**question, "claim": claim}, "charges": None}
            document |= {"result": {"kind": "explanation", "fixed": [], "lower_bound": "0"}}
            document |= {"evidence": {"witnesses": [], "tree": [], "cells": [[str(t) for t in places[::4]]]}}
            if is_true:
                checker.check(json.dumps(document).encode())
            else:
                with pytest.raises(RejectedError):
                    checker.check(json.dumps(document).encode())
    with pytest.raises(UnreadableError, match="coefficients"):
        Checker(powers_file([], [[1] * 65], []))


def test_functions_that_the_checker_does_not_know_are_refused_in_one_sentence():
    for name, parameters in (("cosine", []), ("sine", [Fraction(1)]), ("elu", []), ("elu", [Fraction(0)])):
        with pytest.raises(ValueError, match=name):
            function(name, parameters)


def test_a_class_is_only_taken_for_known_where_both_ends_of_the_scores_say_so():
    tanh = Checker(to_bytes(AdditiveModel([Smooth("tanh")], features=["a"]))).model
    wide = SmoothNetwork([[[1.0]], [[1.0], [2.0], [3.0]]], [[0.0], [0.0, 0.0, 0.0]], "tanh")
    three = Checker(to_bytes(AdditiveModel([wide], [0, 0, 0], "multiclass", ["a"], classes=["x", "y", "z"]))).model
    small, same = Fraction(1, 2**90), Claim("same")
    for model, low, high in (
        (tanh, [-small], [small]),
        (tanh, [Fraction(0)], [small]),  # it may be 0, at which a rule for ties decides
        (three, [Fraction(1), Fraction(1) - small, Fraction(0)], [Fraction(1), Fraction(1) + small, Fraction(0)]),
    ):
        with pytest.raises(RejectedError, match="not known closely enough to tell its class"):
            check_known(same, model, low, high)
        check_known(Claim("at_least", Fraction(-1)), model, low, high)  # which is not about a class
    check_known(same, tanh, [small], [2 * small])
    check_known(same, tanh, [-2 * small], [-small])
    check_known(same, three, [Fraction(1), Fraction(0), Fraction(0)], [Fraction(1), Fraction(1) - small, Fraction(0)])


def test_what_is_known_of_the_row_between_two_numbers_counts_against_the_claim():
    """A feature's largest fall is counted from the upper end of its value at the row, one at a place from the lower."""
    table, domain = Table({MISSING: -3}, Smooth("tanh")), Domain.interval(-2, 2) | Domain.codes(MISSING)
    feature = Feature("a", domain=domain)
    (feature,) = Checker(to_bytes(AdditiveModel([table], features=[feature]))).model.features
    inequality, low, high = Inequality((1,), Fraction(0), False), Fraction(1, 4), Fraction(3, 4)
    wide, least, most = (
        SmoothPart(feature, ((a,), (b,)), [inequality], 1, [Fraction(0)])
        for a, b in ((low, high), (low, low), (high, high))
    )
    span = Span(Number(Fraction(-1)), Number(Fraction(1)), is_integers=False)
    assert wide.over(span) == most.over(span) != least.over(span)
    (fall,) = wide.over(span)
    assert fall.value >= high - Fraction(float(mpmath.tanh(-1))) - Fraction(1, 2**50)
    assert wide.drops(feature.domain) == most.drops(feature.domain) != least.drops(feature.domain)
    at = Number(Fraction(-1))
    assert wide.fall(0, at) == least.fall(0, at) != most.fall(0, at)
