"""Small instances to put to verifiers and algorithms, with what an oracle knows of them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import oracles

import suffice
from suffice.paper import Problem
from suffice.paper.verifiers import Reply, Trust, Verdict, Verifier


def vee(height=1.0):
    """-height · |x|, as a network: the drop within radius r of 0 is height · r."""
    return suffice.ReluNetwork([[[1.0], [-1.0]], [[-height, -height]]], [[0.0, 0.0], [0.0]])


def vees(drops, margin, **options):
    """Return the instance of a model whose drops within radius 1 of the origin are given."""
    model = suffice.AdditiveModel([vee(drop) for drop in drops], intercept=margin)
    return Problem(model).instance([0] * len(drops), radius=1, **options)


def random_network(rng, hidden=(6, 6), outputs=1, grid=None):
    """Arguments of a ReLU network with float32 weights, or with weights on a coarse grid, where ties are common."""
    sizes = [1, *hidden, outputs]
    draw = (lambda *s: rng.integers(-grid, grid + 1, s) / grid) if grid else (lambda *s: rng.normal(size=s))
    weights = [draw(o, i).astype(np.float32) for i, o in itertools.pairwise(sizes)]
    return weights, [draw(o).astype(np.float32) for o in sizes[1:]]


def random_model(seed, features, hidden=(5, 5), grid=None):
    """Return a binary model, a row, and what the oracle says: margin, drops, and whether the claim is strict."""
    rng = np.random.default_rng(seed)
    networks = [random_network(rng, hidden, grid=grid) for _ in range(features)]
    row = [Fraction(int(v), 8) for v in rng.integers(-8, 9, features)]
    intercept = Fraction(int(rng.integers(-16, 17)), 8)
    plain = [oracles.PlainNetwork(w, b, ["relu"] * len(hidden)) for w, b in networks]
    score = intercept + sum(net(x)[0] for net, x in zip(plain, row, strict=True))
    drops = []
    for (weights, biases), x in zip(networks, row, strict=True):
        sign = 1 if score >= 0 else -1
        turned = [*weights[:-1], sign * weights[-1]], [*biases[:-1], sign * biases[-1]]
        net = oracles.PlainNetwork(*turned, ["relu"] * len(hidden))
        drops.append((net(x)[0] - net.minimum(x - 1, x + 1), True))
    model = suffice.AdditiveModel([suffice.ReluNetwork(w, b) for w, b in networks], intercept)
    return model, row, (abs(score), drops, score < 0)


class Scripted(Verifier):
    """A verifier that says what a function of the query tells it to."""

    name, trust = "scripted", Trust.VERIFIED

    def __init__(self, say):
        super().__init__()
        self.say = say

    def reply(self, query, seconds):
        said = self.say(query)
        return said if isinstance(said, Reply) else Reply(Verdict(said))
