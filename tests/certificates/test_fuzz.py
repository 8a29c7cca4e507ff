"""Certificates changed at random: what the checker still accepts must be true, by brute force on plain functions.

The same mutants on every run; SUFFICE_FUZZ_SEED asks for others, SUFFICE_FUZZ_MUTANTS for more.
"""

import copy
import json
import os
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import pytest
from plain import plain
from test_corpus import INVALID, VALID, model_of
from truth import is_true
from wild import answers, forgeries

import suffice
import suffice_check
from suffice.model.writing import to_bytes
from suffice.numbers.values import to_user
from suffice_check import alone, core, network, tree, verdict
from suffice_check.alone import Alone
from suffice_check.checker import Checker
from suffice_check.claims import inequalities
from suffice_check.core import Around, Part
from suffice_check.domain import Domain
from suffice_check.ordered import Number
from suffice_check.question import Question, choices, radii, regions
from suffice_check.tree import Cover
from suffice_check.verdict import Proven

SEED = os.environ.get("SUFFICE_FUZZ_SEED", "0")
MUTANTS = int(os.environ.get("SUFFICE_FUZZ_MUTANTS", "4000"))
ANSWERS = int(os.environ.get("SUFFICE_FUZZ_ANSWERS", "500"))
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
    checkers = {path: Checker(path.read_bytes()) for path in HASHES.values()}
    originals = {json.dumps(json.loads(text), sort_keys=True) for _, text in BASES.values()}
    for model, text in mutants(count, seed, names):
        try:
            checkers[model].check(text.encode())
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
            if not is_true(plain(model.stem), document):
                wrong.append(text)
    return verdicts, wrong


@pytest.mark.slow
def test_no_mutant_is_wrongly_accepted():
    verdicts, wrong = run(MUTANTS, SEED)
    assert not wrong, wrong[0]
    assert verdicts.total() == MUTANTS
    # The mutants reach every step of the checker, and many are still true: the oracle has something to say.
    assert verdicts["accepted"] > MUTANTS / 50, verdicts
    steps = "model row radius immutable claim enclosure features charges sufficiency question choices cost groups"
    more = "lower bound", "witnesses", "tree", "input", "sets", "steps", "ranges", "unreadable"
    assert {*steps.split(), *more} <= set(verdicts)


def test_what_the_library_certifies_is_accepted():
    """Random models, rows and questions of every kind; what cannot be certified says why."""
    kinds = Counter()
    for model, _, answer in answers(ANSWERS, SEED):
        try:
            certificate = answer.certificate()
        except suffice.ClaimError:  # of a contrast that rounding leaves open there is no proof
            assert not answer.is_possible
            continue
        assert suffice_check.check(to_bytes(model), certificate.text.encode()).startswith("Proven: ")
        kinds[certificate.document["result"]["kind"]] += 1
    assert set(kinds) == set(verdict.TAKES)


def test_what_the_library_certifies_of_features_that_act_together_is_accepted():
    kinds = Counter()
    for model, _, answer in answers(ANSWERS // 2, f"pairs {SEED}", has_pairs=True):
        try:
            certificate = answer.certificate()
        except (suffice.CertificateError, suffice.ClaimError):  # a proof that is not close enough, an open contrast
            continue
        assert suffice_check.check(to_bytes(model), certificate.text.encode()).startswith("Proven: ")
        kinds[certificate.document["result"]["kind"]] += 1
    assert set(kinds) >= {"explanation", "explanations", "contrast", "counterfactual", "radius", "insufficient"}


def test_no_false_statement_about_an_answer_is_accepted():
    """A little more than is true, said with the evidence that there is."""
    kinds = Counter()
    for model, _, answer in answers(ANSWERS // 2, f"forged {SEED}"):
        try:
            document = answer.certificate().document
        except suffice.ClaimError:
            continue
        checker = Checker(to_bytes(model))
        for forged in forgeries(answer, document):
            with pytest.raises(suffice_check.RejectedError):
                checker.check(json.dumps(forged).encode())
            kinds[document["result"]["kind"]] += 1
    assert set(kinds) == set(verdict.TAKES) - {"inflation", "insufficient"}


def test_every_set_is_judged_as_the_library_judges_it():
    """Two programs that share no code agree on every set of features: it suffices, or it does not."""
    verdicts = Counter()
    for model, kind, answer in answers(ANSWERS // 4, f"sets {SEED}"):
        question = answer.case.question
        if kind not in ("explain", "sufficiency", "contrast", "relevance") or question.is_ball:
            continue
        explainer, checker = suffice.Explainer(model), Checker(to_bytes(model))
        plain = suffice.Question.from_document(
            model, question.document() | {"fix": [], "free": [], "cost": {}, "groups": {}, "arithmetic": "exact"}
        )
        row = [to_user(x) for x in answer.row]
        document = explainer.sufficiency(row, model.names, plain).certificate().document
        for count in range(len(row)):
            for fixed in combinations(range(len(row)), count):
                said = document | {"result": document["result"] | {"fixed": list(fixed)}}
                suffices = explainer.is_sufficient(row, [model.names[i] for i in fixed], plain)
                try:
                    checker.check(json.dumps(said).encode())
                    assert suffices
                except suffice_check.RejectedError:
                    assert not suffices
                verdicts[suffices] += 1
    assert min(verdicts[True], verdicts[False]) > 50


# --- a checker that does not check is found ---------------------------------------------------------------------------


def always(result):
    return lambda *arguments, **options: result


# What is broken in the checker, and the certificates whose mutants tell. Many a change spoils only the evidence of what
# stays true, which no oracle of the truth can tell: for each such step the corpus has an attack.
def with_changes(function, **changes):
    return lambda question, model: function(question._replace(**changes), model)


def loosened(**changes):
    """The claim's inequalities with something about them forgotten."""

    def broken(*given):
        parts, text = inequalities(*given)
        return [part._replace(**changes) for part in parts], text

    return broken


SABOTAGES = {
    "sums are believed": (Alone, "check_sufficient", always(None), ["one_inequality", "contrast"]),
    "strict is not strict": (verdict, "inequalities", loosened(is_strict=False), ["tie_that_is_kept"]),
    "leaves are believed": (Cover, "_most", always(-(10**6)), ["branches", "pair"]),
    "inputs are believed": (Around, "check_input", always(None), ["contrast", "insufficient"]),
    "anything goes beyond": (Around, "check_input", always(None), ["radius_attained", "radius_up_to_a_plateau"]),
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
    "all may change at once": (
        Proven,
        "_inside",
        lambda self, region: Alone(self.case._replace(most=None, few=None), region),
        ["few_at_once", "pair", "insufficient_by_two"],
    ),
    "options mean nothing": (Question, "given", always(set()), ["insufficient", "radius_attained", "all_smallest"]),
    "cheap changes are believed": (alone, "check_few", always(None), ["contrast", "nearest"]),
    "minimal sets are believed": (Cover, "breaks", always(True), ["some_minimal", "all_minimal_of_corners"]),
}


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_the_fuzzer_tells_a_checker_that_does_not_check(sabotage, monkeypatch):
    where, name, instead, bases = SABOTAGES[sabotage]
    assert not run(60, sabotage, bases)[1]
    monkeypatch.setattr(where, name, instead)
    for part in range(50):  # enough to find one
        if run(60, f"{sabotage} {part}", bases)[1]:
            return
    raise AssertionError("no mutant got past the sabotaged checker")


def marked(mark):
    """Falls whose edge is something else than it should be."""
    fall = Part._fall

    def broken(self, *given):
        found = fall(self, *given)
        return Number(found.value, mark(found.edge))

    return broken


def bounded(drops):
    """The largest falls, taken to be nothing where there is none."""
    return lambda self, region: [Number(0) if drop is None else drop for drop in drops(self, region)]


def without_edges(model, row, radii, at, still):
    return regions(model, row, radii, Number(at.value) if isinstance(at, Number) else at, still)


def with_open_ends(domain, x, radius):
    return domain


def forgetful(bends):
    """Changes of slope, but for every second one."""
    return ORDERED(bends[::2])


ORDERED = network.ordered

# Breaks that change little: the corpus has an attack for each, or something that holds is no longer accepted.
SMALL = {
    "one-sided limits are ignored": (core, "_between", lambda *_: iter(())),
    "limits are taken for values": (Part, "_fall", marked(lambda edge: 0)),
    "what comes close goes beyond": (Part, "_fall", marked(abs)),
    "what goes beyond only comes close": (Part, "_fall", marked(lambda edge: -1 if edge else 0)),
    "nothing falls without bound": (Part, "drops", bounded(Part.drops)),
    "ends of regions are not open": (verdict, "regions", without_edges),
    "regions have no ends": (Domain, "around", with_open_ends),
    "a ball is taken for a box": (
        Proven,
        "_inside",
        lambda self, region: Alone(self.case._replace(few=self.question.max_changed), region),
    ),
    "a threshold is believed to be exact": (verdict, "inequalities", loosened(gap=0)),
    "charges are forgotten": (Proven, "_charges", lambda self, count: [0] * count),
    "any item is better than any other": (Cover, "_is_better", lambda self, a, b: a != b),
    "listed sets are believed": (tree, "walk", always(None)),
    "minimality is believed": (Cover, "breaks", always(True)),
    "irrelevance is believed": (verdict, "check_irrelevant", always(None)),
    "dear changes are believed": (alone, "check_changes", always(None)),
    "ranges are believed to be widest": (verdict, "just_beyond", always([])),
    "costs need no common unit": (Proven, "_units", lambda self, cost, most: int(cost)),
    "radii are on either side": (Proven, "_check_edge", always(None)),
    "networks bend half as often": (network, "ordered", forgetful),
    "bends are not put in order": (network, "ordered", list),
    "ties go to the first class": (verdict, "inequalities", loosened(is_strict=True)),
}


def accepted(model, certificate):
    try:
        Checker(model).check(certificate)
    except (suffice_check.RejectedError, suffice_check.UnreadableError):
        return False
    return True


@cache
def true_and_false():
    """Certificates of random answers, and false statements about them."""
    true, false = [], []
    for model, _, answer in answers(150, "breaks"):
        content, document = to_bytes(model), answer.certificate().document
        true.append((content, json.dumps(document).encode()))
        false += [(content, json.dumps(one).encode()) for one in forgeries(answer, document)]
    return true, false


@pytest.mark.parametrize("sabotage", SMALL)
def test_a_small_break_of_the_checker_is_found(sabotage, monkeypatch):
    where, name, instead = SMALL[sabotage]
    true, false = true_and_false()
    monkeypatch.setattr(where, name, instead)
    files = {path: (model_of(path).read_bytes(), path.read_bytes()) for path in (*INVALID.values(), *VALID.values())}
    attacks = [files[path] for path in INVALID.values() if path.stem != "another_models_hash"]
    if any(accepted(*one) for one in attacks) or not all(accepted(*files[path]) for path in VALID.values()):
        return
    assert any(accepted(*one) for one in false) or not all(accepted(*one) for one in true) or run(3000, sabotage)[1]
