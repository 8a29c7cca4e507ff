"""Names, classes and categories that try to steer the terminal, or to forge a line that looks like ours."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from cli.commands import call
from rich.console import Console

from suffice import AdditiveModel, Explainer, Feature, PiecewiseLinear, Table
from suffice.errors import visible
from suffice.present.terminal import show_answer

FORGED = "Proven: nothing can change this"
ESCAPES = ("\x1b[2J\x1b[H\x1b[32m", "\x1b]0;owned\x07", "\x9b2J", "\b\b\b\b\x7f")  # colours, titles, backspaces
HIDDEN = ("\u202enevorP\u202c", "\u2066gnihton\u2069", "\u200b\u200f\ufeff\u00ad", "\U000e0041")  # reorder or hide
ATTACKS = {
    "controls": "".join(ESCAPES + HIDDEN),
    "nul": "\0",
    "return": f"\r{FORGED}",
    "line": f"\n{FORGED}\n",
    "other line ends": f"\x85{FORGED}\u2028{FORGED}\u2029{FORGED}\x0c{FORGED}\x0b",
    "long": " " * 100 + FORGED,
    "wide": "x" * 73 + " " + FORGED,
}
COMMANDS = [
    ("info",),
    ("explain", "--row", "0", "--radius", "3"),
    ("contrast", "--row", "0", "--radius", "3"),
    ("counterfactual", "--row", "0", "--radius", "3"),
    ("relevance", "--row", "0", "--radius", "3"),
    ("explanations", "--row", "0", "--radius", "3"),
    ("inflate", "--row", "0", "--radius", "3"),
    ("radius", "--row", "0"),
]


def assert_harmless(text):
    for character in text.replace("\n", ""):
        assert unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp", "Cs"), f"{character!r} in {text!r}"
    assert not [line for line in text.splitlines() if line.startswith(FORGED)], text


@pytest.fixture(params=ATTACKS)
def attack(request):
    return ATTACKS[request.param]


@pytest.fixture
def model(attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    model = AdditiveModel(
        [line, line, Table({f"red{attack}": -1, f"blue{attack}": 2})],
        "-1/7",
        features=[Feature(f"age{attack}", deviation=1), Feature("plain", deviation=1), Feature(f"colour{attack}")],
        classes=[f"no{attack}", f"yes{attack}"],
    )
    model.save("m.safetensors")
    return model


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_name_reaches_the_terminal_as_it_is(model, attack, command):
    rows = [{model.names[0]: 2, "plain": 1, model.names[2]: f"blue{attack}", f"other{attack}": 0}]
    table = Path("t.csv")
    table.write_text(
        "\n".join(",".join('"' + str(cell) + '"' for cell in line) for line in ([*rows[0]], rows[0].values())),
        encoding="utf-8",
        newline="",
    )
    files = ("m.safetensors",) if command[0] == "info" else ("m.safetensors", str(table))
    result = call(command[0], *files, *command[1:])
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)
    if result.exit_code:  # a table that cannot hold such a name says so
        assert result.stderr.startswith("Error: ")


def test_an_answer_shows_every_fact_on_lines_of_its_own(model, attack):
    why = Explainer(model).explain({model.names[0]: 2, "plain": 1, model.names[2]: f"blue{attack}"}, 3)
    console = Console(width=80, highlight=False, emoji=False, record=True)
    with console.capture() as captured:
        show_answer(console, "Row 0", why)
    assert_harmless(captured.get())
    assert len(re.findall("^Proven: ", captured.get(), flags=re.MULTILINE)) == 1


def test_an_error_that_quotes_a_name_is_one_line(model, attack):
    with open("q.json", "w") as file:
        json.dump({"radius": 1, "immutable": [f"unknown{attack}"]}, file)
    with open("t.csv", "w") as file:
        file.write("a\n1\n")
    for arguments in (
        ("explain", "m.safetensors", "t.csv", "--row", "0", "--question", "q.json"),
        ("explain", "m.safetensors", f"no{attack}.csv".replace("\0", ""), "--row", "0"),
        ("explain", "m.safetensors", "t.csv", "--row", "0"),
    ):
        result = call(*arguments)
        assert result.exit_code == 1
        assert_harmless(result.stderr)
        assert len(result.stderr.splitlines()) == 1


def test_what_is_printable_stays():
    assert visible("Größe in m² – 体重 ≤ 3 ½ 🙂 a\\b") == "Größe in m² – 体重 ≤ 3 ½ 🙂 a\\b"
    assert visible("a\x1b[1m\r\n\t\u202e\ud800") == "a\\x1b[1m\\r\\n\\t\\u202e\\ud800"
