"""Networks that are hard for someone: spikes that a grid misses, drops that are nearly equal, sums that floats lose."""

from __future__ import annotations

import itertools

import numpy as np

import suffice

GRID = 1_000  # points of the paper's sampling baseline


def hidden_spike(depth=1.0, gap=500, low=-1.0, high=1.0, points=GRID):
    """Return a network that is 0 but for a spike of `-depth` between two neighbours of an evenly spaced grid."""
    grid = np.linspace(low, high, points)
    middle, half = (grid[gap] + grid[gap + 1]) / 2, (grid[gap + 1] - grid[gap]) / 4
    steep = 1 / half
    return suffice.ReluNetwork(
        [[[steep]] * 3, [[-depth, 2 * depth, -depth]]],
        [[1 - middle * steep, -middle * steep, -1 - middle * steep], [0.0]],
    )


def near_equal(features, gap, depth=1.0):
    """Return networks `-(depth + k · gap) |x|`: drops within radius 1 of 0 that are `gap` apart."""
    return [
        suffice.ReluNetwork([[[1.0], [-1.0]], [[-(depth + k * gap)] * 2]], [[0.0, 0.0], [0.0]]) for k in range(features)
    ]


def near_identical(shift, hidden=(64, 64, 32), seed=0):
    """Return two networks of the paper's size, the same but for a shift of the second's last bias (Table 4)."""
    rng = np.random.default_rng(seed)
    sizes = [1, *hidden, 1]
    weights, biases = [], []
    for inputs, outputs in itertools.pairwise(sizes):
        bound = 1 / np.sqrt(inputs)
        weights.append(rng.uniform(-bound, bound, (outputs, inputs)) * 1.7)
        biases.append(rng.uniform(-bound, bound, outputs))
    return [suffice.ReluNetwork(weights, [*biases[:-1], biases[-1] + extra]) for extra in (0.0, shift)]


def lost_in_rounding(bits=24):
    """Return a network that equals `-max(x, 0)`, through sums where floats of so many bits lose x.

    `relu(2^bits) - relu(max(x, 0) + 2^bits)`: a float with `bits` bits rounds x + 2^bits to 2^bits for every |x| < 1/2.
    """
    large = 2.0**bits
    return suffice.ReluNetwork(
        [[[1.0]], [[1.0], [0.0]], [[-1.0, 1.0]]],
        [[0.0], [large, large], [0.0]],
    )


def last_bits(bits=30):
    """Return a network that equals `-2^(20 - bits) x` for x ≥ -0.9, through two weights that differ in one late bit.

    Float32 holds 24 bits of a weight: there both are 1, and the network is 0.
    """
    large = 2.0**20
    return suffice.ReluNetwork([[[1 + 2.0**-bits], [1.0]], [[-large, large]]], [[1.0, 1.0], [0.0]])


def tiny_weights(seed=0, hidden=(16, 16), tiny=1e-8):
    """Return a network with one weight in three shrunk to about `tiny`, as weight decay leaves them."""
    rng = np.random.default_rng(seed)
    sizes = [1, *hidden, 1]
    weights, biases = [], []
    for inputs, outputs in itertools.pairwise(sizes):
        weight = rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)
        small = rng.random(weight.shape) < 1 / 3
        weights.append(np.where(small, weight * tiny, weight).astype(np.float32))
        biases.append((0.3 * rng.normal(size=outputs)).astype(np.float32))
    return suffice.ReluNetwork(weights, biases)
