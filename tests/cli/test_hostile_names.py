"""Names, classes and categories that try to steer the terminal, or to forge a line that looks like ours."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from cli.commands import call
from rich.console import Console

from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, Table
from suffice.errors import ModelError, visible
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
        features=[
            Feature(f"age{attack}", Domain.interval(-5, 5), deviation=1),
            Feature("plain", Domain.interval(-5, 5), deviation=1),
            Feature(f"colour{attack}"),
        ],
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


DECISIONS = [
    ("sufficiency", "--row", "0", "--feature", "plain"),
    ("curve", "--row", "0"),
    ("unaffected", "--by", "plain"),
    ("stability", "--radius", "1"),
    ("reasons", "--row", "1"),
    ("reasons", "--row", "1", "--codes", "codes.toml"),
    ("reasons", "--row", "1", "--codes", "codes.toml", "--html"),
    ("recourse", "actions.toml", "--row", "1", "--alternatives", "2"),
    ("card",),
    ("evaluate", "--target", "answer"),
    ("domains",),
]


@pytest.mark.parametrize("attack", ["controls", "line", "long"], indirect=True)
@pytest.mark.parametrize("command", DECISIONS, ids=" ".join)
def test_no_name_reaches_the_terminal_from_a_decision(model, attack, command):
    first, colour = model.names[0], model.names[2]
    rows = [
        {first: 2, "plain": 1, colour: f"blue{attack}", "answer": f"yes{attack}"},
        {first: -2, "plain": 1, colour: f"red{attack}", "answer": f"no{attack}"},
    ]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("codes.toml").write_text(f"[{_toml(first)}]\ncode = {_toml(attack)}\ntext = {_toml(attack)}\n")
    actions = f"[actions.{_toml(first)}]\nstep = 1\n[actions.{_toml(colour)}]\nto = [{_toml(f'blue{attack}')}]\n"
    Path("actions.toml").write_text(actions)
    tables = () if command[0] == "domains" else ("t.jsonl",)
    result = call(command[0], "m.safetensors", *tables, *command[1:])
    assert result.exit_code == 0, result.stderr
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)


def _toml(text):
    return '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'


@pytest.mark.parametrize("where", ["name", "category", "class"])
def test_half_a_surrogate_pair_is_refused_as_a_name(where):
    name, category, label = (f"x{chr(0xD800)}" if where == one else "x" for one in ("name", "category", "class"))
    with pytest.raises(ModelError, match="half of a surrogate pair"):
        AdditiveModel([Table({category: 1})], features=[name], classes=["no", label])


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
