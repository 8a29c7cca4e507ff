"""Certificates changed at random: what the checker still accepts must be true, by brute force on plain functions.

The same 10,000 mutants on every run; SUFFICE_FUZZ_SEED asks for others.
"""

import copy
import json
import os
import random
from collections import Counter
from fractions import Fraction

import pytest
from plain import plain
from test_corpus import VALID, model_of

import suffice_check
from suffice_check import tree
from suffice_check.check import _Case
from suffice_check.drops import Constraint

SEED = os.environ.get("SUFFICE_FUZZ_SEED", "0")
MUTANTS = 10_000
BASES = {name: (model_of(path), path.read_text()) for name, path in VALID.items()}
NAMES = tuple(sorted(BASES))
HASHES = {json.loads(path.read_bytes())["model"]: model_of(path) for path in VALID.values()}


# --- changes ----------------------------------------------------------------------------------------------------------


def places(value, found):
    """All (container, key) pairs of a document."""
    for key in range(len(value)) if isinstance(value, list) else sorted(value) if isinstance(value, dict) else ():
        found.append((value, key))
        places(value[key], found)
    return found


def other_number(text, rng, numbers):
    value = Fraction(text)
    return str(
        rng.choice(
            [
                value + 1,
                value - 1,
                -value,
                value / 2,
                value * 2,
                value + Fraction(1, 2**200),
                value - Fraction(1, 2**200),
                Fraction(0),
                Fraction(rng.randint(-9, 9), rng.randint(1, 9)),
                Fraction(rng.choice(numbers)),
            ]
        )
    )


def is_number(value):
    try:
        return isinstance(value, str) and Fraction(value) is not None
    except (ValueError, ZeroDivisionError):
        return False


def mutate(document, donor, rng):
    """Change one place of a document: a number, a list, a field, or what another certificate has in such a place."""
    found = places(document, [])
    if not found:
        return
    numbers = [c[k] for c, k in found if is_number(c[k])] or ["1"]
    container, key = rng.choice(found)
    value = container[key]
    action = rng.random()
    if action < 0.03:
        document["model"] = rng.choice(list(HASHES))
    elif action < 0.15:
        same = [c[k] for c, k in places(donor, []) if type(c[k]) is type(value) and (k == key or type(k) is int)]
        if same:
            container[key] = copy.deepcopy(rng.choice(same))
    elif action < 0.22:
        container[key] = rng.choice([None, "1", 0, 1, [], {}, {"number": "1"}, True])
    elif is_number(value):
        container[key] = other_number(value, rng, numbers)
    elif type(value) is int:
        container[key] = rng.choice([value + 1, max(0, value - 1), rng.randint(0, 9)])
    elif isinstance(value, str):
        container[key] = rng.choice(["red", "blue", "green", value[::-1], *HASHES])
    elif isinstance(value, list) and value:
        change_list(value, rng)
    elif isinstance(container, list):
        change_list(container, rng)
    else:
        del container[key]


def change_list(values, rng):
    i, j = rng.randrange(len(values)), rng.randrange(len(values))
    action = rng.randrange(5)
    if action == 0:
        del values[i]
    elif action == 1:
        values.insert(i, copy.deepcopy(values[j]))
    elif action == 2:
        values[i], values[j] = values[j], values[i]
    elif action == 3:
        values[i] = copy.deepcopy(values[j])
    else:
        values.reverse()


def mutants(count, seed, names):
    """Yield (model, text of a changed certificate)."""
    for k in range(count):
        rng = random.Random(f"{seed} {k}")
        model, text = BASES[names[k % len(names)]]
        if rng.random() < 0.1:  # any byte
            place = rng.randrange(len(text))
            yield model, text[:place] + rng.choice('0123456789/-,:[]{}"nule ') + text[place + 1 :]
            continue
        document, donor = json.loads(text), json.loads(BASES[rng.choice(NAMES)][1])
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutate(document, donor, rng)
        yield HASHES.get(str(document.get("model")), model), json.dumps(document)


def run(count, seed, names=NAMES):
    """Return how many mutants came out which way, and those accepted though their claim is false."""
    verdicts, wrong = Counter(), []
    contents = {path: path.read_bytes() for path in HASHES.values()}
    originals = {json.dumps(json.loads(text), sort_keys=True) for _, text in BASES.values()}
    for model, text in mutants(count, seed, names):
        try:
            suffice_check.check(contents[model], text.encode())
        except suffice_check.RejectedError as error:
            verdicts[error.step] += 1
        except suffice_check.UnreadableError:
            verdicts["unreadable"] += 1
        else:
            document = json.loads(text)
            if json.dumps(document, sort_keys=True) in originals:
                verdicts["unchanged"] += 1
                continue
            verdicts["accepted"] += 1
            if not plain(model.stem).is_true(document):
                wrong.append(text)
    return verdicts, wrong


def test_no_mutant_is_wrongly_accepted():
    verdicts, wrong = run(MUTANTS, SEED)
    assert not wrong, wrong[0]
    assert verdicts.total() == MUTANTS
    # The mutants reach every step of the checker, and many are still true: the oracle has something to say.
    assert verdicts["accepted"] > MUTANTS / 50, verdicts
    steps = {"model", "row", "radii", "claim", "features", "choices", "charges", "points", "sufficiency"}
    assert steps | {"lower bound", "witnesses", "tree", "input", "beyond", "unreadable"} <= set(verdicts)


def always(result):
    return lambda *arguments, **options: result


# What is broken in the checker, and the certificates whose mutants tell. Many a change spoils only the evidence of what
# stays true, which no oracle of the truth can tell: for each such step the corpus has an attack.
SABOTAGES = {
    "sums are believed": (Constraint, "holds", always(True), ["one_inequality", "contrast"]),
    "strict is not strict": (Constraint, "_breaks", lambda _, fall, margin: fall.value > margin, ["tie_that_is_kept"]),
    "leaves are believed": (tree.Cover, "_most", always(-(10**6)), ["branches", "pair"]),
    "inputs are believed": (_Case, "_check_input", always(None), ["contrast", "insufficient"]),
}


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_the_fuzzer_tells_a_checker_that_does_not_check(sabotage, monkeypatch):
    where, name, instead, bases = SABOTAGES[sabotage]
    assert not run(300, sabotage, bases)[1]
    monkeypatch.setattr(where, name, instead)
    for part in range(10):  # enough to find one
        if run(300, f"{sabotage} {part}", bases)[1]:
            return
    raise AssertionError("no mutant got past the sabotaged checker")
