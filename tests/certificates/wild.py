"""Random models, rows and questions of all kinds, small enough for brute force and full of ties: for what the library
certifies, and for what the checker accepts.

    python tests/certificates/wild.py 10000 [seed]      # certify and check so many answers; none may be refused
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

import suffice
import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Readout,
    ReluNetwork,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.model.writing import to_bytes
from suffice.search.registry import SEARCHES

KINDS = (
    "explain",
    "sufficiency",
    "contrast",
    "counterfactual",
    "relevance",
    "explanations",
    "radius",
    "curve",
    "inflate",
)
ACTIVATIONS = ("relu", "hard_tanh", "relu6")


def number(rng):
    return rng.choice([Fraction(rng.randint(-4, 4)), Fraction(rng.randint(-8, 8), 2), Fraction(rng.randint(-9, 9), 3)])


def row_of(rng, outputs):
    return [number(rng) for _ in range(outputs)]


def network(rng, outputs):
    widths = [1, *(rng.randint(1, 3) for _ in range(rng.randint(1, 2))), outputs]
    weights = [
        np.array([[rng.randint(-8, 8) / 4 for _ in range(a)] for _ in range(b)], rng.choice([np.float32, np.float64]))
        for a, b in pairwise(widths)
    ]
    biases = [rng.choice([None, np.array([rng.randint(-8, 8) / 4 for _ in range(b)])]) for b in widths[1:]]
    return ReluNetwork(weights, biases, [rng.choice(ACTIVATIONS) for _ in weights[1:]])


def shape(rng, outputs, depth=0):
    """A shape that has a value at every number, and its labels if it has any."""
    kind = rng.choice(["steps", "steps", "line", "network", "table", "sum", "scaled", "rescaled", "readout"])
    if depth > 1 and kind in ("sum", "scaled", "rescaled", "table"):
        kind = "steps"
    if kind == "steps":
        cuts = sorted(rng.sample(range(-4, 5), rng.randint(1, 3)))
        return Steps(cuts, [row_of(rng, outputs) for _ in range(len(cuts) + 1)], closed=rng.choice(["left", "right"]))
    if kind == "line":
        knots = sorted(rng.sample(range(-4, 5), rng.randint(1, 3)))
        slopes = row_of(rng, outputs), row_of(rng, outputs)
        return PiecewiseLinear(knots, [row_of(rng, outputs) for _ in knots], *slopes)
    if kind == "network":
        return network(rng, outputs)
    if kind == "readout":
        basis = network(rng, 2)
        return Readout(basis, [[rng.randint(-4, 4) / 2 for _ in range(2)] for _ in range(outputs)])
    if kind == "table":
        entries = {rng.randint(-3, 3): row_of(rng, outputs) for _ in range(2)}
        return Table(entries, otherwise=shape(rng, outputs, depth + 1))
    if kind == "sum":
        return shape(rng, outputs, depth + 1) + shape(rng, outputs, depth + 1)
    if kind == "scaled":
        return shape(rng, outputs, depth + 1) * rng.choice([2, "1/3", -1])
    return shape(rng, outputs, depth + 1).rescaled(rng.choice([0, 1, "1/2"]), rng.choice([2, -1, "2/3"]))


def feature(rng, i, outputs):
    """A shape, a feature, and some of its values."""
    kind = rng.choice(["reals", "reals", "interval", "integers", "codes", "labels", "points"])
    center, scale, deviation = rng.choice([0, 1]), rng.choice([1, 1, 2, -1]), rng.choice([1, 2, "1/2", 0])
    if kind == "labels":
        names = ["a", "b", "c"][: rng.randint(2, 3)]
        made = Table({name: row_of(rng, outputs) for name in names})
        return made, Feature(f"x{i}", Domain.categories(*names)), names
    inner = shape(rng, outputs)
    values = [Fraction(rng.randint(-8, 8), 2) for _ in range(4)]
    if kind == "interval":
        low = rng.randint(-4, 0)
        domain = Domain.interval(low, low + rng.randint(1, 8))
        values = [Fraction(low), Fraction(2 * low + 1, 2)]
    elif kind == "integers":
        domain, values = Domain.integers(rng.choice([-5, float("-inf")]), 5), list(range(-5, 6))
    elif kind == "points":
        domain, values = Domain.points(-2, 0, 3) | Domain.interval(4, 6), [-2, 0, 3, 5]
    elif kind == "codes":
        inner = Table({MISSING: row_of(rng, outputs)}, otherwise=inner)
        domain, values = Domain.interval(-3, 3) | Domain.codes(MISSING), [-3, 1, Fraction(1, 2), None]
    else:
        domain = Domain.reals()
    return inner, Feature(f"x{i}", domain, center, scale, deviation), values


def model(rng):
    """A model, and values of each feature."""
    task = rng.choice(["binary", "binary", "multiclass", "regression"])
    outputs = 3 if task == "multiclass" else 1
    made = [feature(rng, i, outputs) for i in range(rng.randint(2, 5))]
    shapes, features, values = (list(part) for part in zip(*made, strict=True))
    ties = rng.choice(["positive", "negative"]) if task == "binary" else "positive"
    return AdditiveModel(shapes, row_of(rng, outputs), task, features, None, ties), values


def claim(rng, explainer, row):
    task, score = explainer.model.task, explainer.score(row)
    if task == "multiclass":
        others = [name for name in explainer.model.classes if name != explainer.predict(row)]
        return rng.choice([Same(), Beats(rng.choice(others))])
    of_score = [AtLeast(score - rng.randint(0, 6)), AtMost(score + rng.randint(0, 6)), Within(rng.randint(0, 8))]
    if task == "regression":
        return rng.choice(of_score)
    return rng.choice([Same(), Same(), Same(), ProbabilityAtLeast(rng.choice(["1/2", "1/3", "1/10"])), *of_score])


def options(rng, kind, names):
    """Options that a question honours, each given now and then."""
    honours = SEARCHES[kind].honours
    some = lambda most: rng.sample(names, min(len(names), rng.randint(1, most)))  # noqa: E731
    given = {
        "immutable": some(2),
        "fix": some(1),
        "free": some(1),
        "cost": {name: rng.choice([2, 3, "1/2", "3/2"]) for name in some(3)},
        "groups": [some(2)],
        "max_changed": rng.randint(1, 3),
        "norm": rng.choice([1, 2]),
        "arithmetic": rng.choice(["float32", "float64"]),
    }
    chosen = {name: value for name, value in given.items() if name in honours and rng.random() < 0.2}
    if "groups" in chosen and "cost" in chosen:
        chosen["cost"] = {n: c for n, c in chosen["cost"].items() if n not in chosen["groups"][0]} or None
    return {"unit": rng.choice(["raw", "raw", "model", "std"]), **chosen}


def ask(rng, kind, explainer, row, claimed):
    """An answer, or None where the question makes no sense."""
    names = list(explainer.model.names)
    asked = {"claim": claimed, **options(rng, kind, names)}
    radius = rng.choice([0, 1, "1/2", 2, 3, "5/2", "inf", dict.fromkeys(names, 1) | {rng.choice(names): 0}])
    if kind == "counterfactual" and radius == "inf":
        radius = 4
    some = rng.sample(names, rng.randint(0, len(names) - 1))
    if kind == "sufficiency":
        return explainer.sufficiency(row, some, radius, **asked)
    if kind == "explanations":
        every = explainer.explanations(row, radius, minimal=rng.choice(["size", "subset"]), **asked)
        return every.listing(rng.choice([1, 100]))
    if kind == "radius":
        return explainer.radius(row, some, **asked)
    if kind == "curve":
        return explainer.curve(row, until=rng.choice([2, 4, "inf"]), **asked)
    return getattr(explainer, kind)(row, radius, **asked)


def answers(count, seed):
    """Yield (model, kind, answer) of so many random questions that make sense."""
    made = attempt = 0
    while made < count:
        rng = random.Random(f"{seed} {attempt}")
        attempt += 1
        try:
            additive, values = model(rng)
            explainer = Explainer(additive)
        except suffice.SufficeError:
            continue
        for _ in range(4):
            kind = rng.choice(KINDS)
            row = [rng.choice(some) for some in values]
            try:
                answer = ask(rng, kind, explainer, row, claim(rng, explainer, row))
            except suffice.SufficeError:
                continue
            if made < count:
                made += 1
                yield additive, kind, answer


def main():
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
    began, kinds, refused, longest = time.process_time(), Counter(), Counter(), 0.0
    for additive, kind, answer in answers(count, seed):
        try:
            certificate = answer.certificate()
        except suffice.SufficeError as error:
            refused[f"{kind}: {error}"] += 1
            continue
        start = time.process_time()
        suffice_check.check(to_bytes(additive), certificate.text.encode())
        longest = max(longest, time.process_time() - start)
        kinds[certificate.document["result"]["kind"]] += 1
    print(f"{sum(kinds.values())} certificates accepted, none refused, in {time.process_time() - began:.0f} s CPU")
    print(dict(kinds), f"longest check {longest:.2f} s")
    print("not certified:", dict(refused))


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent)]
    main()
