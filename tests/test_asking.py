"""The commands for the other questions say what the library says, as documents and as text."""

import math
from itertools import islice

import pytest
import test_cli
from test_cli import EXPLAINER, ROWS, answer, call, document, fail, number, value

from suffice import ProbabilityAtLeast

folder = test_cli.folder
ROW = ROWS[0]
RADIUS = ("--radius", 5, "--unit", "std")
ASKED = {"radius": 5, "unit": "std"}


def ask(command, *options):
    return command, "model.safetensors", "data.csv", "--row", 0, *options


def one(title, *arguments):
    """Return the one answer of a document, and what the same command prints."""
    (found,) = document(*arguments)[title]
    assert found.pop("row") == 0
    return found, answer(*arguments).stdout


def test_counterfactual(folder):
    shown, text = one("counterfactuals", *ask("counterfactual", *RADIUS, "--held", "income"))
    found = EXPLAINER.counterfactual(ROW, **ASKED, held=["income"])
    assert tuple(shown["features"]) == found.features != ()
    assert (number(shown["least_change"]), shown["is_attained"]) == (found.least_change, found.is_attained)
    assert {name: value(at) for name, at in shown["point"].items()} == found.counterexample
    assert {name: number(change) for name, change in shown["changes"].items()} == found.changes
    assert text == f"Row 0\n{found}\n"


def test_relevance(folder):
    shown, text = one("relevance", *ask("relevance", *RADIUS))
    found = EXPLAINER.relevance(ROW, **ASKED)
    for role in ("necessary", "relevant", "irrelevant", "undecided"):
        assert tuple(shown[role]) == getattr(found, role)
    assert shown["status"] == "proven"
    assert text == f"Row 0\n{found}\n"


@pytest.mark.parametrize("minimal", ["size", "subset"])
def test_explanations(folder, minimal):
    shown, text = one("explanations", *ask("explanations", "--radius", 40, "--minimal", minimal))
    found = list(EXPLAINER.explanations(ROW, 40, minimal=minimal))
    assert ([tuple(names) for names in shown["sets"]], shown["has_more"]) == (found, False)
    assert text == "".join(["Row 0\n", *(f"  {', '.join(names) or 'no feature at all'}\n" for names in found)])
    first, text = one("explanations", *ask("explanations", "--radius", 40, "--minimal", minimal, "--limit", 1))
    assert [tuple(names) for names in first["sets"]] == list(islice(found, 1))
    assert first["has_more"] == (len(found) > 1) == ("... and more" in text)


def test_how_many_explanations_there_are(folder):
    shown, text = one("explanations", *ask("explanations", "--radius", 40, "--count"))
    count = len(list(EXPLAINER.explanations(ROW, 40)))
    assert shown == {"at_least": count, "at_most": count}
    assert f"{count}." in text
    shown, _ = one("explanations", *ask("explanations", "--radius", 40, "--count", "--minimal", "subset"))
    assert shown["at_least"] == shown["at_most"] == len(list(EXPLAINER.explanations(ROW, 40, minimal="subset")))
    shown, text = one("explanations", *ask("explanations", "--radius", 40, "--count", "--max-nodes", 0))
    assert shown["at_least"] == 0 < count <= shown["at_most"]


def test_radius(folder):
    shown, text = one("radii", *ask("radius", "--unit", "std", "--feature", "income"))
    found = EXPLAINER.radius(ROW, ["income"], unit="std")
    assert (number(shown["radius"]), shown["is_attained"]) == (found.radius, found.is_attained)
    assert found.radius < math.inf
    assert text == f"Row 0\n{found}\n"


def test_curve(folder):
    shown, text = one("curves", *ask("curve", "--unit", "std", "--until", 7))
    found = EXPLAINER.curve(ROW, unit="std", until=7)
    steps = [(number(step["radius"]), step["is_attained"], step["cost"], step["features"]) for step in shown["steps"]]
    assert len(steps) > 1
    assert steps == [(s.limit.radius, s.limit.is_attained, s.cost, list(s.features)) for s in found.steps]
    assert text == f"Row 0\n{found}\n"
    assert number(one("curves", *ask("curve", "--unit", "std"))[0]["steps"][-1]["radius"]) == math.inf


def test_inflate(folder):
    shown, text = one("inflated", *ask("inflate", "--radius", "1/2", "--feature", "colour", "--feature", "income"))
    found = EXPLAINER.inflate(ROW, "1/2", features=["colour", "income"])
    income, range_ = shown["ranges"]["income"], found.ranges["income"]
    ends = [None if income[end] is None else number(income[end]) for end in ("low", "high")]
    assert (ends, income["has_high"]) == ([range_.low, range_.high], range_.has_high)
    assert [value(one) for one in shown["ranges"]["colour"]["values"]] == list(found.ranges["colour"].values)
    assert text == f"Row 0\n{found}\n"


def test_preferences(folder):
    options = ("--keep", "age", "--free", "months", "--cost", "income=1/2", "--group", "who=age,colour", "--moving", 2)
    (shown,) = document(*ask("explain", "--radius", "1/2", *options))["explanations"]
    why = EXPLAINER.explain(
        ROW, "1/2", keep=["age"], free=["months"], cost={"income": "1/2"}, groups={"who": ["age", "colour"]}, at_most=2
    )
    assert (tuple(shown["features"]), shown["cost"], shown["status"]) == (why.features, why.cost, "proven")
    assert set(why.features) >= {"age", "colour"}
    sentence = fail(*ask("explain", "--radius", "1/2", "--keep", "age", "--free", "age"))
    assert "'age' is to be kept and to be free" in sentence
    for option in ("--cost", "--group"):
        wrong = call(*ask("explain", "--radius", 1, option, "age"))
        assert (wrong.exit_code, "NAME=" in wrong.stderr) == (2, True)
        wrong = call(*ask("explain", "--radius", 1, option, "age=1", option, "age=2"))
        assert (wrong.exit_code, "given twice" in wrong.stderr) == (2, True)


def test_probability_norm_and_semantics(folder):
    options = ("--probability", "0.55", "--norm", "1", "--radius", "1/2")
    (shown,) = document(*ask("explain", *options))["explanations"]
    why = EXPLAINER.explain(ROW, "1/2", claim=ProbabilityAtLeast("0.55"), norm=1)
    assert (tuple(shown["features"]), shown["lower_bound"]) == (why.features, why.lower_bound)
    assert shown["status"] == why.status.value
    assert shown["claim"] == ["at least 0.55 probable to be no"]
    assert "jumps or is no network" in fail(*ask("explain", "--radius", "1/2", "--semantics", "float32"))
