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
from suffice_check import tree, verdict
from suffice_check.drops import Constraint
from suffice_check.question import Question, choices, radii
from suffice_check.verdict import _Case

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
    elif action < 0.2 and isinstance(document.get("question"), dict):
        ask(document["question"], len(places(document.get("row"), [])) // 2, rng)
    elif action < 0.3:
        same = [c[k] for c, k in places(donor, []) if type(c[k]) is type(value) and (k == key or type(k) is int)]
        if same:
            container[key] = copy.deepcopy(rng.choice(same))
    elif action < 0.36:
        container[key] = rng.choice([None, "1", 0, 1, [], {}, {"number": "1"}, True])
    elif is_number(value):
        container[key] = other_number(value, rng, numbers)
    elif type(value) is int:
        container[key] = rng.choice([value + 1, max(0, value - 1), rng.randint(0, 9)])
    elif isinstance(value, str):
        container[key] = rng.choice(["red", "blue", "green", "inf", "net", "x1", "age", value[::-1], *HASHES])
    elif isinstance(value, list) and value:
        change_list(value, rng)
    elif isinstance(container, list):
        change_list(container, rng)
    else:
        del container[key]


def ask(question, count, rng):
    """Ask something else: change an option of the question to what it could be as well."""
    names = {5: ["net", "bins", "months", "colour", "jump"], 3: ["age", "income", "years"]}.get(
        count, [f"x{i}" for i in range(9)]
    )
    some, number = rng.sample(names, rng.randint(0, 2)), rng.choice(["1/2", "1", "2", "3", "1/3"])
    option = rng.choice(sorted({*question, "radius", "unit"}))
    question[option] = {
        "radius": rng.choice([number, "inf", dict.fromkeys(names, number) | dict.fromkeys(some, "0")]),
        "unit": rng.choice(["std", "raw", "model"]),
        "cost": dict.fromkeys(some, number),
        "groups": {rng.choice(["both", names[0]]): some} if some else {},
        "max_changed": rng.choice([None, 1, 2, 3]),
        "norm": rng.choice(["inf", "1", "2"]),
        "arithmetic": rng.choice(["exact", "float32"]),
        "claim": rng.choice([{"kind": "same"}, {"kind": "beats", "other": rng.choice("abc")}, question.get("claim")]),
    }.get(option, some)


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


@pytest.mark.slow
def test_no_mutant_is_wrongly_accepted():
    verdicts, wrong = run(MUTANTS, SEED)
    assert not wrong, wrong[0]
    assert verdicts.total() == MUTANTS
    # The mutants reach every step of the checker, and many are still true: the oracle has something to say.
    assert verdicts["accepted"] > MUTANTS / 50, verdicts
    steps = {
        "model",
        "row",
        "radius",
        "immutable",
        "claim",
        "enclosure",
        "features",
        "charges",
        "points",
        "sufficiency",
    }
    more = {"question", "choices", "cost", "groups", "lower bound", "witnesses", "tree", "input", "beyond"}
    assert steps | more | {"unreadable"} <= set(verdicts)


def always(result):
    return lambda *arguments, **options: result


# What is broken in the checker, and the certificates whose mutants tell. Many a change spoils only the evidence of what
# stays true, which no oracle of the truth can tell: for each such step the corpus has an attack.
def with_changes(function, **changes):
    return lambda question, model: function(question._replace(**changes), model)


SABOTAGES = {
    "sums are believed": (Constraint, "holds", always(True), ["one_inequality", "contrast"]),
    "strict is not strict": (Constraint, "_breaks", lambda _, fall, margin: fall.value > margin, ["tie_that_is_kept"]),
    "leaves are believed": (tree.Cover, "_most", always(-(10**6)), ["branches", "pair"]),
    "inputs are believed": (_Case, "_check_input", always(None), ["contrast", "insufficient"]),
    "anything goes beyond": (_Case, "_check_beyond", always(None), ["radius_attained", "radius_up_to_a_plateau"]),
    "units are ignored": (
        verdict,
        "radii",
        with_changes(radii, unit="raw"),
        ["branches", "deviations_of_corners", "radius_in_deviations"],
    ),
    "immutable features move": (verdict, "radii", with_changes(radii, immutable=[]), ["one_inequality", "pair"]),
    "wishes are ignored": (verdict, "choices", with_changes(choices, fix=[], free=[]), ["one_inequality", "pair"]),
    "costs are ignored": (verdict, "choices", with_changes(choices, cost={}), ["one_inequality", "pair"]),
    "groups are ignored": (verdict, "choices", with_changes(choices, groups={}), ["groups"]),
    "all may change at once": (_Case, "_max_changed", None, ["few_at_once", "pair", "insufficient_by_two"]),
    "options mean nothing": (Question, "given", always(set()), ["contrast", "insufficient", "radius_attained"]),
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
