"""What is charged for rounding at the limits of a float type, against forward passes of NumPy and exact fractions.

The oracle shares nothing with the library: `exact` computes a model in fractions, `deployed` in NumPy floats, with sums
in a random order. Where the library gives a bound, the two must not be further apart; where it refuses, it must say so.
"""

from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice import Activation, AdditiveModel, AtLeast, Domain, Explainer, Feature, ReluNetwork, Table
from suffice.core.rounding import Rounding
from suffice.numbers.exact import rational

KINDS = {"float32": np.float32, "float64": np.float64}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the oracle under- and overflows


def exact_exp(value):
    """The float64 nearest to e^value."""
    return float(Decimal(float(value)).exp(Context(prec=60)))


def activate(name, argument, y, kind=None):
    """An activation in fractions, or with rounding in a type."""
    number = Fraction if kind is None else kind
    zero, given = number(0), number(argument) if argument is not None else None
    if name == "relu":
        return max(y, zero)
    if name == "relu_n":
        return min(max(y, zero), given)
    if name == "leaky_relu":
        return y if y > 0 else number(given * y)
    return y if name == "identity" else abs(y)


def exact(net, x):
    """A network in exact arithmetic."""
    h = [Fraction(x)]
    for k, (weight, bias) in enumerate(net["layers"]):
        if k == 0 and net["exu"]:
            h = [Fraction(exact_exp(row[0])) * (h[0] - Fraction(b)) for row, b in zip(weight, bias, strict=True)]
        else:
            h = [
                sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(b))
                for row, b in zip(weight, bias, strict=True)
            ]
        if k < len(net["layers"]) - 1:
            h = [activate(net["name"], net["argument"], v) for v in h]
    return h[0]


def deployed(net, x, kind, rng):
    """The same network in a float type, every sum in a random order."""
    h = [kind(x)]
    for k, (weight, bias) in enumerate(net["layers"]):
        rows = []
        for row, b in zip(weight, bias, strict=True):
            if k == 0 and net["exu"]:
                rows.append(kind(np.exp(kind(row[0])) * kind(h[0] - kind(b))))
                continue
            terms = [kind(kind(w) * v) for w, v in zip(row, h, strict=True)] + [kind(b)]
            total = kind(0)
            for place in rng.permutation(len(terms)):
                total = kind(total + terms[place])
            rows.append(total)
        h = [activate(net["name"], net["argument"], v, kind) for v in rows] if k < len(net["layers"]) - 1 else rows
    return h[0]


def shape_of(net):
    activation = {
        "relu": lambda _: "relu",
        "identity": lambda _: "identity",
        "abs": lambda _: "abs",
        "relu_n": Activation.relu_n,
        "leaky_relu": Activation.leaky_relu,
    }[net["name"]](net["argument"])
    weights, biases = zip(*net["layers"], strict=True)
    return ReluNetwork([np.array(w) for w in weights], [np.array(b) for b in biases], activation, exu=net["exu"])


def extreme(rng, kind, spread):
    """A number with a random exponent, often near an end of the type; sometimes 0, one, or a float of the type."""
    lowest, highest = (-160, 128) if kind is np.float32 else (-1074, 1000)
    which = rng.integers(0, 6)
    if which == 0:
        return 0.0
    exponent = int(rng.integers(lowest, highest) if which == 1 else rng.integers(-spread, spread + 1))
    value = float(np.ldexp(rng.choice([-1.0, 1.0]) * rng.uniform(1, 2), exponent))
    return float(kind(value)) if which == 2 and np.isfinite(kind(value)) else value


def network(rng, kind, spread):
    widths = [1, *(int(n) for n in rng.integers(1, 5, size=rng.integers(1, 4))), 1]
    is_exu = bool(rng.integers(0, 4) == 0)
    layers = [
        (
            [[extreme(rng, kind, spread) for _ in range(before)] for _ in range(after)],
            [extreme(rng, kind, spread) for _ in range(after)],
        )
        for before, after in pairwise(widths)
    ]
    if is_exu:
        low, high = (-104, 80) if kind is np.float32 else (-700, 600)
        layers[0] = ([[float(rng.uniform(low, high))] for _ in layers[0][0]], layers[0][1])
    name = str(rng.choice(["relu", "identity", "abs", "relu_n", "leaky_relu"]))
    argument = {"relu_n": abs(extreme(rng, kind, spread)) or 1.0, "leaky_relu": extreme(rng, kind, spread)}.get(name)
    return {"layers": layers, "exu": is_exu, "name": name, "argument": argument}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [2, 40, 100])
def test_the_deployed_score_is_within_the_charge_near_the_limits(kind, spread):
    """Random networks whose parameters, scales, centers, factors and inputs reach into denormals and overflow."""
    rng, dtype, bounded = np.random.default_rng(spread), KINDS[kind], 0
    for _ in range(250):
        net = network(rng, dtype, spread)
        center, scale = extreme(rng, dtype, spread), extreme(rng, dtype, spread) or 1.0
        if rng.integers(0, 2):
            center, scale = 0.0, 1.0
        factor, start = (extreme(rng, dtype, spread) if rng.integers(0, 3) == 0 else 1.0), extreme(rng, dtype, spread)
        x, radius = extreme(rng, dtype, spread), abs(extreme(rng, dtype, spread)) * int(rng.integers(0, 2))
        is_inner = bool(rng.integers(0, 2))  # the scaling is the shape's, or the feature's
        shape = shape_of(net).rescaled(center, scale) if is_inner else shape_of(net)
        feature = Feature("a") if is_inner else Feature("a", center=center, scale=scale)
        model = AdditiveModel([shape * factor], start, "regression", features=[feature])
        try:
            (charge,) = Rounding(model, kind).errors([Domain.reals().around(rational(x), rational(radius))])
        except suffice.ClaimError:
            continue
        bounded += 1
        charge = Fraction(str(charge))
        for at in {Fraction(x), Fraction(x) - Fraction(radius), Fraction(x) + Fraction(radius) * Fraction(2, 3)}:
            true = exact(net, (at - Fraction(center)) / Fraction(scale)) * Fraction(factor) + Fraction(start)
            raw = dtype(float(at))
            for by_reciprocal in (False, True):
                moved = dtype(raw - dtype(center))
                z = dtype(moved * dtype(dtype(1) / dtype(scale))) if by_reciprocal else dtype(moved / dtype(scale))
                computed = dtype(dtype(dtype(factor) * deployed(net, z, dtype, rng)) + dtype(start))
                assert np.isfinite(computed)
                assert abs(Fraction(float(computed)) - true) <= charge, (net, center, scale, factor, start, x, at)
    assert bounded > 25  # enough of them do have a bound


def charge_of(shape, x, intercept=0, feature="a", kind="float32"):
    explainer = Explainer(AdditiveModel([shape], intercept, "regression", features=[feature]))
    why = explainer.explain([x], 0, unit="raw", claim=AtLeast(explainer.score([x]) - 10**60), arithmetic=kind)
    return Fraction(str(why.charged[0])), explainer.score([x])


def test_a_weight_that_rounds_among_the_denormals_is_charged_with_what_multiplies_it():
    first, second = 2.0**100, 1.5 * 2.0**-149  # the second is no float32: it becomes 2 * 2^-149
    net = ReluNetwork([[[first]], [[-second]]], [[0.0], [0.0]])
    charge, score = charge_of(net, 1.0, 1.75 * 2.0**-49)
    h = np.float32(first) * np.float32(1)
    assert abs(Fraction(float(np.float32(-second) * h + np.float32(1.75 * 2.0**-49))) - score) <= charge


def test_exponential_weights_and_shifts_among_the_denormals_are_charged():
    weight, x = -102.2, 2.0**100  # exp(weight) is 2.95 denormal steps
    charge, score = charge_of(ReluNetwork([[[weight]], [[-1.0]]], [[0.0], [0.0]], exu=True), x)
    assert abs(Fraction(float(-np.float32(np.exp(np.float32(weight))) * np.float32(x))) - score) <= charge
    shift = 1.5 * 2.0**-149
    charge, score = charge_of(ReluNetwork([[[80.0]], [[-1.0]]], [[-shift], [0.0]], exu=True), 0.0)
    assert abs(Fraction(float(-np.exp(np.float32(80)) * (np.float32(0) - np.float32(-shift)))) - score) <= charge


def test_the_exponential_of_narrow_weights_is_charged_in_a_wider_pass():
    """The exact model rounds exp to float32 where the weights are float32; a pass in float64 need not."""
    weight = np.array([[1.3]], np.float32)
    net = ReluNetwork([weight, np.ones((1, 1), np.float32)], [np.zeros(1, np.float32), None], exu=True)
    charge, score = charge_of(net, 1.0, kind="float64")
    assert 0 < abs(Fraction(float(np.exp(np.float64(weight[0, 0])))) - score) <= charge


HUGE, TINY = Fraction(10) ** 400, Fraction(1, 10**400)
LINE = ReluNetwork([[[1.0], [1.0]], [[0.5, -0.4]]], [[-2.0, -6.0], [1.0]])
REFUSED = {
    "a tiny scale": (LINE, TINY, 0, Feature("a", scale="1e-400"), "cannot divide by the scale of 'a'"),
    "a huge scale": (LINE, 1, 0, Feature("a", scale="1e400"), "may overflow"),
    "a scale beyond float32": (LINE, 1e38, 0, Feature("a", scale=1e39), "may overflow"),
    "a denormal scale": (LINE, 2.0**-149, 0, Feature("a", scale=2.0**-149), "cannot divide by the scale"),
    "a huge center": (LINE, HUGE, 0, Feature("a", center="1e400"), "may overflow"),
    "a center beyond float32": (LINE, 1e39, 0, Feature("a", center=1e39), "may overflow"),
    "an inner tiny scale": (LINE.rescaled(0, "1e-400"), TINY, 0, "a", "cannot divide by the scale"),
    "an inner huge scale": (LINE.rescaled(0, "1e400"), 1, 0, "a", "may overflow"),
    "a huge factor": (LINE * HUGE, 1, 0, "a", "may overflow"),
    "a huge entry": (Table({"b": HUGE}), "b", 0, "a", "may overflow"),
    "a huge intercept": (LINE, 1, HUGE, "a", "may overflow"),
    "a huge row": (LINE, HUGE, 0, "a", "may overflow"),
    "a steep activation": (
        ReluNetwork([[[1.0]], [[1.0]]], [[0.0], [0.0]], Activation.leaky_relu(1e39)), -1e-3, 0, "a", "may overflow",
    ),
    "a clip beyond float32": (
        ReluNetwork([[[1.0]], [[1.0]]], [[0.0], [0.0]], Activation.relu_n(1e39)), 1, 0, "a", "may overflow",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_type_cannot_hold_is_refused_in_a_sentence(case):
    shape, x, intercept, feature, message = REFUSED[case]
    with pytest.raises(suffice.ClaimError, match=message):
        charge_of(shape, x, intercept, feature)


def test_tiny_factors_and_entries_are_charged():
    charge, score = charge_of(LINE * TINY, 1)
    assert abs(score) <= charge < Fraction(1, 10**40)  # the factor becomes 0
    charge, score = charge_of(Table({"b": TINY}), "b", TINY)
    assert 0 < abs(score) <= charge < Fraction(1, 10**40)


def test_a_key_that_rounding_makes_equal_to_the_input_is_refused():
    near = float(np.float32(0.1))
    table = Table({Fraction(1, 10): 5}, otherwise=LINE)
    with pytest.raises(suffice.ClaimError, match="jumps"):
        charge_of(table, near, feature=Feature("a", Domain.reals()))


def test_the_charge_of_the_example_network_is_small():
    """Cells and units that are off keep it small: 0.0189 before, for 30 features of 64-64-32 units."""
    model = suffice.load(Path(suffice.__file__).parent / "data" / "breast_cancer.safetensors")
    why = Explainer(model).explain([feature.center for feature in model.features], 0.5, arithmetic="float32")
    assert Fraction(str(why.charged[0])) < Fraction(1, 1000)
