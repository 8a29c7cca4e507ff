"""Random models, rows and questions of all kinds, small enough for brute force and full of ties: for what the library
certifies, and for what the checker accepts.

    python tests/certificates/wild.py 10000 [seed]          # write and check so many certificates, a third of them of
                                                            # models with pair terms: none may be refused
    python tests/certificates/wild.py 1000 [seed] --forge   # neither may false statements about answers be accepted
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
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
    Bins,
    Domain,
    Explainer,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Product,
    Readout,
    ReluNetwork,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.certificate.witnesses import place_document
from suffice.model.writing import to_bytes
from suffice.search.registry import SEARCHES
from suffice_check.checker import Checker

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
    kind = rng.choice(["reals", "reals", "interval", "integers", "codes", "labels", "ranks", "points"])
    center, scale, deviation = rng.choice([0, 1]), rng.choice([1, 1, 2, -1]), rng.choice([1, 2, "1/2", 0])
    if kind == "labels":
        names = ["a", "b", "c"][: rng.randint(2, 3)]
        made = Table({name: row_of(rng, outputs) for name in names})
        return made, Feature(f"x{i}", Domain.categories(*names)), names
    if kind == "ranks":
        names = ["a", "b", "c", "d"][: rng.randint(2, 4)]
        made = Table({name: row_of(rng, outputs) for name in names})
        return made, Feature(f"x{i}", Domain.ordered(*names), deviation=deviation), names
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


def pair_shape(rng, outputs, features):
    """A term over two features: a table, a surface between knots, or a product."""
    names = [[*one.domain.categories_] for one in features]
    has_codes = [bool(one.domain.codes_) for one in features]
    kind = rng.choice(["table", "table", "surface", "product"])
    if kind == "surface" and not any(names) and not any(has_codes):
        rows, columns = (sorted(rng.sample(range(-4, 5), rng.randint(2, 3))) for _ in features)
        return PairLinear(rows, columns, [[row_of(rng, outputs) for _ in columns] for _ in rows])
    if kind == "product":
        each = []
        for some, has_code in zip(names, has_codes, strict=True):
            inner = Table({name: row_of(rng, outputs) for name in some}) if some else shape(rng, outputs, 2)
            each.append(Table({MISSING: row_of(rng, outputs)}, otherwise=inner) if has_code else inner)
        return Product(*each)
    bins = []
    for some, has_code in zip(names, has_codes, strict=True):
        cuts = sorted(rng.sample(range(-4, 5), rng.randint(1, 2)))
        closed = [rng.choice(["left", "right"]) for _ in cuts]
        bins.append(Bins(keys=some) if some else Bins(cuts, keys=[MISSING] * has_code, closed=closed))
    rows, columns = bins
    return PairSteps(rows, columns, [[row_of(rng, outputs) for _ in range(len(columns))] for _ in range(len(rows))])


def model(rng, *, has_pairs=False):
    """A model, and values of each feature."""
    task = rng.choice(["binary", "binary", "multiclass", "regression"])
    outputs = 3 if task == "multiclass" else 1
    made = [feature(rng, i, outputs) for i in range(rng.randint(2, 5))]
    shapes, features, values = (list(part) for part in zip(*made, strict=True))
    ties = rng.choice(["positive", "negative"]) if task == "binary" else "positive"
    constant, pairs = row_of(rng, outputs), {}
    if has_pairs:
        edges = list(combinations(features, 2))
        for two in rng.sample(edges, rng.randint(1, min(3, len(edges)))):
            pairs[tuple(one.name for one in two)] = pair_shape(rng, outputs, two)
    return AdditiveModel(shapes, constant, task, features, None, ties, pairs=pairs), values


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
        "categories": "step",
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


def answers(count, seed, *, has_pairs=False):
    """Yield (model, kind, answer) of so many random questions that make sense."""
    made = attempt = 0
    while made < count:
        rng = random.Random(f"{seed} {attempt}")
        attempt += 1
        try:
            additive, values = model(rng, has_pairs=has_pairs)
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


# --- statements that are false ----------------------------------------------------------------------------------------

HAIR = Fraction(1, 2**40)


def forgeries(answer, document):
    """Yield certificates that say something false, for what an answer proves says so: a little more than is true."""
    kind, result, question = document["result"]["kind"], document["result"], document["question"]
    if question["arithmetic"] != "exact" or question["norm"] != "inf" or getattr(answer, "caveat", None):
        return
    maker = {"explanation": _less_fixed, "contrast": _less_changed, "counterfactual": _less_changed}
    makers = maker | {"radius": _further, "explanations": _other_sets, "relevance": _other_roles, "curve": _less_steps}
    for change, evidence in makers.get(kind, lambda *_: ())(answer, result, document["evidence"]):
        yield document | {"result": result | change, "evidence": document["evidence"] | evidence}


def _without(features, answer):
    """What is left of a set without one of its items that need not be fixed."""
    choices = answer.case.question.choices
    for k, item in enumerate(choices.items):
        if k not in choices.fix | choices.free and set(item) <= set(features):
            yield [i for i in features if i not in item], item


def _less_fixed(answer, result, evidence):
    if getattr(answer, "bound", None) and answer.lower_bound == answer.cost:  # nothing cheaper suffices
        for rest, _ in _without(result["fixed"], answer):
            yield {"fixed": rest, "lower_bound": "0"}, {"witnesses": [], "tree": []}
            yield (
                {
                    "fixed": rest,
                    "lower_bound": str(answer.lower_bound - Fraction(str(answer.case.question.choices.unit))),
                },
                {},
            )


def _less_changed(answer, result, evidence):
    document = [place_document(x) for x in answer.row]
    for i in result["changed"]:
        item = next(item for item in answer.case.question.choices.items if i in item)
        rest = [j for j in result["changed"] if j not in item]
        if answer.lower_bound == answer.cost and i not in _free(answer):
            places = [document[j] if j in item else place for j, place in enumerate(evidence["input"])]
            yield {"changed": rest, "lower_bound": "0"}, {"input": places, "fewer": []}
            yield {"changed": rest, "lower_bound": "0"}, {"fewer": []}


def _free(answer):
    choices = answer.case.question.choices
    return choices.features(choices.free)


def _further(answer, result, evidence):
    holds, fails = result["holds_at"], result["fails_at"]
    if fails is None or holds in ("finite", "inf"):
        return
    value = Fraction(holds.removesuffix("-e"))
    yield {"holds_at": str(value) if holds.endswith("-e") else str(value + HAIR)}, {}
    yield {"holds_at": str(value + 1), "fails_at": None}, {"input": None}
    yield {"holds_at": "inf", "fails_at": None}, {"input": None}
    if not fails.endswith("+e") and value > HAIR:
        yield {"fails_at": str(value - HAIR)}, {}
        yield {"fails_at": str(value / 2), "holds_at": "0"}, {}
    elif fails.endswith("+e"):
        yield {"fails_at": str(value)}, {}


def _other_sets(answer, result, evidence):
    sets = result["sets"]
    everything = [i for i in range(len(answer.row)) if i not in _free(answer)]
    for k, one in enumerate(sets):
        rest = [*sets[:k], *sets[k + 1 :]]
        if result["is_complete"] and rest:
            yield {"sets": rest}, {}
        for less, _ in _without(one, answer):
            yield {"sets": [*rest, less]}, {}
        if sorted(one) != everything:
            yield {"sets": [*rest, everything]}, {}


def _other_roles(answer, result, evidence):
    roles = "necessary", "relevant", "irrelevant"
    items = answer.case.question.choices.items
    for source in roles:
        for target in roles:
            for i in result[source] if source != target else ():
                item = list(next(item for item in items if i in item))
                kept = [j for j in result[source] if j not in item]
                said = {source: kept, target: sorted([*result[target], *item])}
                everything = [j for j in range(len(answer.row)) if j not in _free(answer)]
                for sets in (evidence["sets"], [everything] * 9, [[*everything]] * 1):
                    count = len(
                        {tuple(one) for one in items if set(one) <= set(said.get("relevant", result["relevant"]))}
                    )
                    trees = len(
                        {tuple(one) for one in items if set(one) <= set(said.get("irrelevant", result["irrelevant"]))}
                    )
                    yield (
                        said,
                        {"sets": (sets * 9)[:count], "trees": ([*evidence["trees"]] + [[{"fits": True}]] * 9)[:trees]},
                    )


def _less_steps(answer, result, evidence):
    for k, step in enumerate(result["steps"]):
        for rest, _ in _without(step["fixed"], answer):
            steps = [*result["steps"][:k], step | {"fixed": rest}, *result["steps"][k + 1 :]]
            yield {"steps": steps}, {}


def main():
    given = [one for one in sys.argv[1:] if one != "--forge"]
    count, seed, is_forged = int(given[0]), given[1] if len(given) > 1 else "0", "--forge" in sys.argv
    began, kinds, left, longest, forged = time.process_time(), Counter(), Counter(), 0.0, 0
    for has_pairs, share in ((False, count - count // 3), (True, count // 3)):
        made = 0
        for additive, kind, answer in answers(sys.maxsize, f"{seed} {has_pairs}", has_pairs=has_pairs):
            if made == share:
                break
            try:
                certificate = answer.certificate()
            except suffice.SufficeError as error:
                left[f"{kind}: {str(error).partition(', ')[0]}"] += 1
                continue
            start = time.process_time()
            checker = Checker(to_bytes(additive))
            checker.check(certificate.text.encode())
            longest = max(longest, time.process_time() - start)
            kinds[certificate.document["result"]["kind"] + " with pair terms" * has_pairs] += 1
            made += 1
            for document in forgeries(answer, certificate.document) if is_forged and not has_pairs else ():
                forged += 1
                try:
                    checker.check(json.dumps(document).encode())
                except suffice_check.RejectedError:
                    continue
                raise AssertionError(f"accepted, though false: {json.dumps(document)}")
    print(f"{kinds.total()} certificates accepted, none refused, in {time.process_time() - began:.0f} s CPU")
    print(dict(sorted(kinds.items())), f"longest check {longest:.2f} s")
    if is_forged:
        print(f"{forged} false statements about the same answers, none accepted")
    print("not certified:", dict(sorted(left.items())))


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent)]
    main()
