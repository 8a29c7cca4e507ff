"""Forged certificates and forged model files, with and without terms over two features, judged by `brute.py`.

    python tests/certificates/attack_files.py 10000 [seed]      # so many forgeries

Certificates of random models (`wild.py`) are changed: the statement, the question, the row, and evidence of every kind,
messages and scenarios too; or one number or word of the model file is, and the certificate given the new file's hash.
What the checker accepts must be true of the file, and what the library wrote must be accepted and be true.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import brute
from forge import cell, forgery, other_number, other_result, place, verdict
from wild import KINDS, ask, claim, model

import suffice
import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    Product,
    Steps,
)
from suffice.model.writing import to_bytes
from suffice_check.checker import Checker


def leaves(document, found, path=()):
    """Add all numbers, words, truth values and lists of a document, with what holds them."""
    each = document.items() if isinstance(document, dict) else enumerate(document)
    for key, one in list(each):
        if isinstance(one, (dict, list)):
            leaves(one, found, (*path, key))
        if not isinstance(one, dict) and key not in ("name", "kind"):
            found.append((document, key))
    return found


def tweak(rng, document):
    """Change one number, word, truth value or list of a document."""
    every = leaves(document, [])
    if not every:
        return
    holder, key = rng.choice(every)
    one = holder[key]
    if isinstance(one, bool):
        holder[key] = not one
    elif isinstance(one, int):
        holder[key] = max(0, one + rng.choice([-1, 1, 2]))
    elif isinstance(one, str) and one[:1] in "-0123456789":
        value, side = other_number(rng, one)
        holder[key] = value + (rng.choice(["", "+e", "-e"]) if side or rng.random() < 0.1 else "")
    elif one in ("left", "right", "positive", "negative"):
        holder[key] = {"left": "right", "right": "left", "positive": "negative", "negative": "positive"}[one]
    elif isinstance(one, list) and one:
        k = rng.randrange(len(one))
        holder[key] = rng.choice(
            [[*one[:k], *one[k + 1 :]], [*one, copy.deepcopy(one[k])], one[::-1], rng.sample(one, len(one)), []]
        )
    elif one is None or isinstance(one, str):
        others = [some[key2] for some, key2 in every if not isinstance(some[key2], list)]
        holder[key] = copy.deepcopy(rng.choice(others))


def forged_file(rng, content):
    """A model file with one number, word or entry of a tensor changed."""
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
    document = json.loads(header["__metadata__"]["suffice"])
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    if tensors and rng.random() < 0.3:
        entry = rng.choice(tensors)
        size, form = {"F32": (4, "<f"), "F64": (8, "<d")}[entry["dtype"]]
        at = rng.randrange(entry["data_offsets"][0], entry["data_offsets"][1], size)
        struct.pack_into(form, data, at, rng.randint(-8, 8) / 4)
    else:
        tweak(rng, rng.choice([document["features"], document["terms"], document["terms"], document]))
    header["__metadata__"]["suffice"] = json.dumps(document)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


def made_up(rng, document, values, oracle):
    """Another statement about the same row, of a model with pair terms: with next to no evidence."""
    if len(oracle.document["intercept"]) == 1 and rng.random() < 0.8:  # a claim that just holds, or does not, somewhere
        here, there = (
            oracle.scores([None if x is MISSING else x for x in row])[0]
            for row in (map(brute.value_of, document["row"]), map(rng.choice, values))
        )
        kind = rng.choice(["at_least", "at_most"])
        bound = (min if kind == "at_least" else max)(here, there)
        document["question"]["claim"], document["enclosure"] = {"kind": kind, "value": str(bound)}, None
    plain = {"fix": [], "free": [], "cost": {}, "groups": {}, "norm": "inf", "arithmetic": "exact"}
    few = {"max_changed": rng.choice([None, None, 1, 2]), "radius": rng.choice(["1", "2", "4", "inf", "inf"])}
    document["question"] |= {**plain, **few, "unit": "raw"}
    document["charges"] = None
    count, claimed = len(values), document["question"]["claim"]["kind"]
    parts = 2 if claimed in ("same", "within") and rng.random() < 0.5 else 1
    some = [i for i in range(count) if rng.random() < 0.3]
    leaf = {"messages": {"unit": "1", "edges": [], "tree": []}}
    enough = {"bins": [[] for _ in values], "messages": [[leaf]] * parts}
    at = [one if rng.random() < 0.5 else place(rng, every) for one, every in zip(document["row"], values, strict=True)]
    seen = [[rng.randrange(parts), [None if rng.random() < 0.3 else place(rng, every) for every in values]]]
    surrogate = {"surrogate": {"scenarios": [[0, rng.choice(["1", "1/2", "1/4", "2"])]], "shares": []}}
    trees = [[surrogate], [{"fix": k} for k in rng.sample(range(count), rng.randint(1, count))] + [surrogate]]
    bound = {"scenarios": seen, "tree": rng.choice(trees)}
    nothing = {"scenarios": [], "tree": []}
    radius = rng.choice(["1/2", "1", "2-e", "3", "finite", "inf"])
    stated = [
        ({"kind": "explanation", "fixed": some, "lower_bound": "0"}, {**enough, **nothing}),
        ({"kind": "explanation", "fixed": some, "lower_bound": str(len(some))}, {**enough, **bound}),
        ({"kind": "insufficient", "fixed": some}, {"input": at}),
        ({"kind": "radius", "fixed": some, "holds_at": radius, "fails_at": None}, {"input": None, **enough}),
        (
            {"kind": "contrast", "changed": some, "lower_bound": str(max(0, len(some) - rng.randint(0, 1)))},
            {"input": at, "bins": enough["bins"], "fewer": enough["messages"]},
        ),
        (
            {"kind": "explanations", "minimal": "size", "sets": [some], "is_complete": rng.random() < 0.5},
            {"bins": enough["bins"], "messages": [enough["messages"]], **bound},
        ),
    ]
    document["result"], document["evidence"] = copy.deepcopy(rng.choice(stated))
    if document["result"]["kind"] == "radius":
        document["question"]["radius"] = "1"


def tight(rng):
    """A model that is mostly terms over two features, of so few numbers that much is a tie; values of its features."""
    few = lambda: rng.choice([-3, -2, -1, 0, 0, 1, 2])  # noqa: E731
    count = rng.choice([2, 2, 3])
    domains = [rng.choice([Domain.interval(0, 2), Domain.interval(0, 2), Domain.integers(0, 2)]) for _ in range(count)]
    mains = [rng.choice([None, Steps([1], [0, few()], rng.choice(["left", "right"]))]) for _ in domains]
    pairs = {}
    for i, j in [rng.choice([(0, 1), (1, 0)]), *rng.sample([(1, 2), (0, 2)], 1)]:
        if max(i, j) < count:
            steps = PairSteps([1], [1], [[0, few()], [few(), few()]])
            surface = PairLinear([0, 2], [0, 2], [[0, few()], [few(), 2 * few()]])
            product = Product(PiecewiseLinear([0], [0], 0, few()), Steps([1], [few(), few()]))
            pairs[f"x{i}", f"x{j}"] = rng.choice([steps, steps, surface, product])
    features = [Feature(f"x{i}", domain, deviation=1) for i, domain in enumerate(domains)]
    task = rng.choice(["binary", "binary", "regression"])
    ties = rng.choice(["positive", "negative"]) if task == "binary" else "positive"
    return AdditiveModel(mains, rng.randint(0, 3), task, features, None, ties, pairs=pairs), [[0, 1, 2]] * count


def certificates(rng, explainer, values):
    """Some certificates of one model, about two rows."""
    rows = [[rng.choice(some) for some in values] for _ in range(2)]
    found = []
    for _ in range(8):
        x = rng.choice(rows)
        try:
            found.append(ask(rng, rng.choice(KINDS), explainer, x, claim(rng, explainer, x)).certificate().document)
        except suffice.SufficeError:
            continue
    return found


def forgeries(count, seed):
    """Yield (checker, oracle, certificate, whether it is as the library wrote it, what was forged)."""
    made = attempt = 0
    while made < count:
        rng = random.Random(f"{seed} {attempt}")
        attempt += 1
        has_pairs = attempt % 3 > 0
        try:
            additive, values = tight(rng) if attempt % 3 == 2 else model(rng, has_pairs=has_pairs)
            if len(values) > (3 if has_pairs else 4):
                continue
            explainer = Explainer(additive)
        except suffice.SufficeError:
            continue
        values = [[MISSING if x is None else x if isinstance(x, str) else Fraction(x) for x in some] for some in values]
        content, names, about = to_bytes(additive), list(additive.names), "pairs" if has_pairs else "alone"
        documents = certificates(rng, explainer, values)
        checker, oracle = Checker(content), brute.Model(content)
        for document in documents:
            yield checker, oracle, document, True, f"{about}, {document['result']['kind']}"
        for _ in range(min(24, count - made) if documents else 0):
            made += 1
            how = rng.random()
            if how < 0.3:  # a model file
                forged = forged_file(rng, content)
                try:
                    other = Checker(forged)
                except suffice_check.UnreadableError:
                    yield None, None, None, False, f"{about}, file"
                    continue
                document = {**rng.choice(documents), "model": hashlib.sha256(forged).hexdigest()}
                yield other, brute.Model(forged), document, False, f"{about}, file"
                continue
            if has_pairs and how < 0.5:
                document = copy.deepcopy(rng.choice(documents))
                made_up(rng, document, values, oracle)
            elif how < 0.7:
                document = copy.deepcopy(rng.choice(documents))
                for _ in range(rng.choice([1, 1, 2])):
                    if rng.random() < 0.3:
                        other_result(rng, document["result"], len(values))
                    else:
                        tweak(rng, document["evidence"])
            else:
                document = forgery(rng, documents, values, names)
            if rng.random() < 0.1:
                i = rng.randrange(len(values))
                document["row"][i] = cell(rng.choice(values[i]))
            yield checker, oracle, document, False, f"{about}, {document['result']['kind']}"


def run(count, seed):
    """Yield of each certificate whether it is the library's own, what it is about, the verdict, what is wrong."""
    for checker, oracle, document, is_own, about in forgeries(count, seed):
        said = verdict(checker, document) if checker else "unreadable"
        wrong = "a true statement is refused" if is_own and said != "accepted" else ""
        if said == "accepted":
            try:
                if not brute.is_true(oracle, document):
                    wrong = "a false statement is accepted"
            except brute.TooManyError:
                said = "accepted, not judged"
        yield is_own, about, said, wrong and f"{wrong}: {json.dumps(document)}\n{json.dumps(oracle.document)}"


def main():
    count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
    began, own, forged, wrong = time.process_time(), Counter(), Counter(), []
    for is_own, about, said, error in run(count, seed):
        (own if is_own else forged)[f"{about}: {said}" if said.startswith("accepted") else "refused"] += 1
        wrong += [error] if error else []
        if error:
            print(error, flush=True)
    print(f"{own.total()} certificates of the library: {dict(sorted(own.items()))}")
    print(f"{forged.total()} forgeries: {dict(sorted(forged.items()))}")
    print(f"{len(wrong)} verdicts are wrong; {time.process_time() - began:.0f} s CPU")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
