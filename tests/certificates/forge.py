"""Forged statements about random models, judged by an oracle that tries inputs (`inputs.py`).

    python tests/certificates/forge.py 10000 [seed]     # so many forgeries, and the certificates they are made from

True certificates are taken apart and put together wrongly: other sets, bounds, radii, roles, stretches and ranges;
another row or question; evidence of another certificate of the same model, or made up. What the checker accepts must
be true.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from inputs import Bins, Broken, Column, Listed, Moved, Net, Plus, Times, World, is_true
from wild import KINDS, ask, claim

import suffice
import suffice_check
from suffice import MISSING, Explainer
from suffice.model.writing import to_bytes
from suffice_check.checker import Checker

MOST_INPUTS = 40_000
FORGERIES = int(os.environ.get("SUFFICE_FUZZ_FORGERIES", "1200"))
SEED = os.environ.get("SUFFICE_FUZZ_SEED", "0")


# --- models -----------------------------------------------------------------------------------------------------------


def number(rng):
    return rng.choice([Fraction(rng.randint(-3, 3)), Fraction(rng.randint(-6, 6), 2), Fraction(rng.randint(-5, 5), 3)])


def row(rng, outputs):
    return [number(rng) for _ in range(outputs)]


def shape(rng, outputs, depth=0):
    kind = rng.choice(["bins", "bins", "broken", "net", "listed", "plus", "times", "moved"][: 4 if depth else 8])
    if kind == "bins":
        cuts = sorted(Fraction(t) for t in rng.sample(range(-3, 4), rng.randint(1, 2)))
        return Bins(cuts, [row(rng, outputs) for _ in range(len(cuts) + 1)], rng.choice(["left", "right"]))
    if kind == "broken":
        knots = sorted(Fraction(t) for t in rng.sample(range(-3, 4), rng.randint(1, 2)))
        slopes = row(rng, outputs), row(rng, outputs)
        return Broken(knots, [row(rng, outputs) for _ in knots], slopes)
    if kind == "net":
        widths = [1, *(rng.randint(1, 2) for _ in range(rng.randint(1, 2))), outputs]
        quarter = lambda: Fraction(rng.randint(-8, 8), 4)  # noqa: E731
        layers = [
            ([[quarter() for _ in range(a)] for _ in range(b)], [quarter() for _ in range(b)])
            for a, b in pairwise(widths)
        ]
        return Net(layers, [rng.choice(["relu", "hard_tanh", "relu6"]) for _ in layers[1:]])
    if kind == "listed":
        return Listed({Fraction(rng.randint(-2, 2)): row(rng, outputs) for _ in range(2)}, shape(rng, outputs, 1))
    if kind == "plus":
        return Plus(shape(rng, outputs, 1), shape(rng, outputs, 1))
    if kind == "times":
        return Times(rng.choice([Fraction(2), Fraction(1, 3), Fraction(-1)]), shape(rng, outputs, 1))
    return Moved(Fraction(rng.choice([0, 1])), Fraction(rng.choice([2, -1])), shape(rng, outputs, 1))


def column(rng, i, outputs):
    """A feature, and some of its values."""
    kind = rng.choice(["reals", "reals", "interval", "integers", "codes", "labels", "ranks", "points", "mixed"])
    name, center, scale = f"x{i}", rng.choice([0, 1]), rng.choice([1, 1, 2, -1])
    about = {"center": center, "scale": scale, "deviation": rng.choice([1, 2, "1/2", 0])}
    inside = lambda x: (Fraction(x) - center) / scale  # noqa: E731
    if kind == "labels":
        labels = ["a", "b", "c"][: rng.randint(2, 3)]
        made = Listed({label: row(rng, outputs) for label in labels})
        made = Times(Fraction(-2), made) if rng.random() < 0.3 else made
        return Column(name, made, [], labels, **about), labels
    if kind == "ranks":
        ranks = ["low", "middle", "high", "top"][: rng.randint(2, 4)]
        made = Listed({rank: row(rng, outputs) for rank in ranks})
        return Column(name, made, [], ranks, **about, is_ordered=True), ranks
    inner, low = shape(rng, outputs), Fraction(rng.randint(-3, 0))
    spans, values = [(None, None, False)], [Fraction(rng.randint(-6, 6), 2) for _ in range(3)]
    if kind == "interval":
        spans, values = [(low, low + rng.randint(1, 5), False)], [low, low + Fraction(1, 2)]
    elif kind == "integers":
        spans, values = [(rng.choice([Fraction(-4), None]), Fraction(4), True)], [Fraction(t) for t in range(-4, 5)]
    elif kind == "points":
        spans = [(Fraction(t), Fraction(t), False) for t in (-2, 0)] + [(Fraction(1), Fraction(3), False)]
        values = [Fraction(t) for t in (-2, 0, 1, 2)]
    elif kind == "codes":
        codes = [MISSING, Fraction(-9)]
        inner = Listed({MISSING: row(rng, outputs), inside(-9): row(rng, outputs)}, inner)
        return Column(name, inner, [(low, low + 4, False)], [], codes, **about), [low, low + 1, *codes]
    elif kind == "mixed":  # numbers, and numbers that are categories
        numbers = [Fraction(7), Fraction(8)]
        inner = Listed({inside(x): row(rng, outputs) for x in numbers}, inner)
        return Column(name, inner, [(Fraction(-2), Fraction(2), True)], numbers, **about), [Fraction(0), *numbers]
    return Column(name, inner, spans, **about), values


def world(rng):
    """A model, and values of each feature."""
    task = rng.choice(["binary", "binary", "multiclass", "regression"])
    outputs = 3 if task == "multiclass" else 1
    columns, values = zip(*(column(rng, i, outputs) for i in range(rng.randint(2, 4))), strict=True)
    ties = rng.choice(["positive", "negative"]) if task == "binary" else "positive"
    return World(task, ties, row(rng, outputs), list(columns)), values


def inputs_of(made, x):
    """About how many inputs there are to try."""
    count = 1
    for one, at in zip(made.columns, x, strict=True):
        count *= len({tuple(one.part(y)) for y in [at, *one.region(at, Fraction(2))]}) + 1
    return count


def asked(rng):
    """A model as plain functions, its certificates, and values of its features."""
    while True:
        try:
            made, values = world(rng)
            explainer = Explainer(made.model)
        except suffice.SufficeError:
            continue
        x = [rng.choice(some) for some in values]
        if inputs_of(made, x) > MOST_INPUTS:
            continue
        documents = []
        for _ in range(6):
            kind, at = rng.choice(KINDS), x if rng.random() < 0.7 else [rng.choice(some) for some in values]
            try:
                answer = ask(rng, kind, explainer, at, claim(rng, explainer, at))
                documents.append(answer.certificate().document)
            except suffice.SufficeError:
                continue
        if documents:
            return made, documents, values


# --- forgeries --------------------------------------------------------------------------------------------------------


def cell(x):
    return {"missing": True} if x is MISSING else {"label": x} if isinstance(x, str) else {"number": str(x)}


def place(rng, some):
    """A value, or one beside it."""
    found = cell(rng.choice(some))
    if "number" in found:
        found["number"] += rng.choice(["", "", "+e", "-e"])
    return found


def other_set(rng, features, count):
    """Another set: one less, one more, or one for another."""
    found = [i for i in features if rng.random() < 0.7]
    return sorted({*found, *([rng.randrange(count)] if rng.random() < 0.5 else [])})


def other_number(rng, text):
    side = text[-2:] if text[-1:] == "e" else ""
    value = Fraction(text.removesuffix(side) if side else text)
    change = rng.choice([0, 0, Fraction(1, 64), Fraction(-1, 64), Fraction(1, 2), 1, -1, value, -value / 2])
    return str(value + change), side


def other_radius(rng, radius):
    if radius in (None, "inf", "finite") or rng.random() < 0.15:
        return rng.choice(["inf", "finite", "1", "2", "2-e", "1+e", "0"])
    return other_number(rng, radius)[0] + rng.choice(["", "", "+e", "-e"])


def other_result(rng, result, count):
    """Say something else, of the same kind."""
    field = rng.choice([name for name in result if name != "kind"])
    said = result[field]
    if field in ("fixed", "changed", "necessary", "relevant", "irrelevant"):
        result[field] = other_set(rng, said, count)
        if field in ("necessary", "relevant", "irrelevant") and said and rng.random() < 0.6:
            moved, to = rng.choice(said), rng.choice(["necessary", "relevant", "irrelevant"])
            for role in ("necessary", "relevant", "irrelevant"):
                result[role] = sorted({*result[role], moved}) if role == to else [i for i in result[role] if i != moved]
    elif field == "lower_bound":
        result[field] = str(max(Fraction(0), Fraction(said) + rng.choice([1, -1, Fraction(1, 2), 2])))
    elif field in ("holds_at", "fails_at"):
        result[field] = other_radius(rng, said)
    elif field == "least":
        result[field] = other_number(rng, said)[0] + rng.choice(["", "-e"])
    elif field == "sets":
        result[field] = rng.choice(
            [
                said[1:],
                said[:-1],
                [*said, other_set(rng, range(count), count)],
                [other_set(rng, one, count) for one in said],
            ]
        )
    elif field in ("is_complete", "is_widest"):
        result[field] = not said
    elif field == "minimal":
        result[field] = "size" if said == "subset" else "subset"
    elif field == "steps":
        step = rng.choice(said or [{"from": "0", "holds_at": "0", "fixed": []}])
        name = rng.choice(["from", "holds_at", "fixed"])
        step[name] = other_set(rng, step[name], count) if name == "fixed" else other_radius(rng, step[name])
    elif field == "ranges" and said:
        one = rng.choice(said)
        end = rng.choice([name for name in one if name != "feature"])
        if end == "values":
            one[end] = one[end][1:] or [{"label": "a"}]
        else:
            text = rng.choice([None, "0"]) if one[end] is None or rng.random() < 0.1 else one[end]
            one[end] = text and other_number(rng, text)[0] + rng.choice(["", "+e" if end == "low" else "-e"])


def other_question(rng, question, names, values):
    """Ask something else."""
    some, half = rng.sample(names, rng.randint(0, 2)), rng.choice(["1/2", "1", "2", "3"])
    option = rng.choice(sorted({*question, "categories"}))
    if option == "claim":
        kind = question["claim"]["kind"]
        field = {"within": "delta", "at_least": "value", "at_most": "value", "probability_at_least": "p"}.get(kind)
        if field:
            question["claim"][field] = other_number(rng, question["claim"][field])[0]
        else:
            question["claim"] = rng.choice([{"kind": "same"}, {"kind": "beats", "other": rng.choice("abc")}])
        return
    question[option] = {
        "radius": rng.choice(
            [
                half,
                "inf",
                "0",
                dict.fromkeys(names, half) | dict.fromkeys(some, rng.choice(["0", "inf"])),
                dict.fromkeys(names, half) | {name: [cell(x) for x in values[names.index(name)]] for name in some},
            ]
        ),
        "unit": rng.choice(["std", "raw", "model"]),
        "categories": rng.choice(["free", "step"]),
        "cost": dict.fromkeys(some, half),
        "groups": {"both": some} if some else {},
        "max_changed": rng.choice([None, 1, 2, 3]),
        "norm": rng.choice(["inf", "1", "2"]),
        "arithmetic": rng.choice(["exact", "float32"]),
    }.get(option, some)


def leaf(rng, kind, multipliers):
    if kind == "relevance":
        return {"fits": True}
    listed = {"listed": rng.randrange(3)}
    bound = {"bound": [str(rng.choice([0, 1, Fraction(1, 2), Fraction(1, 3), 2])) for _ in range(multipliers)]}
    return rng.choice([listed, bound] if kind == "explanations" else [bound])


def other_tree(rng, kind, multipliers, items):
    """A small tree, made up."""
    left = rng.sample(range(items), rng.randint(0, min(2, items)))
    nodes = []
    for item in left:
        nodes.append({rng.choice(["fix", "fix", "branch"]): item})
    open_leaves = 1 + sum("branch" in node for node in nodes)
    return [*nodes, *(leaf(rng, kind, multipliers) for _ in range(open_leaves))]


def other_evidence(rng, document, values):
    """Show something else."""
    evidence, kind = document["evidence"], document["result"]["kind"]
    proofs = evidence.get("proofs", [evidence])
    one = rng.choice(proofs or [evidence])
    field = rng.choice(sorted(one))
    if field == "input" and one[field]:
        i = rng.randrange(len(values))
        one[field][i] = place(rng, values[i])
    elif field == "inputs" and one[field]:
        i, some = rng.randrange(len(values)), rng.choice(one[field])
        if i < len(some):
            some[i] = place(rng, values[i])
    elif field == "witnesses" and one[field]:
        i, some = rng.randrange(len(values)), rng.choice(one[field])
        if i < len(some):
            some[i] = rng.choice([None, place(rng, values[i])])
    elif field == "tree":
        one[field] = rng.choice([[], other_tree(rng, kind, len(one.get("witnesses", [])) or 1, len(values))])
    elif field in ("trees", "fewer", "nearer"):
        made = [other_tree(rng, kind, 2, len(values)) for _ in one[field]]
        one[field] = rng.choice([made, one[field][1:], [[] for _ in made]])
    elif field == "sets":
        one[field] = [other_set(rng, some, len(values)) for some in one[field]]


def other_kind(rng, document, values):
    """Turn one kind of result into another that its evidence may seem to show."""
    result, evidence = document["result"], document["evidence"]
    kind = result["kind"]
    if kind in ("explanation", "radius", "insufficient") and rng.random() < 0.5:
        document["result"] = {"kind": "insufficient", "fixed": result["fixed"]}
        document["evidence"] = {"input": [place(rng, some) for some in values]}
    elif kind == "contrast":
        document["result"] = {**result, "kind": "counterfactual", "least": rng.choice(["1", "1-e", "1/2", "0"])}
        document["evidence"] = {**evidence, "nearer": rng.choice([[], evidence["fewer"]])}
    elif kind == "explanation":
        document["result"] = {
            "kind": "explanations",
            "minimal": rng.choice(["size", "subset"]),
            "sets": [result["fixed"]],
            "is_complete": rng.random() < 0.5,
        }
    elif kind == "explanations" and result["sets"]:
        document["result"] = {
            "kind": "explanation",
            "fixed": result["sets"][0],
            "lower_bound": str(len(result["sets"][0])),
        }
    elif kind == "counterfactual":
        document["result"] = {name: one for name, one in result.items() if name != "least"} | {"kind": "contrast"}
        document["evidence"] = {name: one for name, one in evidence.items() if name != "nearer"}
    else:
        document["result"] = {
            "kind": "explanation",
            "fixed": other_set(rng, range(len(values)), len(values)),
            "lower_bound": "0",
        }
        document["evidence"] = {"witnesses": [], "tree": []}


def forgery(rng, documents, values, names):
    """A certificate with one to three things changed."""
    document = copy.deepcopy(rng.choice(documents))
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        how = rng.random()
        if how < 0.35:
            other_result(rng, document["result"], len(values))
        elif how < 0.55:
            other_question(rng, document["question"], names, values)
        elif how < 0.75:
            other_evidence(rng, document, values)
        elif how < 0.83:
            i = rng.randrange(len(values))
            document["row"][i] = cell(rng.choice(values[i]))
        elif how < 0.9:
            other_kind(rng, document, values)
        elif how < 0.95:
            donor = rng.choice(documents)
            if donor["result"]["kind"] == document["result"]["kind"]:
                document["evidence"] = copy.deepcopy(donor["evidence"])
        elif document["charges"] is not None:
            document["charges"] = [other_number(rng, one)[0].lstrip("-") for one in document["charges"]]
    return document


def forgeries(count, seed):
    """Yield (model, checker, a certificate, whether it is a true one, before anything was changed)."""
    made = attempt = 0
    while made < count:
        rng = random.Random(f"{seed} {attempt}")
        attempt += 1
        plain, documents, values = asked(rng)
        checker = Checker(to_bytes(plain.model))
        for document in documents:
            yield plain, checker, document, True
        for _ in range(min(20, count - made)):
            made += 1
            yield plain, checker, forgery(rng, documents, values, plain.names), False


def verdict(checker, document):
    try:
        checker.check(json.dumps(document).encode())
    except suffice_check.RejectedError as error:
        return error.step
    except suffice_check.UnreadableError:
        return "unreadable"
    return "accepted"


def run(count, seed):
    """Yield of each certificate its kind, whether it is the library's own, the verdict, and what is wrong with it."""
    for plain, checker, document, is_own in forgeries(count, seed):
        said, kind = verdict(checker, document), document["result"]["kind"]
        wrong = "a true statement is refused" if is_own and said != "accepted" else ""
        if said == "accepted" and not is_true(plain, document):
            wrong = "a false statement is accepted"
        yield kind, is_own, said, wrong and f"{wrong}: {json.dumps(document)}"


def main():
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
    began, own, verdicts, wrong = time.process_time(), Counter(), Counter(), []
    for kind, is_own, said, error in run(count, seed):
        (own if is_own else verdicts)[kind if is_own else said] += 1
        wrong += [error] if error else []
    print(f"{own.total()} certificates of the library: {dict(own)}")
    print(f"{verdicts.total()} forgeries, of which {verdicts['accepted']} are accepted: {dict(verdicts)}")
    print(f"{len(wrong)} verdicts are wrong; {time.process_time() - began:.0f} s CPU", *wrong[:3], sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
