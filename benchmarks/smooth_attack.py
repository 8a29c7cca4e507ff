"""Smooth shapes against evaluation in another library (mpmath, 240 bits): every value and every minimum is enclosed.

    python benchmarks/smooth_attack.py --points 1000000

Prints, for each kind of shape, how many points were tried, how many lay outside of their enclosure or below the lower
end of an infimum, and the widest enclosure relative to the value. The exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
from flint import fmpq

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles.smooth import CLOSE, FUNCTIONS, PlainNetwork, exactly

from suffice import Composed, PiecewiseLinear, PiecewisePolynomial, Smooth, SmoothNetwork
from suffice.shapes.smooth_functions import KINDS

ACTIVATIONS = (
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "gelu_tanh",
    "mish",
    "hardswish",
    "sine",
    "softplus",
    "elu",
    "celu",
    "selu",
)
SPANS = {"log": (1e-6, 1e3), "sqrt": (1e-6, 1e3), "box_cox": (1e-6, 1e3), "normal_quantile": (1e-6, 1 - 1e-6)}
SLOW = {"normal_quantile": 50, "gelu": 4, "mish": 4}  # so many times fewer points, for the other library takes long
BITS = 40  # what questions begin with: networks are computed in floats, all else in balls


def rational(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def network(activation: str, rng: np.random.Generator) -> tuple[object, object]:
    sizes = [1, 3, 2, 1]
    weights = [(rng.normal(size=(b, a)) * rng.choice([0.5, 2, 20])).astype(np.float32) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
    return SmoothNetwork(weights, biases, activation), PlainNetwork(weights, biases, [activation] * 2)


def kinds(rng: np.random.Generator) -> list[tuple[str, object, object, tuple[float, float], int]]:
    """Name, shape, the same in the other library, an interval, and how slow it is."""
    found = []
    for name in KINDS:
        found.append((name, Smooth(name), FUNCTIONS[name], SPANS.get(name, (-50.0, 50.0)), SLOW.get(name, 1)))
    for power in (-0.7, 0.0, 0.3, 2.0, 2.5):
        exact = fraction(rational(power))
        for name in ("box_cox", "yeo_johnson"):
            plain = FUNCTIONS[name]
            shape = Smooth(name, power)
            twin = lambda z, plain=plain, exact=exact: plain(z, number(exact))  # noqa: E731
            found.append((f"{name}({power})", shape, twin, SPANS.get(name, (-50.0, 50.0)), 1))
    for activation in ACTIVATIONS:
        for _ in range(4):
            shape, plain = network(activation, rng)
            found.append((f"network of {activation}", shape, plain, (-4.0, 4.0), 4 * SLOW.get(activation, 1)))
    shape, plain = network("tanh", rng)
    cubic = PiecewisePolynomial([0], [[0, 1], [0, 1, 0, -1]])
    found.append(("sum", 3 * shape + cubic, lambda z: 3 * plain(z) + z - (z**3 if z > 0 else 0), (-3.0, 3.0), 4))
    bent = PiecewiseLinear([0, 1], [0, 2], -1, -3)
    found.append(("composition", Composed(bent, Smooth("log")), lambda z: line(FUNCTIONS["log"](z)), (0.01, 20.0), 2))
    return found


def number(exact: Fraction) -> object:
    from mpmath import mpf

    return mpf(exact.numerator) / exact.denominator


def line(y: object) -> object:
    return -y if y < 0 else 2 * y if y < 1 else 2 - 3 * (y - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    listed = kinds(rng)
    share = asked.points / sum(1 / slow for *_, slow in listed)
    table: dict[str, list[float]] = {}
    began = time.process_time()
    for name, shape, plain, (low, high), slow in listed:
        (curve,) = shape.compile()
        count = int(share / slow) + 1
        row = table.setdefault(name, [0, 0, 0.0])
        places = rng.uniform(low, high, size=count)
        for group in np.array_split(places, max(count // 400, 1)):
            ends = float(group.min()), float(group.max())
            lowest = curve.lowpoint(rational(ends[0]), rational(ends[1]), BITS) if ends[0] < ends[1] else None
            bottom = None if lowest is None or lowest.low is None else fraction(lowest.low) - CLOSE
            for place in group.tolist():
                exact = rational(place)
                enclosed = curve.value(exact, BITS)
                true = exactly(plain, fraction(exact))
                loose = CLOSE * max(1, abs(true))
                is_out = not fraction(enclosed.low) - loose <= true <= fraction(enclosed.high) + loose
                is_below = bottom is not None and true < bottom
                row[0] += 1
                row[1] += is_out or is_below
                row[2] = max(row[2], float(enclosed.width) / max(1.0, abs(float(true))))
    print(f"{'shape':24} {'points':>9} {'outside':>8} {'widest':>9}")
    for name, (points, outside, widest) in table.items():
        print(f"{name:24} {points:9d} {outside:8d} {widest:9.1e}")
    total, wrong = (sum(int(row[k]) for row in table.values()) for k in (0, 1))
    print(f"{'all':24} {total:9d} {wrong:8d}   in {time.process_time() - began:.0f} s of CPU time")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
