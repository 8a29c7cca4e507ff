"""A model and a table to ask about on the command line, and ways to call it."""

import importlib.util
import json
import math
import os
import subprocess
import sys
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ReluNetwork,
    Steps,
    Table,
)
from suffice.cli.app import app

HAS_GAM = all(importlib.util.find_spec(name) for name in ("pandas", "sklearn"))
HAS_NAM = HAS_GAM and bool(importlib.util.find_spec("torch"))
needs_gam = pytest.mark.skipif(not HAS_GAM, reason="training needs pandas and scikit-learn")
needs_nam = pytest.mark.skipif(not HAS_NAM, reason="training networks needs pandas, scikit-learn and PyTorch")
LINE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
BEND = ReluNetwork([[[1.0], [-1.0]], [[0.3, 0.7]]], [[0.1, 0.0], None])
MODEL = AdditiveModel(
    [LINE * "1/3", BEND, Table({"red": -1, "blue": 2}), Table({-9: 0, MISSING: 1}, otherwise=Steps([5], [0, "1/7"]))],
    "-1/7",
    features=[
        Feature("age", Domain.integers(0, 120), center=40, scale=10, deviation=12),
        Feature("income", deviation="3/2"),
        Feature("colour", deviation=0),
        Feature("months", Domain.integers(0) | Domain.codes(-9, MISSING), deviation=3),
    ],
    classes=["no", "yes"],
)
EXPLAINER = Explainer(MODEL)
TABLE = """\
months,colour,age,income
3,red,50,0.1
,blue,50,-2.5
-9,blue,0,1/3
3,green,50,0.1
3,red,121,0.1
3,red,50,
3,red,50,NaN
"""
ROWS = [
    {"months": "3", "colour": "red", "age": "50", "income": "0.1"},
    {"months": None, "colour": "blue", "age": "50", "income": "-2.5"},
    {"months": "-9", "colour": "blue", "age": "0", "income": "1/3"},
]


def call(*arguments):
    plain = {"COLUMNS": "80", "FORCE_COLOR": None, "TTY_COMPATIBLE": None}
    result = CliRunner(env=plain).invoke(app, [str(one) for one in arguments], prog_name="suffice")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def answer(*arguments):
    result = call(*arguments)
    assert (result.exit_code, "Error" in result.stderr) == (0, False), result.stderr
    return result


def document(*arguments):
    return json.loads(answer(*arguments, "--json").stdout, parse_constant=pytest.fail)


def explain(*options):
    return ("explain", "model.safetensors", "data.csv", *options)


def fail(*arguments):
    """Return the one sentence that a command fails with."""
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert len(line) < 300
    return line


def run(*arguments, code=None):
    command = ["-c", code] if code else ["-m", *arguments]
    environment = {"PYTHONWARNINGS": "error", **os.environ, "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def number(value):
    """Return the exact number of a document, having checked the float beside it."""
    if value["exact"] == "inf":
        assert value["float"] is None
        return math.inf
    exact = Fraction(value["exact"])
    assert value["float"] == float(exact)
    return exact


def value(document):
    if "exact" in document:
        return number(document)
    return MISSING if document.get("missing") else document["label"]


def words(text):
    return " ".join(text.split())


def check_answer(shown, why):
    assert (shown["prediction"], shown["status"], shown["size"]) == (why.prediction, "proven", why.size)
    assert (tuple(shown["features"]), tuple(shown["free"])) == (why.features, why.free)
    assert (number(shown["margin"]), number(shown["slack"])) == (why.margin, why.slack)
    assert {name: number(drop) for name, drop in shown["drops"].items()} == why.drops
    witnesses = {name: at if at is None else value(at) for name, at in shown["witnesses"].items()}
    assert witnesses == why.witnesses
