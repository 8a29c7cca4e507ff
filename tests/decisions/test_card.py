"""Cards, read back from what is printed, against going through all inputs."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from oracles.small import Small, table_of
from typer.testing import CliRunner

import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    CardError,
    CertificateError,
    Domain,
    Explainer,
    Feature,
    OptionError,
    PairSteps,
    PiecewiseLinear,
    Steps,
    Table,
)
from suffice.cli.app import app

SLOW = [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))]
FORMS = [
    (r"from (\S+) to below (\S+)", lambda x, a, b: a <= x < b),
    (r"from (\S+) to (\S+)", lambda x, a, b: a <= x <= b),
    (r"above (\S+) to below (\S+)", lambda x, a, b: a < x < b),
    (r"above (\S+) to (\S+)", lambda x, a, b: a < x <= b),
    (r"(\S+) or more", lambda x, a: x >= a),
    (r"more than (\S+)", lambda x, a: x > a),
    (r"(\S+) or less", lambda x, a: x <= a),
    (r"less than (\S+)", lambda x, a: x < a),
    (r"any number", lambda x: True),
    (r"(-?[0-9./]+)", lambda x, a: x == a),
]


def meets(words, value, is_number):
    """Whether a value is one that a line of a printed card is about."""
    if not is_number:
        return ("missing" if value is MISSING else str(value)) in words.split(" or ")
    for form, holds in FORMS:
        found = re.fullmatch(form, words)
        if found:
            return holds(value, *map(Fraction, found.groups()))
    return False


def read_card(text):
    """The lines of a printed card, and the totals to reach."""
    head, *lines, yes, no = csv.reader(io.StringIO(text))
    assert head == ["feature", "value", "sure", "most"]
    return lines, (yes[0].removesuffix(", at least"), int(yes[2])), (no[0].removesuffix(", at most"), int(no[3]))


def decided(small, card, row):
    """What a printed card decides of a row, with exactly one line for each feature that is on it."""
    lines, (yes, enough), (no, too_few) = card
    sure = most = 0
    for name in dict.fromkeys(line[0] for line in lines):
        i = small.names.index(name)
        own = [line for line in lines if line[0] == name and meets(line[1], row[i], small.is_number(i, row[i]))]
        assert len(own) == 1, (name, row[i], [line for line in lines if line[0] == name])
        sure, most = sure + int(own[0][2]), most + int(own[0][3])
    return yes if sure >= enough else no if most <= too_few else None


@pytest.mark.parametrize("block", SLOW)
def test_what_a_printed_card_decides_is_so_for_all_inputs(block):
    some = 0
    for seed in range(4000 + 200 * block, 4000 + 200 * block + 60):
        small = Small(seed, tasks=("binary",), most=4)
        explainer, rows = Explainer(small.model), [small.some_row() for _ in range(12)]
        most = small.random.choice([0, 2, 4, 6, 10, 30])
        card = explainer.card(table_of(small, rows), most)
        assert len(card.lines) <= most
        printed = read_card(card.csv)
        for row in itertools.product(*small.values):
            told = decided(small, printed, row)
            assert told in (None, small.decides(row)), (seed, row)
            assert card.decides(list(row)) == told, (seed, row)
            some += told is not None
        for name, share in card.shares.items():
            of_class = [row for row in rows if small.decides(row) == name]
            assert (share.count, share.rows) == (
                sum(decided(small, printed, row) == name for row in of_class),
                len(of_class),
            )
        check_certificate(explainer, card, rows)
    assert some > 500


def check_certificate(explainer, card, rows):
    for row in rows[:2]:
        if card.decides(row) is None:
            with pytest.raises(CertificateError, match="does not decide"):
                card.certificate(row)
            continue
        codes = [explainer.model.domains[line.feature].codes_ for line in card.lines_of(row)]
        if any(
            len(line.cell.labels) > 1 and set(line.cell.labels) & set(some)
            for line, some in zip(card.lines_of(row), codes, strict=True)
        ):
            with pytest.raises(CertificateError, match="joins special codes"):
                card.certificate(row)
            continue
        certificate = card.certificate(row)
        told = suffice_check.check(explainer.compiled.content, certificate.text.encode())
        assert f"the prediction stays {card.decides(row)!r}" in told


def test_all_lines_decide_all_rows_of_a_model_of_steps():
    shapes = [Steps([20, 40], [-2, 0, 2]), Steps([1, 3], [1, 0, -3]), Table({"own": 1, "rent": 0, MISSING: -1})]
    model = AdditiveModel(shapes, "-0.5", features=["income", "late", "housing"], classes=["refuse", "grant"])
    rows = np.array([[x, y, z] for x in (10, 30, 50) for y in (0, 2, 4) for z in ("own", "rent", None)], dtype=object)
    card = Explainer(model).card(rows, 9)
    assert str(card.share) == "100.0 % (27 of 27)"
    assert len(card.lines) == 9


LOAN = AdditiveModel(
    [PiecewiseLinear([0, 100], [-3, 3]), Steps([1, 3], [1, 0, -3], "right"), Table({"own": 1, "rent": 0})],
    intercept=-1,
    classes=["refuse", "grant"],
    features=[Feature("income", Domain.interval(0, 100)), Feature("late", Domain.integers(0, 12)), "housing"],
)
PEOPLE = np.array([[x, y, z] for x in range(5, 100, 10) for y in (0, 2, 5) for z in ("own", "rent")], dtype=object)


def test_a_slope_is_cut_where_the_rows_are():
    explainer = Explainer(LOAN)
    shares = [explainer.card(PEOPLE, lines).share.count for lines in (0, 8, 16, 24)]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] > 45


@pytest.mark.parametrize("seed", range(20))
def test_points_are_rounded_to_the_safe_side(seed):
    rng = random.Random(seed)
    ends, tables = [], []
    for _ in range(3):
        ends.append([Fraction(rng.randint(-9, 9), 7) for _ in range(2)] if seed % 2 else [Fraction(0)] * 2)
        tables.append({name: Fraction(rng.randint(-9, 9), 11) for name in "abc"})
    # Whole numbers on slopes with few rows, so that the lines are wide; and labels of sevenths and elevenths.
    shapes = [PiecewiseLinear([0, 40], both) for both in ends] + [Table(one) for one in tables]
    domains = [Feature(f"n{k}", Domain.integers(0, 40)) for k in range(3)]
    model = AdditiveModel(shapes, 0, features=[*domains, "x", "y", "z"], classes=["n", "y"])
    rows = np.array([[rng.choice([3, 20, 37]) for _ in range(3)] + list("abc") for _ in range(9)], dtype=object)
    card = Explainer(model).card(rows, rng.choice([6, 9, 14]) if seed % 2 else 9)
    decided = 0
    for _ in range(300):
        row = [rng.randint(0, 40) for _ in range(3)] + [rng.choice("abc") for _ in range(3)]
        slopes = [both[0] + (both[1] - both[0]) * Fraction(x, 40) for both, x in zip(ends, row[:3], strict=True)]
        labels = [one[label] for one, label in zip(tables, row[3:], strict=True)]
        for line in card.lines_of(row):
            adds = (slopes + labels)[line.feature]
            assert Fraction(str(line.cell.least)) <= adds <= Fraction(str(line.cell.most))
        told = card.decides(row)
        assert told in (None, "y" if sum(slopes + labels) >= 0 else "n")
        decided += told is not None
        sure = sum(line.sure for line in card.lines_of(row)) - card.enough
        most = sum(line.most for line in card.lines_of(row)) - card.too_few
        unit = Fraction(str(card.unit))
        assert unit * sure <= sum(slopes + labels) < unit * most  # what is left of each total is a bound on the score
    if seed == 0:
        assert decided > 0


def test_what_is_told_says_how_to_use_it():
    card = Explainer(LOAN).card(PEOPLE, 8)
    told = str(card)
    assert f"sure points of {card.enough} or more: grant; most points of {card.too_few} or less: refuse" in told
    assert "Else: ask the model." in told
    assert "late" in told
    assert f'<td class="points">{card.lines[0].sure}</td>' in card.html
    assert "<script" not in card.html
    assert card.csv == Explainer(LOAN).card(PEOPLE, 8).csv


def test_names_in_html_are_escaped():
    model = AdditiveModel([Table({"<b>": 1, "y": -1})], 0, features=["<i>"], classes=["n", "y"])
    html = Explainer(model).card(np.array([["<b>"], ["y"]], dtype=object), 2).html
    assert "<b>" not in html
    assert "&lt;i&gt;" in html


def test_no_name_is_a_formula_in_a_spreadsheet():
    model = AdditiveModel([Table({"=1+1": 1, 'a,"b"': -1})], 0, features=["@SUM(A1)"], classes=["-n", "+y"])
    card = Explainer(model).card(np.array([["=1+1"], ['a,"b"']], dtype=object), 2)
    cells = [cell for line in csv.reader(io.StringIO(card.csv)) for cell in line if not cell.lstrip("-").isdigit()]
    assert {"'@SUM(A1)", "'=1+1", 'a,"b"', "'+y, at least", "'-n, at most"} <= set(cells)
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    low = AdditiveModel([Steps([-3, -1], [-1, 0, 1])], 0, features=["x"], classes=["n", "y"])
    (first, *_), *_ = read_card(Explainer(low).card(np.array([[-4.0], [-2.0], [0.0]]), 3).csv)
    assert not first[1].startswith("'")  # numbers are ours


def test_what_has_no_card_is_refused():
    pair = PairSteps(Bins([1]), Bins([1]), [[0, 1], [1, 0]])
    both = AdditiveModel([Steps([0], [0, 1])] * 2, 0, features=["a", "b"], pairs={("a", "b"): pair})
    with pytest.raises(CardError, match="terms over two features"):
        Explainer(both).card(np.zeros((2, 2)))
    with pytest.raises(CardError, match="two classes"):
        Explainer(AdditiveModel([Steps([0], [0, 1])], 0, "regression", ["a"])).card(np.zeros((2, 1)))
    for slopes in ({"left_slope": 1}, {"right_slope": -1}):
        endless = AdditiveModel([PiecewiseLinear([0, 1], [0, 1], **slopes)], 0, features=["a"])
        with pytest.raises(CardError, match="without bound"):
            Explainer(endless).card(np.zeros((2, 1)))
    with pytest.raises(OptionError, match="lines must be"):
        Explainer(LOAN).card(PEOPLE, -1)


def test_there_is_a_command_that_writes_it(tmp_path):
    LOAN.save(tmp_path / "loan.safetensors")
    lines = [",".join(map(str, row)) for row in PEOPLE.tolist()]
    (tmp_path / "rows.csv").write_text("\n".join(["income,late,housing", *lines]) + "\n")
    files = ["card", str(tmp_path / "loan.safetensors"), str(tmp_path / "rows.csv"), "--lines", "10"]
    done = CliRunner().invoke(app, [*files, "--csv", str(tmp_path / "c.csv"), "--html", str(tmp_path / "c.html")])
    assert done.exit_code == 0
    card = Explainer(LOAN).card(PEOPLE, 10)
    assert (tmp_path / "c.csv").read_text() == card.csv
    assert (tmp_path / "c.html").read_text() == card.html
    assert f"{card.share} of the table's rows" in done.stdout.replace("\n", " ")
    document = json.loads(CliRunner().invoke(app, [*files, "--json"]).stdout)
    assert document["enough"] == card.enough
    assert len(document["lines"]) == len(card.lines)


def test_a_code_between_two_ranges_is_on_one_line():
    domain = Domain.interval(-100, -50) | Domain.interval(0, 100) | Domain.codes(-9, 500)
    shape = Table({-9: -5, 500: 1}, Steps([20, 40], [2, 0, 2]))
    model = AdditiveModel([shape, Steps([3], [1, -1])], -1, features=[Feature("a", domain), "b"], classes=["n", "y"])
    explainer = Explainer(model)
    rows = np.array([[10, 1], [30, 5], [50, 0], [-60, 4], [-9, 1], [500, 1]])
    for lines in (2, 3, 5, 30):
        card = explainer.card(rows, lines)
        printed = [line for line in read_card(card.csv)[0] if line[0] == "a"]
        for a in (-100, -60, -9, 0, 10, 30, 50, 500):
            assert sum(meets(line[1], Fraction(a), True) or line[1] == str(a) for line in printed) == (lines > 2), a
            assert len([line for line in card.lines_of([a, 1]) if line.feature == 0]) == (lines > 2), a
            assert card.decides([a, 1]) in (None, explainer.predict([a, 1]))
    alike = AdditiveModel([Table({-9: 2, 500: 1}, Steps([20, 40], [2, 0, 2]))], -1, features=[Feature("a", domain)])
    card = Explainer(alike).card(rows[:, :1], 4)
    assert "from -100 to below 20" in [str(line.cell) for line in card.lines]
    with pytest.raises(CertificateError, match="joins special codes"):
        card.certificate([-60])


def test_ranges_that_overlap_are_one():
    domain = Domain.interval("1.5", 3) | Domain.interval(0, 2) | Domain.integers(1, 5)
    model = AdditiveModel([Steps([1, 2], [-1, 1, 2])], 0, features=[Feature("a", domain)], classes=["n", "y"])
    card = Explainer(model).card(np.array([[1.5], [0], [2.5]]))
    assert [str(line.cell) for line in card.lines] == ["from 0 to below 1", "from 1 to below 2", "from 2 to 5"]


def test_lines_end_exactly_where_they_say():
    steps = AdditiveModel([Steps([1 / 3, 35.123456789], [-1, 1, 2])], 0, features=["a"], classes=["n", "y"])
    card = Explainer(steps).card(np.array([[-100.0], [1], [50]]))
    assert [str(line.cell) for line in card.lines] == [
        "less than 0.3333333333333333",
        "from 0.3333333333333333 to below 35.123456789",
        "35.123456789 or more",
    ]
    # Knots at thirds, which no decimal is: no printed line is wrong about a number next to one.
    domain = Domain.interval("1/3", "20/3") | Domain.points("1/7")
    thirds = PiecewiseLinear(["1", "4", "7"], [-1, 1, -2])
    scaled = AdditiveModel([thirds], "1/9", features=[Feature("a", domain, scale="2/3")], classes=["n", "y"])
    explainer = Explainer(scaled)
    printed = read_card(explainer.card(np.array([[Fraction(k, 5)] for k in range(2, 33)], dtype=object), 12).csv)
    decided = 0
    for at in [Fraction(1, 7), *(Fraction(k, 3) + Fraction(j, 10**7) for k in range(1, 20) for j in (-1, 0, 1))]:
        if at in domain:
            own = [line for line in printed[0] if meets(line[1], at, True)]
            assert len(own) <= 1
            told = [
                name
                for name, is_so in (
                    (printed[1][0], own and int(own[0][2]) >= printed[1][1]),
                    (printed[2][0], own and int(own[0][3]) <= printed[2][1]),
                )
                if is_so
            ]
            assert told in ([], [explainer.predict([at])])
            decided += len(told)
    assert decided > 30


def test_integers_without_a_first_have_a_card():
    model = AdditiveModel([Steps([5], [0, 1])], 0, features=[Feature("a", Domain.integers(high=-100))])
    assert Explainer(model).card(np.array([[-100]])).decides([-1000]) == 1
