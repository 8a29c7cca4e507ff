"""The commands for the other questions say what the library says, as documents and as text."""

import json
import math
from itertools import islice

import pytest
from cli.commands import EXPLAINER, ROWS, answer, call, document, fail, number, value, words

from suffice import AtMost, ProbabilityAtLeast
from suffice.search.registry import SEARCHES

ROW = ROWS[0]
RADIUS = ("--radius", 5, "--unit", "std")
ASKED = {"radius": 5, "unit": "std"}


def ask(command, *options):
    return command, "model.safetensors", "data.csv", "--row", 0, *options


def one(*arguments):
    """Return the one answer of a document, and what the same command prints."""
    (found,) = document(*arguments)["answers"]
    assert found.pop("row") == 0
    return found, answer(*arguments).stdout


def test_counterfactual(folder):
    shown, text = one(*ask("counterfactual", *RADIUS, "--immutable", "income"))
    found = EXPLAINER.counterfactual(ROW, **ASKED, immutable=["income"])
    assert tuple(shown["features"]) == found.features != ()
    assert (number(shown["least_change"]), shown["is_attained"]) == (found.least_change, found.is_attained)
    assert {name: value(at) for name, at in shown["point"].items()} == found.counterexample
    assert {name: number(change) for name, change in shown["changes"].items()} == found.changes
    assert words(text) == words(f"Row 0 {found}")


def test_relevance(folder):
    shown, text = one(*ask("relevance", *RADIUS))
    found = EXPLAINER.relevance(ROW, **ASKED)
    for role in ("necessary", "relevant", "irrelevant", "undecided"):
        assert tuple(shown[role]) == getattr(found, role)
    assert shown["status"] == "proven"
    assert words(text) == words(f"Row 0 {found}")


@pytest.mark.parametrize("minimal", ["size", "subset"])
def test_explanations(folder, minimal):
    shown, text = one(*ask("explanations", "--unit", "raw", "--radius", 40, "--minimal", minimal))
    found = list(EXPLAINER.explanations(ROW, 40, minimal=minimal, unit="raw"))
    assert ([tuple(names) for names in shown["sets"]], shown["has_more"]) == (found, False)
    listing = EXPLAINER.explanations(ROW, 40, minimal=minimal, unit="raw").listing()
    assert words(text) == words(f"Row 0 {listing}")
    assert text.endswith("".join(f"  {', '.join(names) or '(no feature)'}\n" for names in found))
    first, text = one(*ask("explanations", "--unit", "raw", "--radius", 40, "--minimal", minimal, "--limit", 1))
    assert [tuple(names) for names in first["sets"]] == list(islice(found, 1))
    assert first["has_more"] == (len(found) > 1) == ("... and more" in text)


def test_how_many_explanations_there_are(folder):
    shown, text = one(*ask("explanations", "--unit", "raw", "--radius", 40, "--count"))
    count = len(list(EXPLAINER.explanations(ROW, 40, unit="raw")))
    assert (shown["low"], shown["high"]) == (count, count)
    assert words(text).endswith("Proven: there is 1 smallest set.")
    assert count == 1
    shown, _ = one(*ask("explanations", "--unit", "raw", "--radius", 40, "--count", "--minimal", "subset"))
    every = list(EXPLAINER.explanations(ROW, 40, minimal="subset", unit="raw"))
    assert shown["low"] == shown["high"] == len(every)
    shown, text = one(*ask("explanations", "--unit", "raw", "--radius", 40, "--count", "--max-nodes", 0))
    assert shown["low"] == 0 < count <= shown["high"]


def test_radius(folder):
    shown, text = one(*ask("radius", "--unit", "std", "--feature", "income"))
    found = EXPLAINER.radius(ROW, ["income"], unit="std")
    assert (number(shown["radius"]), shown["is_attained"]) == (found.radius, found.is_attained)
    assert found.radius < math.inf
    assert words(text) == words(f"Row 0 {found}")


def test_curve(folder):
    shown, text = one(*ask("curve", "--unit", "std", "--until", 7))
    found = EXPLAINER.curve(ROW, unit="std", until=7)
    steps = [(number(step["radius"]), step["is_attained"], step["cost"], step["features"]) for step in shown["steps"]]
    assert len(steps) > 1
    assert steps == [(s.limit.radius, s.limit.is_attained, s.cost, list(s.features)) for s in found.steps]
    assert words(text) == words(f"Row 0 {found}")
    assert number(one(*ask("curve", "--unit", "std"))[0]["steps"][-1]["radius"]) == math.inf


def test_inflate(folder):
    shown, text = one(*ask("inflate", "--unit", "raw", "--radius", "1/2", "--feature", "colour", "--feature", "income"))
    found = EXPLAINER.inflate(ROW, "1/2", features=["colour", "income"], unit="raw")
    income, range_ = shown["ranges"]["income"], found.ranges["income"]
    ends = [None if income[end] is None else number(income[end]) for end in ("low", "high")]
    assert (ends, income["has_high"]) == ([range_.low, range_.high], range_.has_high)
    assert [value(one) for one in shown["ranges"]["colour"]["values"]] == list(found.ranges["colour"].values)
    assert words(text) == words(f"Row 0 {found}")


def test_preferences(folder):
    options = [
        "--fix",
        "age",
        "--free",
        "months",
        "--cost",
        "income=1/2",
        "--group",
        "who=age,colour",
        "--max-changed",
        "2",
    ]
    (shown,) = document(*ask("explain", "--unit", "raw", "--radius", "1/2", *options))["answers"]
    why = EXPLAINER.explain(
        ROW,
        "1/2",
        fix=["age"],
        free=["months"],
        cost={"income": "1/2"},
        groups={"who": ["age", "colour"]},
        max_changed=2,
        unit="raw",
    )
    assert (tuple(shown["features"]), shown["cost"], shown["status"]) == (why.features, why.cost, "proven")
    assert set(why.features) >= {"age", "colour"}
    sentence = fail(*ask("explain", "--unit", "raw", "--radius", "1/2", "--fix", "age", "--free", "age"))
    assert "'age' is named both in fix and in free" in sentence
    for option in ("--cost", "--group"):
        wrong = call(*ask("explain", "--radius", 1, option, "age"))
        assert (wrong.exit_code, "NAME=" in wrong.stderr) == (2, True)
        wrong = call(*ask("explain", "--radius", 1, option, "age=1", option, "age=2"))
        assert (wrong.exit_code, "given twice" in wrong.stderr) == (2, True)


def test_probability_norm_and_arithmetic(folder):
    options = ("--probability-at-least", "0.55", "--norm", "1", "--unit", "raw", "--radius", "1/2")
    (shown,) = document(*ask("explain", *options))["answers"]
    why = EXPLAINER.explain(ROW, "1/2", claim=ProbabilityAtLeast("0.55"), norm=1, unit="raw")
    assert (tuple(shown["features"]), shown["lower_bound"]) == (why.features, why.lower_bound)
    assert shown["status"] == why.status.value
    assert shown["claim"] == {"kind": "probability_at_least", "p": "11/20"}
    assert "jumps or is not a network" in fail(
        *ask("explain", "--unit", "raw", "--radius", "1/2", "--arithmetic", "float32")
    )


@pytest.mark.parametrize("fixed", [[], ["colour"], ["income", "colour", "age", "months"]])
def test_sufficiency(folder, fixed):
    named = [part for name in fixed for part in ("--feature", name)]
    shown, text = one(*ask("sufficiency", *RADIUS, *named))
    found = EXPLAINER.sufficiency(ROW, fixed, **ASKED)
    assert (shown["is_sufficient"], shown["features"]) == (bool(found), fixed)
    point = shown["point"]
    assert (point and {name: value(at) for name, at in point.items()}) == found.counterexample
    assert words(text) == words(f"Row 0 {found}")
    assert bool(found) == (len(fixed) == 4)


ANSWERS = {
    "explain": lambda question: EXPLAINER.explain(ROW, question),
    "sufficiency": lambda question: EXPLAINER.sufficiency(ROW, [], question),
    "contrast": lambda question: EXPLAINER.contrast(ROW, question),
    "counterfactual": lambda question: EXPLAINER.counterfactual(ROW, question),
    "relevance": lambda question: EXPLAINER.relevance(ROW, question),
    "explanations": lambda question: EXPLAINER.explanations(ROW, question).listing(),
    "radius": lambda question: EXPLAINER.radius(ROW, [], question),
    "curve": lambda question: EXPLAINER.curve(ROW, question),
    "inflate": lambda question: EXPLAINER.inflate(ROW, question),
}


@pytest.mark.parametrize("command", SEARCHES)
def test_a_question_can_be_read_from_a_file(folder, command):
    """The same file for every command; what is asked is repeated in the document, and the answer is the library's."""
    asked = EXPLAINER.question(2, immutable=["months"], claim=AtMost(5), max_changed=2)
    (folder / "question.json").write_text(json.dumps(asked.document()))
    shown = document(*ask(command, "--question", "question.json"))
    (found,) = shown["answers"]
    assert shown["question"] == asked.document()
    assert found == {"row": 0, **ANSWERS[command](asked).document()}
    other = document(*ask(command, "--question", "question.json", "--unit", "raw"))
    assert other["question"] == asked.document() | {"unit": "raw"}
    (folder / "printed.json").write_text(json.dumps(shown))
    assert document(*ask(command, "--question", "printed.json")) == shown


@pytest.mark.parametrize(
    ("content", "words_"),
    [
        (None, "there is no such file"),
        ("{", "is not a question in JSON"),
        ('{"unit": "std", "unit": "raw"}', "two fields are called 'unit'"),
        ("[1]", "is not a question in JSON; it must be an object"),
        ('{"question": 1}', "its field 'question' must be an object"),
        ('{"radios": 1}', "'radios' is not a field of a question"),
        ('{"norm": 2}', "'relevance' does not take the option 'norm'"),
    ],
)
def test_a_file_that_holds_no_question(folder, content, words_):
    if content is not None:
        (folder / "question.json").write_text(content)
    assert words_ in fail(*ask("relevance", "--question", "question.json"))
