"""Compile and explain times of the exact core, all in one run.

    python benchmarks/core.py [--features 30] [--rows 200]

For networks of three shapes: exact compile time of a model, against a plain loop over flint integers (written below)
on some of its features; the slowest of the first explanations, which build the look-up tables of the class predicted;
and the time of one explanation after that. Weights are drawn as PyTorch draws them, a little larger.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from itertools import pairwise

import numpy as np
from flint import fmpq, fmpz

import suffice

ARCHITECTURES = {"64-64-32": (64, 64, 32), "1024": (1024,), "256-128-128": (256, 128, 128)}


def ready(model):
    """An explainer with all features compiled."""
    explainer = suffice.Explainer(model)
    explainer.compile(processes=1)
    return explainer


def network(rng, hidden):
    sizes = [1, *hidden, 1]
    weights, biases = [], []
    for inputs, outputs in pairwise(sizes):
        bound = 1 / np.sqrt(inputs)
        weights.append(rng.uniform(-bound, bound, (outputs, inputs)).astype(np.float32) * np.float32(1.7))
        biases.append(rng.uniform(-bound, bound, outputs).astype(np.float32))
    return suffice.ReluNetwork(weights, biases)


def plain_knots(shape):
    """Count knots by plain Python loops over flint integers: per segment and unit, no shared products, no skipping."""
    scaled = []
    for weight, bias in zip(shape.weights, shape.biases, strict=True):
        ratios = [[float(w).as_integer_ratio() for w in row] for row in weight]
        offsets = [float(b).as_integer_ratio() for b in bias]
        bits = max(q.bit_length() - 1 for row in [*ratios, offsets] for _, q in row)
        scaled.append(
            (
                [[fmpz(p) * (fmpz(2) ** bits // q) for p, q in row] for row in ratios],
                [fmpz(p) * (fmpz(2) ** bits // q) for p, q in offsets],
                bits,
            )
        )
    segments = [(None, None, [(fmpz(1), fmpz(0))])]  # left end, right end, (slope, offset) of each unit
    scale = 0
    for depth, (weight, bias, bits) in enumerate(scaled):
        is_last = depth == len(scaled) - 1
        following = []
        for left, right, units in segments:
            lines = []
            for row, b in zip(weight, bias, strict=True):
                slope, offset = fmpz(0), b << scale
                for w, (a, c) in zip(row, units, strict=True):
                    slope, offset = slope + w * a, offset + w * c
                lines.append((slope, offset))
            zeros = {fmpq(-b, a) for a, b in lines if a != 0} if not is_last else set()
            inner = sorted(z for z in zeros if (left is None or z > left) and (right is None or z < right))
            ends = [left, *inner, right]
            for low, high in pairwise(ends):
                middle = _between(low, high)
                following.append(
                    (
                        low,
                        high,
                        lines
                        if is_last
                        else [(a, b) if a * middle.p + b * middle.q > 0 else (fmpz(0), fmpz(0)) for a, b in lines],
                    )
                )
        segments = following
        scale += bits
    pieces = [units[0] for _, _, units in segments]
    return sum(a != b for a, b in pairwise(pieces))


def _between(low, high):
    if low is None:
        return fmpq(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def clock(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--rows", type=int, default=200)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, one core; {arguments.features} features")
    for name, hidden in ARCHITECTURES.items():
        rng = np.random.default_rng(0)
        shapes = [network(rng, hidden) for _ in range(arguments.features)]
        spread = rng.lognormal(size=arguments.features)
        features = [suffice.Feature(f"f{i}", scale=s, deviation=s) for i, s in enumerate(spread)]
        model = suffice.AdditiveModel(shapes, 0.1, "binary", features)
        compile_time, explainer = clock(lambda model=model: ready(model))
        knots = [len(pieces[0].knots) for pieces in explainer.pieces.values()]
        sample = 3 if len(hidden) > 1 and max(hidden) <= 64 else 1
        plain_time, counted = clock(
            lambda shapes=shapes, sample=sample: [plain_knots(shape) for shape in shapes[:sample]]
        )
        assert counted == knots[:sample], (counted, knots[:sample])
        per_feature = compile_time / arguments.features
        rows = rng.normal(size=(arguments.rows, arguments.features)) * spread
        first = [
            clock(lambda explainer=explainer, row=row: explainer.explain(row, radius=0.5, unit="std"))[0]
            for row in rows[:10]
        ]
        timed = [
            clock(lambda explainer=explainer, row=row: explainer.explain(row, radius=0.5, unit="std")) for row in rows
        ]
        times, sizes = [t for t, _ in timed], [why.size for _, why in timed]
        ms = {
            name: 1e3 * value
            for name, value in {
                "compile": per_feature,
                "plain": plain_time / sample,
                "first": max(first),
                "median": statistics.median(times),
                "mean": statistics.mean(times),
                "late": float(np.quantile(times, 0.95)),
            }.items()
        }
        ratio = ms["plain"] / ms["compile"]
        print(f"{name}:")
        print(f"  knots a feature       {min(knots)} to {max(knots)}, median {statistics.median(knots):.0f}")
        print(f"  compile               {compile_time:.3f} s, {ms['compile']:.1f} ms a feature")
        print(f"  plain loop            {ms['plain']:.1f} ms a feature ({sample} measured): {ratio:.1f} times as long")
        print(f"  slowest of first ten  {ms['first']:.1f} ms (builds look-up tables)")
        print(
            f"  explain               median {ms['median']:.3f} ms, mean {ms['mean']:.3f} ms, 95 % {ms['late']:.3f} ms"
        )
        print(f"  sizes                 {min(sizes)} to {max(sizes)}, mean {statistics.mean(sizes):.1f}")


if __name__ == "__main__":
    main()
