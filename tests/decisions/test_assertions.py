"""Files of assertions, and the command that runs them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from suffice import AdditiveModel, AssertionFileError, Domain, Explainer, Feature, Steps, Table
from suffice.cli.app import app
from suffice.decisions.assertions import read_assertions, run_assertions

LOAN = AdditiveModel(
    [Steps([10, 20, 40], [-1, 0, 2, 1]), Table({"own": 1, "rent": -1})],
    intercept=0,
    classes=["refuse", "grant"],
    features=[Feature("income", Domain.interval(0, 50)), Feature("housing")],
)
FILE = """
[[check]]
name = "Well-earning owners are granted"
where = { income = { from = 20 }, housing = ["own"] }
decides = "grant"

[[check]]
where = { income = { to = 19.9 } }
decides = "grant"

[[check]]
where = { income = { from = 20, to = 0.3e2 } }
probability = { of = "grant", at_least = 0.7 }

[[check]]
where = { income = { to = 5 } }
probability = { of = "grant", at_most = 0.5 }

[[check]]
score = { at_most = 3 }

[[monotone]]
feature = "income"
direction = "up"
outcome = "grant"
"""
VERDICTS = ["proven", "refuted", "proven", "proven", "proven", "refuted"]


def written(folder, text):
    path = folder / "assertions.toml"
    path.write_text(text)
    return path


def test_a_file_is_read_and_each_assertion_answered(tmp_path):
    report = run_assertions(Explainer(LOAN), read_assertions(written(tmp_path, FILE)))
    assert [one.verdict.lower() for one in report.tested] == VERDICTS
    assert [one.name for one in report.tested][:2] == ["Well-earning owners are granted", "check 2"]
    assert not report
    assert report.summary == "6 assertions: 4 proven, 2 refuted, 0 unknown"


def run(tmp_path, text, *more):
    LOAN.save(tmp_path / "loan.safetensors")
    return CliRunner().invoke(app, ["test", str(tmp_path / "loan.safetensors"), str(written(tmp_path, text)), *more])


def test_the_exit_code_tells_whether_all_is_proven(tmp_path):
    failed = run(tmp_path, FILE)
    assert failed.exit_code == 4
    assert "REFUTED: check 2" in failed.stdout
    passed = run(tmp_path, FILE.split("[[check]]\nwhere")[0])
    assert passed.exit_code == 0
    assert "1 assertion: 1 proven, 0 refuted, 0 unknown" in passed.stdout


def test_rows_that_violate_an_assertion_are_named(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("income,housing,label\n30,own,1\n5,own,0\n45,rent,1\n25,rent,1\n")
    done = run(tmp_path, FILE, "--data", str(table), "--json")
    assert done.exit_code == 4
    document = json.loads(done.stdout)
    assert [one["verdict"] for one in document["assertions"]] == VERDICTS
    assert document["assertions"][1]["violations"] == []  # a tie is a grant
    assert document["assertions"][1]["rows"] == 1
    assert document["assertions"][5]["violations"] == []
    assert document["passed"] is False


def test_a_verdict_that_cannot_be_reached_is_unknown_and_fails(tmp_path):
    assertions = read_assertions(written(tmp_path, FILE))[:1]

    class Slow(Explainer):
        def check(self, *args, **kwargs):
            from suffice import BudgetError

            raise BudgetError("out of time")

    report = run_assertions(Slow(LOAN), assertions)
    assert [one.verdict for one in report.tested] == ["UNKNOWN"]
    assert not report
    assert "Reason: out of time" in str(report)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "asserts nothing"),
        ("[[checks]]\ndecides = 'grant'", "'checks' is not a kind of assertion"),
        ("[check]\ndecides = 'grant'", "write [[check]], in double brackets"),
        ("[[check]]\ndecide = 'grant'", "has no field 'decide'"),
        ("[[check]]\nname = 'x'", "needs one of decides, probability and score, and has 0"),
        ("[[check]]\ndecides = 'grant'\nscore = { at_least = 1 }", "and has 2"),
        ("[[check]]\nscore = 1", "score is written as { at_least = 1.5 }"),
        ("[[check]]\nprobability = { of = 'grant' }", "probability is written as"),
        ("[[monotone]]\nfeature = 'income'", "needs the field 'direction'"),
        ("[[monotone]]\nfeature = 'income'\ndirection = 'left'", 'direction is "up" or "down"'),
        ("[[check]", "is not a file of assertions in TOML"),
        ("[[check]]\nwhere = { wage = 1 }\ndecides = 'grant'", "check 1: 'wage' is not a feature"),
        ("[[check]]\ndecides = 'maybe'", "check 1: the claim must name a class"),
    ],
)
def test_files_that_mean_nothing_are_refused_in_a_sentence(tmp_path, text, said):
    done = run(tmp_path, text)
    assert done.exit_code == 1
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    if "check 1: " not in said:
        with pytest.raises(AssertionFileError):
            read_assertions(written(tmp_path, text))
