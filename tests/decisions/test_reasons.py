"""Reasons against trying all sets of factors, and the letters that tell them."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from oracles.small import Small, table_of
from typer.testing import CliRunner

import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    AtMost,
    Domain,
    Explainer,
    Feature,
    OptionError,
    ProfileError,
    Status,
    Steps,
    Table,
)
from suffice.cli.app import app
from suffice.decisions.letter import read_codes
from suffice.errors import DataError

SLOW = [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))]


def flips(small, row, reference, features, fixed):
    """Whether some of the features, each as in the reference or not, change the decision."""
    able = [(row[i], reference[i]) if i in features and i not in fixed else (row[i],) for i in range(len(row))]
    return any(small.decides(other) != small.decides(row) for other in itertools.product(*able))


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", SLOW)
def test_reasons_are_those_of_trying_all_sets(block, pairs):
    for seed in range(3000 + 100 * block, 3000 + 100 * block + (100 if not pairs else 30)):
        small = Small(seed, pairs=pairs, tasks=("binary", "binary", "multiclass"), most=5 if not pairs else 4)
        explainer = Explainer(small.model)
        row, reference = small.some_row(), small.some_row()
        count = len(row)
        fixed = {i for i in range(count) if small.random.random() < 0.15}
        grouped = small.random.sample(range(count), 2) if count > 2 and small.random.random() < 0.4 else []
        items = [(i,) for i in range(count) if i not in grouped] + ([tuple(grouped)] if grouped else [])
        found = explainer.reasons(
            row,
            reference,
            immutable=[f"f{i}" for i in fixed],
            groups={"both": [f"f{i}" for i in grouped]} if grouped else {},
            limit=1000,
        )
        able = [
            frozenset(some)
            for size in range(len(items) + 1)
            for some in itertools.combinations(items, size)
            if flips(small, row, reference, {i for item in some for i in item}, fixed)
        ]
        assert found.is_possible == bool(able), seed
        assert found.status is Status.PROVEN
        if not able:
            continue
        least = min(map(len, able))
        assert found.size == least, seed
        smallest = {some for some in able if len(some) == least}
        names = {item: f"f{item[0]}" if len(item) == 1 else "both" for item in items}
        told = {frozenset(names[item] for item in some) for some in smallest}
        chosen = frozenset(names[item] for item in items if {f"f{i}" for i in item} & set(found.features))
        assert {*map(frozenset, found.alternatives), chosen} == told, seed
        assert len(found.alternatives) == len(told) - 1
        assert found.is_complete
        assert set(found.necessary) == {names[item] for item in items if all(item in some for some in able)}
        assert set(found.alone) == {names[item] for item in items if frozenset([item]) in able}
        point = [reference[i] if f"f{i}" in found.features else row[i] for i in range(count)]
        assert small.decides(point) == found.instead != small.decides(row), seed


@pytest.mark.parametrize("block", SLOW)
def test_the_reasons_of_a_table_are_those_of_its_rows(block):
    for seed in range(5000 + 100 * block, 5000 + 100 * block + 90):
        small = Small(seed, tasks=("binary",), most=5)
        explainer = Explainer(small.model)
        rows, reference = [small.some_row() for _ in range(12)], small.some_row()
        outcome = small.random.choice(small.classes)
        held = [name for name in small.names if small.random.random() < 0.1]
        found = explainer.reasons_batch(table_of(small, rows), outcome, reference, immutable=held)
        assert found.rows.tolist() == [k for k, row in enumerate(rows) if small.decides(row) == outcome]
        for place, k in enumerate(found.rows.tolist()):
            alone = explainer.reasons(rows[k], reference, immutable=held)
            assert found.features_of(place) == alone.features, (seed, k)


LOAN = AdditiveModel(
    [Steps([20, 40], [-2, 0, 2]), Steps([1, 3], [1, 0, -3]), Table({"own": 1, "rent": 0, MISSING: -1})],
    intercept=-1,
    classes=["refuse", "grant"],
    features=[Feature("income", Domain.interval(0, 500)), Feature("late", Domain.integers(0, 12)), "housing"],
)
PEOPLE = np.array([[45, 0, "rent"], [60, 1, "own"], [90, 0, "own"], [30, 5, "rent"], [10, 0, None]], dtype=object)
ROW = [30, 3, "rent"]


def test_a_typical_row_is_made_of_those_decided_otherwise():
    found = Explainer(LOAN).reasons(ROW, table=PEOPLE)
    assert [str(value) for value in found.reference.row] == ["60", "0", "own"]  # the middle, and the most frequent
    assert (found.features, found.alternatives, found.necessary) == (("late",), (), ("late",))
    assert "the typical row decided grant" in str(found)


def test_the_best_values_are_those_that_speak_most_for_the_other_decision():
    found = Explainer(LOAN).reasons(ROW, "best", immutable=["late"])
    assert not found.is_possible
    assert "the decision would have stayed even so" in str(found)
    assert "Even had every factor that may be named been as for" in found.letter().text
    assert "<ol>" not in found.letter().html
    assert [str(value) for value in found.reference.row] == ["40", "0", "own"]


def test_a_letter_has_the_texts_of_a_file(tmp_path):
    path = tmp_path / "codes.toml"
    path.write_text('[late]\ncode = "R07"\ntext = "Payments that were late <b>"\n')
    letter = Explainer(LOAN).reasons(ROW, table=PEOPLE).letter(read_codes(path))
    assert letter.text == (
        "The decision was: refuse.\n"
        "Principal reasons:\n"
        "  1. [R07] Payments that were late <b>: 3, compared with 0\n"
        "Had this factor been as for the typical row decided grant, the decision would have been: grant.\n"
        "So compared, fewer factors would not have changed it.\n"
    )
    assert "<li>[R07] Payments that were late &lt;b&gt;: 3, compared with 0</li>" in letter.html


FIVE = Explainer(AdditiveModel([Steps([1], [0, 1])] * 5, -2, features=list("abcde"), classes=["n", "y"]))


def test_a_group_is_one_factor_in_the_letter_and_in_the_table():
    why = FIVE.reasons([0] * 5, [2] * 5, groups={"g": ["a", "b", "c"]})
    assert why.size == 1  # two features of the group; two others would be two factors
    assert "  1. both of g: a 0, compared with 2; b 0, compared with 2" in why.letter({"g": {"text": "both of g"}}).text
    assert "Had this factor been" in why.letter().text
    assert "g: a  0  there 2" in str(why)
    table = FIVE.reasons_batch(np.array([[0] * 5, ["?"] * 5], dtype=object), "n", [2] * 5, groups={"g": list("abc")})
    assert table.sizes.tolist() == [1]
    assert "1 factor  100.0 % (1 of 1)" in str(table)
    assert "Left out: 1 row; row 1: " in str(table)


def test_a_row_whose_time_is_up_is_in_no_share():
    found = replace(FIVE.reasons_batch(np.zeros((2, 5)), "n", [2] * 5), unsettled=frozenset({1}))
    assert "2 factors  100.0 % (1 of 1)" in str(found)
    assert "Not settled: 1 row, left out of the shares; fewer factors may do." in str(found)
    assert found.document()["unsettled"] == [1]


def test_of_a_claim_it_is_said_that_it_breaks_not_that_the_prediction_changes():
    two = Explainer(AdditiveModel([Steps([1], [0, "3/5"])] * 2, 0, "regression", ["a", "b"]))
    why = two.reasons([0, 0], [2, 2], claim=AtMost(1))
    assert why.size == 2  # one factor changes the prediction, but not past 1
    assert "no fewer would have broken the claim" in str(why)
    assert "changed it" not in str(why) + why.letter().text
    assert "With fewer factors so changed, the prediction stays at or below 1." in why.letter().text
    stays = two.reasons([0, 0], [0, 2], claim=AtMost(1))
    assert "the claim would have stayed true even so" in str(stays)
    assert "the prediction stays at or below 1." in stays.letter().text


@pytest.mark.parametrize("text", ["late = 1", "[late]\nwords = 'x'", "[late]\ntext = 1", "[late"])
def test_files_of_codes_that_mean_nothing_are_refused(tmp_path, text):
    path = tmp_path / "codes.toml"
    path.write_text(text)
    with pytest.raises(DataError):
        read_codes(path)


def test_what_cannot_be_compared_is_refused():
    explainer = Explainer(LOAN)
    with pytest.raises(ProfileError, match="needs a table"):
        explainer.reasons(ROW)
    with pytest.raises(ProfileError, match="is 'typical', 'best' or a row"):
        explainer.reasons(ROW, "average")
    with pytest.raises(ProfileError, match="no row of the table is decided grant"):
        explainer.reasons(ROW, table=PEOPLE[3:])
    three = Explainer(AdditiveModel([Steps([0], [[0, 0, 0], [0, 1, 2]])], [0, 0, 0], "multiclass", features=["x"]))
    with pytest.raises(ProfileError, match="two classes"):
        three.reasons([1], "best")
    with pytest.raises(OptionError, match="limit must be"):
        explainer.reasons(ROW, "best", limit=0)


def test_there_is_a_command_for_rows_letters_and_tables(tmp_path):
    LOAN.save(tmp_path / "loan.safetensors")
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in [*PEOPLE.tolist(), ROW]]
    (tmp_path / "rows.csv").write_text("\n".join(["income,late,housing", *lines]) + "\n")
    (tmp_path / "codes.toml").write_text('[late]\ncode = "R07"\ntext = "Late payments"\n')
    files = ["reasons", str(tmp_path / "loan.safetensors"), str(tmp_path / "rows.csv")]

    def run(*more):
        return CliRunner().invoke(app, [*files, *more])

    assert "had 1 factor been as there" in run("--row", "5").stdout.replace("\n", " ")
    assert (
        "1. [R07] Late payments: 3, compared with 0"
        in run("--row", "5", "--codes", str(tmp_path / "codes.toml")).stdout
    )
    document = json.loads(run("--outcome", "refuse", "--reference", "2", "--json").stdout)
    assert [one["row"] for one in document["reasons"]] == [3, 4, 5]
    assert document["reasons"][2]["reasons"] == ["late"]
    proof = tmp_path / "why.json"
    assert run("--row", "5", "--html", "--certificate", str(proof)).stdout.startswith('<div class="suffice-letter">')
    told = suffice_check.check((tmp_path / "loan.safetensors").read_bytes(), proof.read_bytes())
    assert "changing 'late' alone can break the claim" in told
    assert run("--row", "4", "--row", "5", "--certificate", str(proof)).exit_code == 2
    assert run("--row", "9").exit_code == 1
    assert run().exit_code == 2


def test_factors_as_strong_as_each_other_come_in_the_same_order_one_by_one_and_in_a_batch():
    # 0.3 each; but in floats the first falls by 0.1 - (-0.2), which is more than 0.3, or less.
    tables = [{"x": "0.1", "y": "-0.2"}, {"x": "0.3", "y": "0"}, {"x": "0.7", "y": "0.4"}, {"x": "-0.1", "y": "-0.4"}]
    for order in itertools.permutations(tables):
        model = AdditiveModel([Table(one) for one in order], 0, features=list("abcd"), classes=["no", "yes"])
        explainer, rows = Explainer(model), np.array([["x"] * 4], dtype=object)
        found = explainer.reasons_batch(rows, "yes", ["y"] * 4)
        alone = explainer.reasons(["x"] * 4, ["y"] * 4)
        assert found.features_of(0) == alone.features
        assert alone.size == 4
