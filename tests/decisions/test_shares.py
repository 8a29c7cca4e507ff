"""Shares of tables, against going through everything that the features can do."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from oracles.small import Small, table_of
from typer.testing import CliRunner

import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    DataError,
    Domain,
    Explainer,
    Feature,
    OptionError,
    RadiusError,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.cli.app import app


def reach(small, i, value, radius):
    """What a feature may become within a radius; None for anything."""
    if radius is None:
        return small.values[i]
    if small.is_number(i, value):
        return [at for at in small.values[i] if small.is_number(i, at) and abs(at - value) <= radius]
    is_category = isinstance(value, str) and radius > 0
    return [at for at in small.values[i] if isinstance(at, str)] if is_category else [value]


def stays(small, row, moving, radius):
    """Whether nothing that some features do changes the decision, or moves the score by more than 1."""
    able = [reach(small, i, value, radius) if i in moving else [value] for i, value in enumerate(row)]
    if small.task == "regression":
        return all(abs(small.score(other)[0] - small.score(row)[0]) <= 1 for other in itertools.product(*able))
    return all(small.decides(other) == small.decides(row) for other in itertools.product(*able))


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 20))])
def test_shares_are_those_of_going_through_everything(block, pairs):
    for seed in range(2000 + 100 * block, 2000 + 100 * block + (26 if not pairs else 6)):
        small = Small(seed, pairs=pairs, most=3)
        explainer = Explainer(small.model)
        rows = [small.some_row() for _ in range(6)]
        table, claim = table_of(small, rows), Same() if small.classes else Within(1)
        moving = small.random.sample(range(len(rows[0])), small.random.randint(1, len(rows[0])))
        radius = small.random.choice([None, None, Fraction(1, 2), Fraction(1)])
        given = np.inf if radius is None else radius
        found = explainer.unaffected(table, [f"f{i}" for i in moving], given, unit="raw", claim=claim)
        expected = [stays(small, row, moving, radius) for row in rows]
        assert found.rows.tolist() == expected, seed
        assert found.share.count == sum(expected)
        check_certificate(explainer, found.certificate(0), expected[0])
        for name, share in found.by_class.items():
            of_class = [k for k, row in enumerate(rows) if small.decides(row) == name]
            assert (share.count, share.rows) == (sum(expected[k] for k in of_class), len(of_class))
        if small.outputs == 1 and not pairs:
            spread = [[table[0] for table in small.tables[i].values()] for i in moving]
            assert found.effect == sum(max(one) - min(one) for one in spread)
        radii = [small.random.choice([Fraction(0), Fraction(1, 2), Fraction(2)])]
        labels = [small.random.choice(small.classes) for _ in rows] if small.classes else None
        stable = explainer.stability(table, radii, unit="raw", claim=claim, labels=labels)
        truth = [[stays(small, row, range(len(row)), one) for row in rows] for one in radii]
        assert stable.rows.tolist() == truth, seed
        check_certificate(explainer, stable.certificate(0, 1), truth[0][1])
        assert [share.count for share in stable.shares] == [sum(one) for one in truth]
        if labels:
            right = [small.decides(row) == label for row, label in zip(rows, labels, strict=True)]
            assert [share.count for share in stable.right] == [
                sum(a and b for a, b in zip(one, right, strict=True)) for one in truth
            ]


def check_certificate(explainer, certificate, is_stable):
    told = suffice_check.check(explainer.compiled.content, certificate.text.encode())
    assert ("is not enough" in told) == (not is_stable)


LOAN = AdditiveModel(
    [Steps([10, 20], [-1, 0, 2]), Table({"f": 0, "m": "1/2", MISSING: 0})],
    intercept=Fraction(-1, 4),
    classes=["refuse", "grant"],
    features=[Feature("income", Domain.interval(0, 50), deviation=5), Feature("sex")],
)
ROWS = np.array([[30, "f"], [15, "f"], [5, "m"], [15, None], [99, "f"]], dtype=object)


def test_a_row_that_cannot_be_read_is_in_no_share():
    found = Explainer(LOAN).unaffected(ROWS, ["sex"])
    assert found.rows.tolist() == [True, False, True, False, False]
    assert str(found.share) == "50.0 % (2 of 4)"
    assert {name: share.count for name, share in found.by_class.items()} == {"refuse": 1, "grant": 1}
    assert list(found.failed) == [4]
    with pytest.raises(DataError, match=r"row 4: .*99"):
        found.certificate(4)
    with pytest.raises(DataError, match="row 5: the 5 rows of the table count from 0"):
        found.certificate(5)
    assert "proxies" in str(found)


def test_a_share_that_is_not_all_is_never_shown_as_all():
    from suffice.decisions.shares import Share

    assert str(Share(9999, 10000)) == "99.9 % (9,999 of 10,000)"


def test_what_cannot_be_asked_is_refused():
    explainer = Explainer(LOAN)
    with pytest.raises(OptionError, match="at least one feature"):
        explainer.unaffected(ROWS, [])
    with pytest.raises(RadiusError, match="at least one radius"):
        explainer.stability(ROWS, [])
    with pytest.raises(DataError, match="5 rows, 1 labels"):
        explainer.stability(ROWS, [1], labels=["grant"])
    with pytest.raises(DataError, match="'maybe' is not a class"):
        explainer.stability(ROWS, [1], labels=["maybe"] * 5)


def test_both_have_a_command(tmp_path):
    LOAN.save(tmp_path / "loan.safetensors")
    (tmp_path / "rows.csv").write_text("income,sex,truth\n30,f,grant\n15,f,grant\n5,m,refuse\n15,,refuse\n")
    files = [str(tmp_path / "loan.safetensors"), str(tmp_path / "rows.csv")]
    done = CliRunner().invoke(app, ["unaffected", *files, "--by", "sex", "--json"])
    document = json.loads(done.stdout)
    assert document["share"] == {"count": 2, "rows": 4}
    assert document["affected"] == [1, 3]
    done = CliRunner().invoke(app, ["stability", *files, "--radius", "0.1", "--radius", "inf", "--labels", "truth"])
    assert done.exit_code == 0
    lines = [line for line in done.stdout.splitlines() if "radius 0.1" in line]
    assert "75.0 % (3 of 4)" in lines[0]  # 15 is near no step, but a woman of 15 would be decided otherwise as a man
