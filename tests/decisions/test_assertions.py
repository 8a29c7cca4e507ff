"""Files of assertions, and the command that runs them."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

import suffice_check
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


def test_a_report_and_certificates_are_written_on_request(tmp_path):
    page, folder = tmp_path / "report.html", tmp_path / "proofs"
    done = run(tmp_path, FILE, "--report", str(page), "--certificates", str(folder))
    assert done.exit_code == 4
    assert "<strong>REFUTED:</strong> check 2" in page.read_text()
    assert "6 assertions: 4 proven, 2 refuted, 0 unknown" in page.read_text()
    model = (tmp_path / "loan.safetensors").read_bytes()
    told = {path.name: suffice_check.check(model, path.read_bytes()) for path in sorted(folder.iterdir())}
    assert list(told) == [f"{number}.json" for number in (1, 2, 3, 5, 6)]
    assert "No certificate of check 4: a probability below 1/2" in done.stderr
    assert (
        "the prediction stays 'grant', as long as 'income' is in [20, 50] and 'housing' is one of 'own'"
        in told["1.json"]
    )
    assert "stays at least 3 is false at an input" in told["6.json"]


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
        ("a" + ".a" * 3000 + " = 1", "a line with more than 2,000 dots"),
        ("# " + "x" * (1 << 20), "has more than 1,048,576 bytes"),
        ("x = " + "[" * 5000, "is not a file of assertions in TOML"),
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


NUMBERS = ["1", "-1", "0.5", "1e999", "9" * 5000, "nan", "-inf", "0x1f", "'1/0'", "'1e99999999'"]
TEXTS = ["''", "'own'", "'grant'", '"\\u001b[2J\\nPROVEN: all"']
OTHERS = ["true", "1979-05-27", "07:32:00", "[]", "{}", "[1, 'own']", "[[1]]", "[true]"]
RANGES = ["{ from = 5, to = 1 }", "{ from = nan }", "{ from = 1979-05-27 }"]
LIMITS = ["{ at_least = 'x' }", "{ at_most = nan }", "{ of = 'grant', at_least = 2 }"]


def test_a_file_with_odd_values_is_answered_or_refused_in_a_sentence(tmp_path):
    """Every value of the file, in turn, is replaced by every odd one."""
    places = list(re.finditer(r"(?<== )(\{[^\n]*\}|\"[^\"\n]*\"|[\w.]+)", FILE))
    explainer, seen = Explainer(LOAN), {"answered": 0, "refused": 0}
    for place in places:
        for word in (*NUMBERS, *TEXTS, *OTHERS, *RANGES, *LIMITS):
            path = written(tmp_path, FILE[: place.start()] + word + FILE[place.end() :])
            try:
                told = str(run_assertions(explainer, read_assertions(path))).splitlines()
            except AssertionFileError as error:
                told = [str(error)]
                seen["refused"] += 1
            else:
                seen["answered"] += 1
            assert all(line.isprintable() for line in told)
            assert not [line for line in told if line.startswith("PROVEN: all")]
    assert min(seen.values()) > 20
