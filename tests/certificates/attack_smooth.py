"""Forged certificates about curved and smooth shapes, judged by mpmath at 240 bits.

    python tests/certificates/attack_smooth.py 10000 [seed]      # so many forgeries

Each model is made of random shapes, and of the same functions in the other library, written from docs/model-file.md. A
statement says that a score stays above some number, which is chosen next to what sampled inputs reach: just below it,
so that it is true as far as samples can tell, or just above it, so that it is false. Cells are good, few, or senseless.
What samples break must be refused. The other way round, inputs are said to break a claim: the value there decides.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from mpmath import mp, mpf
from oracles.smooth import BITS, FUNCTIONS, PlainNetwork, fraction, number

from suffice import (
    AdditiveModel,
    Composed,
    Domain,
    Feature,
    PiecewiseLinear,
    PiecewisePolynomial,
    Smooth,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.model.writing import to_bytes
from suffice_check import RejectedError, UnreadableError
from suffice_check.checker import Checker
from suffice_check.smooth import SmoothChanged

ACTIVATIONS = (
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "gelu_tanh",
    "mish",
    "sine",
    "softplus",
    "elu",
    "celu",
    "selu",
    "relu",
)
SHARES = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**12))


def small(rng, low=-3, high=3):
    return Fraction(rng.randint(low * 16, high * 16), 16)


def network(rng):
    """A network of mixed activations."""
    sizes = [1, rng.randint(1, 4), rng.randint(1, 3), 1]
    steep = rng.choice([0.5, 1, 1, 4, 30])
    weights = [[[rng.gauss(0, steep) for _ in range(a)] for _ in range(b)] for a, b in pairwise(sizes)]
    biases = [[rng.gauss(0, 1) for _ in range(b)] for b in sizes[1:]]
    names = [rng.choice(ACTIVATIONS) for _ in sizes[2:]]
    if all(name == "relu" for name in names):
        names[0] = "tanh"
    return SmoothNetwork(weights, biases, names), PlainNetwork(weights, biases, names)


def polynomial(rng, most=3):
    """Polynomials that may jump at their knots."""
    knots = sorted({small(rng) for _ in range(rng.choice([0, 1, 2]))})
    pieces = [[small(rng) / 2**k for k in range(rng.randint(1, most + 1))] for _ in range(len(knots) + 1)]
    width = max(map(len, pieces))
    pieces = [[*one, *[Fraction(0)] * (width - len(one))] for one in pieces]
    values = [small(rng) for _ in knots]

    def plain(z):
        for knot, value in zip(knots, values, strict=True):
            if z == number(knot):
                return number(value)
        powers = pieces[sum(z > number(knot) for knot in knots)]
        return sum((number(p) * z**k for k, p in enumerate(powers)), mpf(0))

    return PiecewisePolynomial(knots, pieces, values), plain


def by_name(rng):
    """A function by its name, of a changed variable that keeps to its domain for numbers from -6 to 6."""
    name = rng.choice(sorted({*FUNCTIONS} - {"relu", "identity"}))
    above = name in ("log", "sqrt", "box_cox")
    center, scale = (
        (Fraction(-7), rng.choice([Fraction(1), Fraction(3)])) if above else (small(rng), rng.choice([1, -2]))
    )
    if name == "normal_quantile":
        center, scale = Fraction(-7), Fraction(14)
    parameters = ()
    if name in ("softplus", "elu", "celu"):
        parameters = (rng.choice([Fraction(1), Fraction(1, 2), Fraction(3)]),)
    if name in ("box_cox", "yeo_johnson"):
        parameters = (rng.choice([Fraction(0), Fraction(1, 3), Fraction(2), Fraction(-1, 2), Fraction(5, 2)]),)
    plain, extra = FUNCTIONS[name], [number(one) for one in parameters]
    shape = Smooth(name, *parameters)
    return shape.rescaled(center, scale), lambda z: plain((z - number(center)) / number(scale), *extra)


def composed(rng):
    """A function of a function."""
    inner, plain_inner = rng.choice([network, by_name])(rng)
    bent, (slope, turn) = PiecewiseLinear([0], [0], -1, 2), (2, mpf(0))
    if rng.random() < 0.5:
        return Composed(bent, inner), lambda z: -plain_inner(z) if plain_inner(z) < turn else slope * plain_inner(z)
    name = rng.choice(("tanh", "gelu", "softplus", "selu", "sine"))
    plain = FUNCTIONS[name]
    return Composed(Smooth(name), inner), lambda z: plain(plain_inner(z))


def shape(rng):
    """A shape of any kind, and the same in the other library."""
    found, plain = rng.choice([network, network, by_name, by_name, composed, polynomial])(rng)
    if rng.random() < 0.3:
        more, other = rng.choice([network, by_name, polynomial])(rng)
        first = plain
        found, plain = found + more, lambda z: first(z) + other(z)
    if rng.random() < 0.2:
        cut, jump = small(rng), small(rng)
        found, smooth = found + Steps([cut], [0, jump]), plain
        plain = lambda z: smooth(z) + (number(jump) if z >= number(cut) else 0)  # noqa: E731
    if rng.random() < 0.2:
        at, entry = small(rng), small(rng)
        found, rest = Table({at: entry}, found), plain
        plain = lambda z: number(entry) if z == number(at) else rest(z)  # noqa: E731
    if rng.random() < 0.3:
        factor, whole = rng.choice([Fraction(-1), Fraction(1, 3)]), plain
        found, plain = found * factor, lambda z: number(factor) * whole(z)
    return found, plain


class World:
    """A model, a row, and how far each feature lowers the score at sampled places."""

    def __init__(self, rng):
        self.count = rng.randint(1, 3)
        self.shapes, self.plain = zip(*(shape(rng) for _ in range(self.count)), strict=True)
        self.integers = [rng.random() < 0.2 for _ in range(self.count)]
        domains = [Domain.integers(-6, 6) if one else Domain.interval(-6, 6) for one in self.integers]
        features = [Feature(f"x{i}", domain=one) for i, one in enumerate(domains)]
        self.model = AdditiveModel(self.shapes, 0, features=features, task="regression")
        self.content = to_bytes(self.model)
        self.row = [Fraction(rng.randint(-4, 4)) if one else small(rng) for one in self.integers]
        self.radius = rng.choice([Fraction(1), Fraction(1, 4), Fraction(2)])
        self.values = [plain(number(x)) for plain, x in zip(self.plain, self.row, strict=True)]
        self.score = sum(self.values, mpf(0))
        self.places, self.falls = zip(*(self._worst(i, rng) for i in range(self.count)), strict=True)

    def _worst(self, i, rng):
        """The place with the largest fall, among samples and what lies between the best of them."""
        low, high = (max(-6, min(6, self.row[i] + side * self.radius)) for side in (-1, 1))
        if self.integers[i]:
            places = [Fraction(k) for k in range(-6, 7) if low <= k <= high]
        else:
            places = [low + (high - low) * Fraction(k, 32) for k in range(33)]
            places += [low + (high - low) * Fraction(rng.randint(0, 2**20), 2**20) for _ in range(8)]
            width = (high - low) / 32
            best = min(places, key=lambda t: self.plain[i](number(t)))
            for _ in range(24):  # closer and closer to the lowest
                width /= 2
                near = [t for t in (best - width, best + width) if low <= t <= high]
                best = min([best, *near], key=lambda t: self.plain[i](number(t)))
            places.append(best)
        place = min(places, key=lambda t: self.plain[i](number(t)))
        return place, max(self.values[i] - self.plain[i](number(place)), mpf(0))

    def document(self, claimed, result, evidence, radius=None):
        question = {"radius": str(self.radius if radius is None else radius), "unit": "raw", "immutable": []}
        question |= {"claim": {"kind": "at_least", "value": str(claimed)}, "fix": [], "free": [], "cost": {}}
        question |= {"groups": {}, "max_changed": None, "norm": "inf", "arithmetic": "exact"}
        found = {"version": 3, "model": hashlib.sha256(self.content).hexdigest()}
        found |= {"row": [{"number": str(x)} for x in self.row], "question": question, "enclosure": None}
        return json.dumps(found | {"charges": None, "result": result, "evidence": evidence}).encode()

    def cells(self, rng):
        """Cuts: many, few, or anywhere."""
        count = rng.choice([0, 3, 16, 64])
        each = []
        for x in self.row:
            even = {x + self.radius * Fraction(2 * k - count, count) for k in range(count + 1)} if count else set()
            wild = {small(rng, -9, 9) for _ in range(rng.choice([0, 0, 5]))}
            each.append([str(t) for t in sorted(even | wild)])
        return each


def rounded(value, up):
    """A fraction of few digits on one side of a number."""
    scaled = fraction(value) * 2**60
    return Fraction(scaled.__ceil__() if up else scaled.__floor__(), 2**60)


def forgeries(world, rng):
    """Yield whether something is known to be false, what it is about, and a certificate that says it."""
    has_cells = any(isinstance(one.shape, SmoothChanged) for one in Checker(world.content).model.features)
    for _ in range(6):
        fixed = sorted(rng.sample(range(world.count), rng.randint(0, world.count - 1)))
        reached = sum((fall for i, fall in enumerate(world.falls) if i not in fixed), mpf(0))
        if reached < mpf(2) ** -30:
            continue
        share = rng.choice(SHARES)
        for is_false in (True, False):
            cells = {"cells": world.cells(rng)} if has_cells else {}
            margin = reached * (1 - number(share)) if is_false else reached * (1 + number(share))
            claimed = rounded(world.score - margin, up=is_false)
            said = {"kind": "explanation", "fixed": fixed, "lower_bound": "0"}
            yield is_false, "suffices", world.document(claimed, said, {"witnesses": [], "tree": [], **cells})
            said = {"kind": "radius", "fixed": fixed, "holds_at": str(world.radius), "fails_at": None}
            yield is_false, "radius", world.document(claimed, said, {"input": None, **cells}, 1)
            places = [x if i in fixed else at for i, (x, at) in enumerate(zip(world.row, world.places, strict=True))]
            evidence = {"input": [{"number": str(at)} for at in places], **cells}
            said = {"kind": "insufficient", "fixed": fixed}
            yield not is_false, "breaks", world.document(claimed, said, evidence)


def run(count, seed):
    """Yield for each of so many forgeries whether it is false, what it is about, and whether it was accepted."""
    rng, done = random.Random(f"smooth {seed}"), 0
    while done < count:
        with mp.workprec(BITS):
            try:
                world = World(rng)
                checker = Checker(world.content)
            except UnreadableError as error:
                yield False, f"refused model: {error}"[:60], False, None
                done += 1
                continue
            found = list(forgeries(world, rng))
        for is_false, about, content in found:
            try:
                checker.check(content)
                said = True
            except (RejectedError, UnreadableError):
                said = False
            done += 1
            yield is_false, about, said, (world, content)


def main() -> None:
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
    seen, wrong, start = Counter(), 0, time.process_time()
    for is_false, about, said, what in run(count, seed):
        seen[about, "false" if is_false else "not known to be false", "accepted" if said else "refused"] += 1
        if is_false and said:
            wrong += 1
            world, content = what
            name = f"wrong-{seed}-{wrong}"
            Path(f"{name}.safetensors").write_bytes(world.content)
            Path(f"{name}.json").write_bytes(content)
            print(f"WRONG: {name}.json is accepted")
    for key, times in sorted(seen.items()):
        print(f"{times:7,}  {', '.join(key)}")
    print(f"{wrong} false ones accepted, in {time.process_time() - start:.0f} s of CPU")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
