"""Smooth shapes, as questions see them at first, against evaluation in many bits: is every value and minimum enclosed?

    python benchmarks/smooth_attack.py --points 1000000 [--seed 0] [--kinds network]

Each shape is compiled once and asked for infima over some intervals. Half of an interval's points are spread over it, a
quarter crowds where the infimum was found, a quarter at its ends. Each point is evaluated at 240 bits, from formulas
written here, in balls of flint; every 25th in mpmath as well, another library. Prints, for each kind of shape, how many
points and intervals were tried, how many points lay outside of their enclosure or below the lower end of an infimum,
how many infima were above their place's value, the widest enclosure relative to the value, and how far an infimum's
ends are apart at most. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles.smooth import CLOSE, FUNCTIONS, PlainNetwork, exactly

from suffice import Composed, PiecewiseLinear, PiecewisePolynomial, Smooth, SmoothNetwork
from suffice.shapes.smooth_functions import KINDS

MANY = 240  # bits that points are evaluated with
BITS = 40  # what questions begin with: networks are computed in floats, all else in balls
INTERVALS = 8  # of a shape
ANOTHER = 25  # of so many points one is evaluated by mpmath, too
SPANS = {"log": (1e-6, 1e3), "sqrt": (1e-6, 1e3), "box_cox": (1e-6, 1e3), "normal_quantile": (1e-6, 1 - 1e-6)}
SLOW = {"normal_quantile": 10}  # so many times fewer points

Ball = Callable[[arb], arb]


# --- formulas in balls, none of them the library's --------------------------------------------------------------------


def sigmoid(z: arb) -> arb:
    return 1 / (1 + (-z).exp())


def box_cox(z: arb, power: fmpq) -> arb:
    return z.log() if power == 0 else ((z.log() * power).exp() - 1) / power


def yeo_johnson(z: arb, power: fmpq) -> arb:
    return box_cox(1 + z, power) if z >= 0 else -box_cox(1 - z, 2 - power)


def elu(z: arb, scale: arb | int = 1, alpha: arb | int = 1) -> arb:
    return scale * z if z > 0 else scale * alpha * (z.exp() - 1)


def decimal(text: str) -> arb:
    return arb(fmpq(Fraction(text).numerator, Fraction(text).denominator))


BALLS: dict[str, Ball] = {
    "tanh": lambda z: 1 - 2 / ((2 * z).exp() + 1),
    "sigmoid": sigmoid,
    "silu": lambda z: z * sigmoid(z),
    "gelu": lambda z: z * (1 + (z / arb(2).sqrt()).erf()) / 2,
    "gelu_tanh": lambda z: z * sigmoid(2 * (2 / arb.pi()).sqrt() * (z + decimal("0.044715") * z * z * z)),
    "mish": lambda z: z * (1 + z.exp()).log().tanh(),
    "hardswish": lambda z: z * (z + 3).max(arb(0)).min(arb(6)) / 6,
    "sine": lambda z: z.sin(),
    "softplus": lambda z: (1 + z.exp()).log(),
    "elu": elu,
    "celu": elu,
    "selu": lambda z: elu(z, arb(1.0507009873554804934), arb(1.6732632423543772848)),
    "exp": lambda z: z.exp(),
    "log": lambda z: z.log(),
    "sqrt": lambda z: z.sqrt(),
    "box_cox": lambda z: z - 1,
    "yeo_johnson": lambda z: z,
    "normal_quantile": lambda z: arb(2).sqrt() * (2 * z - 1).erfinv(),
}
ACTIVATIONS = tuple(name for name in KINDS if name in (*BALLS,) and name not in (*SPANS, "exp", "yeo_johnson"))


def each(function: Ball) -> Callable[[list[arb]], list[arb]]:
    return lambda places: [function(z) for z in places]


class Balls:
    """A network at many places at once: matrices of balls."""

    def __init__(self, weights: list[np.ndarray], biases: list[np.ndarray], activation: str) -> None:
        self.layers = [
            (arb_mat([[arb(float(w)) for w in row] for row in weight]), [arb(float(b)) for b in bias])
            for weight, bias in zip(weights, biases, strict=True)
        ]
        self.activation = BALLS[activation]

    def __call__(self, places: list[arb]) -> list[arb]:
        units = [places]
        for k, (weight, bias) in enumerate(self.layers):
            table = (weight * arb_mat(units)).table()
            units = [[z + b for z in row] for row, b in zip(table, bias, strict=True)]
            if k + 1 < len(self.layers):
                units = [[self.activation(z) for z in row] for row in units]
        return units[0]


# --- shapes -----------------------------------------------------------------------------------------------------------


class Tried(NamedTuple):
    """A shape, the same in balls and in mpmath, an interval, and how many times fewer points it gets."""

    name: str
    shape: object
    balls: Callable[[list[arb]], list[arb]]
    plain: Callable[[object], object]
    span: tuple[float, float]
    slow: float = 1


def network(activation: str, rng: np.random.Generator, units: list[int], gain: float) -> tuple[object, Balls, object]:
    sizes = [1, *units, 1]
    weights = [(rng.normal(size=(b, a)) * gain).astype(np.float32) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
    plain = PlainNetwork(weights, biases, [activation] * len(units))
    return SmoothNetwork(weights, biases, activation), Balls(weights, biases, activation), plain


def number(exact: Fraction) -> object:
    from mpmath import mpf

    return mpf(exact.numerator) / exact.denominator


def line(y: object) -> object:
    return -y if y < 0 else 2 * y if y < 1 else 2 - 3 * (y - 1)


def kinds(rng: np.random.Generator) -> Iterator[Tried]:
    """Yield shapes of all kinds that are enclosed."""
    for name in KINDS:
        span, slow = SPANS.get(name, (-50.0, 50.0)), SLOW.get(name, 1)
        yield Tried(name, Smooth(name), each(BALLS[name]), FUNCTIONS[name], span, slow)
    for power in (-0.7, 0.0, 0.3, 2.0, 2.5):
        exact = rational(power)
        for name, balls in (("box_cox", box_cox), ("yeo_johnson", yeo_johnson)):
            plain = FUNCTIONS[name]
            yield Tried(
                f"{name}({power})",
                Smooth(name, power),
                each(lambda z, balls=balls, exact=exact: balls(z, exact)),
                lambda z, plain=plain, exact=exact: plain(z, number(fraction(exact))),
                SPANS.get(name, (-50.0, 50.0)),
            )
    for activation in ACTIVATIONS:
        for gain in (0.5, 1, 2, 20):
            tried = network(activation, rng, [3, 2], gain)
            yield Tried(f"network of {activation}", *tried, (-4.0, 4.0), 3)
        yield Tried(f"64-64-32 of {activation}", *network(activation, rng, [64, 64, 32], 0.2), (-3.0, 3.0), 200)
    for degree in (4, 7, 12, 20):
        below, above = ([int(c) for c in rng.integers(-9, 10, size=degree + 1)] for _ in range(2))
        above[0], above[-1] = below[0], above[-1] or 1  # of one value at 0
        shape = PiecewisePolynomial([0], [below, above])
        yield Tried("polynomial, degree 4 to 20", shape, *halves(below, above), (-2.0, 2.0), 2)
    shape, balls, plain = network("tanh", rng, [3, 2], 2)
    cubic = PiecewisePolynomial([0], [[0, 1], [0, 1, 0, -1]])
    yield Tried(
        "sum",
        3 * shape + cubic,
        lambda places: [3 * y + z - (z * z * z if z > 0 else 0) for y, z in zip(balls(places), places, strict=True)],
        lambda z: 3 * plain(z) + z - (z**3 if z > 0 else 0),
        (-3.0, 3.0),
        3,
    )
    bent = PiecewiseLinear([0, 1], [0, 2], -1, -3)
    composed = Composed(bent, Smooth("log"))
    yield Tried("composition", composed, each(lambda z: line(z.log())), lambda z: line(FUNCTIONS["log"](z)), (0.01, 20))


def halves(below: list[int], above: list[int]) -> tuple[Callable[[list[arb]], list[arb]], Callable[[object], object]]:
    """A polynomial on each side of 0, in balls and in mpmath."""

    def at(z: object, zero: object) -> object:
        found = zero
        for c in reversed(above if z > 0 else below):
            found = found * z + c
        return found

    return each(lambda z: at(z, arb(0))), lambda z: at(z, 0 * z)


# --- attacking --------------------------------------------------------------------------------------------------------


def rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def places(low: float, high: float, lowest: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points of an interval: spread, crowded where it is lowest, and crowded at its ends."""
    crowd = count // 4
    near = lowest + (high - low) * rng.choice([-1, 1], size=crowd) * 2.0 ** -rng.uniform(1, 45, size=crowd)
    steps = (high - low) * 2.0 ** -rng.uniform(1, 45, size=crowd)
    ends = np.where(rng.random(crowd) < 0.5, low + steps, high - steps)
    spread = rng.uniform(low, high, size=count - 2 * crowd)
    return np.clip(np.concatenate([spread, near, ends]), low, high)


class Row:
    """What was found of a kind of shape."""

    def __init__(self) -> None:
        self.points = self.intervals = self.outside = self.above = 0
        self.widest = self.apart = self.taken = 0.0


def attack(tried: Tried, count: int, row: Row, rng: np.random.Generator) -> None:
    (curve,) = tried.shape.compile()
    began = time.process_time()
    for _ in range(INTERVALS):
        low, high = sorted(rng.uniform(*tried.span, size=2).tolist())
        lowest = curve.lowpoint(rational(low), rational(high), BITS)
        bottom = None if lowest.low is None else arb(lowest.low)
        row.intervals += 1
        row.above += lowest.low is not None and lowest.low > lowest.high
        if lowest.low is not None:
            row.apart = max(row.apart, float(lowest.high - lowest.low) / max(1.0, abs(float(lowest.high))))
        points = [
            rational(place) for place in places(low, high, float(lowest.at), count // INTERVALS + 1, rng).tolist()
        ]
        ctx.prec = MANY
        true = tried.balls([arb(point) for point in [*points, lowest.at]])
        row.above += bool(true.pop() > arb(lowest.high))
        ctx.prec = 53
        for k, (point, exact) in enumerate(zip(points, true, strict=True)):
            enclosed = curve.value(point, BITS)
            ctx.prec = MANY
            is_out = exact < arb(enclosed.low) or exact > arb(enclosed.high) or (bottom is not None and exact < bottom)
            ctx.prec = 53
            if not exact.is_finite():
                raise ValueError(f"{tried.name} is not known at {point}")
            if k % ANOTHER == 0:
                other = exactly(tried.plain, fraction(point))
                loose = CLOSE * max(1, abs(other))
                is_out |= not fraction(enclosed.low) - loose <= other <= fraction(enclosed.high) + loose
            row.points += 1
            row.outside += is_out
            row.widest = max(row.widest, float(enclosed.width) / max(1.0, abs(float(enclosed.high))))
    row.taken += time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help="only those whose names hold this")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    listed = [one for one in kinds(rng) if asked.kinds in one.name]
    share = asked.points / sum(1 / one.slow for one in listed)
    table: dict[str, Row] = {}
    began = time.process_time()
    for one in listed:
        attack(one, int(share / one.slow) + 1, table.setdefault(one.name, Row()), rng)
    head = f"{'points':>9} {'intervals':>9} {'outside':>8} {'above':>6} {'widest':>9} {'apart':>9} {'CPU':>8}"
    print(f"{'shape':26} {head}")
    for name, row in table.items():
        told = f"{row.points:9d} {row.intervals:9d} {row.outside:8d} {row.above:6d} {row.widest:9.1e} {row.apart:9.1e}"
        print(f"{name:26} {told} {row.taken:6.1f} s")
    total = [sum(getattr(row, what) for row in table.values()) for what in ("points", "intervals", "outside", "above")]
    points, intervals, outside, above = total
    spent = time.process_time() - began
    print(f"{'all':26} {points:9d} {intervals:9d} {outside:8d} {above:6d}   in {spent:.0f} s of CPU time")
    sys.exit(outside + above > 0)


if __name__ == "__main__":
    main()
