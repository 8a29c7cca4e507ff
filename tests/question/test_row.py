"""Rows in every form, and rows that are none."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from builders import RISING, sentence

import suffice
from suffice import (
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    Table,
)

MODEL = AdditiveModel(
    [RISING, Table({"red": 1, "blue": 2})], 0, features=[Feature("age", Domain.interval(0, 120)), "colour"]
)
EXPLAINER = Explainer(MODEL)
ROWS = [
    ([40], "needs 2 values, one for each feature, got 1"),
    ([40, "red", 1], "got 3"),
    ({"age": 40}, "'colour' is missing"),
    ({"age": 40, "color": "red", "colour": "red"}, "'color' is not a feature; did you mean 'colour'"),
    ({"age": 121, "colour": "red"}, r"'age' is 121, outside its domain: \[0, 120\]"),
    ({"age": math.nan, "colour": "red"}, r"'age' is nan, outside its domain"),
    ({"age": None, "colour": "red"}, r"'age' is None, outside its domain"),
    ({"age": math.inf, "colour": "red"}, "'age': inf is not a finite number"),
    ({"age": "old", "colour": "red"}, "'age': 'old' is not a number"),
    ({"age": "1e99999999", "colour": "red"}, "digits"),
    ({"age": Decimal("1e99999999"), "colour": "red"}, "digits"),
    ({"age": "1/0", "colour": "red"}, "not a number"),
    ({"age": [1], "colour": "red"}, r"\[1\] is not a number"),
    ({"age": 40, "colour": "green"}, "'colour' is 'green', outside its domain: one of red, blue"),
    ({"age": 40, "colour": 1}, "'colour' is 1, outside its domain"),
    ({"age": 40, "colour": math.nan}, "'colour' is nan, outside its domain"),
    (np.zeros((2, 2)), r"shape \(2, 2\); pass one row"),
    (np.zeros(()), r"shape \(\); pass one row"),
    ({"age": 10**5000, "colour": "red"}, r"'age' is a number near 1e\+5000, outside its domain"),
    ({"age": np.timedelta64(5, "D"), "colour": "red"}, "is not a number"),
    ("40", "a sequence, or a mapping by feature name"),
    ({40, "red"}, "a sequence, or a mapping by feature name"),
    (7, "a sequence, or a mapping by feature name"),
]


@pytest.mark.parametrize(("row", "words"), ROWS, ids=lambda v: v if isinstance(v, str) else "given")
def test_rows(row, words):
    with pytest.raises((suffice.RowError, suffice.FeatureNameError), match=words) as error:
        EXPLAINER.explain(row, radius=1, unit="raw")
    sentence(error)


def test_tables_in_place_of_rows():
    pandas = pytest.importorskip("pandas", reason="tables from pandas")
    frame = pandas.DataFrame({"age": [40, 50], "colour": ["red", "blue"]})
    for wrong in (frame, frame.to_numpy()):
        with pytest.raises(suffice.RowError, match=r"pass one row, X\[k\] or X.iloc\[k\]"):
            EXPLAINER.explain(wrong, radius=1, unit="raw")
    assert EXPLAINER.predict(frame.iloc[0]) == EXPLAINER.predict(frame.iloc[[0]]) == 1
    with pytest.warns(UserWarning, match="does not use it: more"):
        assert EXPLAINER.predict(frame.assign(more=3).iloc[[0]]) == 1
    with pytest.raises(suffice.RowError, match="names 'age' twice"):
        EXPLAINER.predict(pandas.Series([1, 2, "red"], index=["age", "age", "colour"]))


def test_messages_about_large_domains_are_short():
    many = AdditiveModel([Table({f"c{k}": k for k in range(10_000)})], features=["code"])
    with pytest.raises(suffice.RowError, match="and 9992 more") as error:
        Explainer(many).predict(["none"])
    sentence(error)


@pytest.mark.parametrize(
    "kind", ["list", "tuple", "array", "mapping", "series", "positions", "text", "fraction", "generator"]
)
def test_rows_come_in_many_forms(kind):
    explainer = Explainer(AdditiveModel([RISING, RISING], 0, features=["a", "b"]))
    if kind in ("series", "positions"):
        pandas = pytest.importorskip("pandas", reason="rows from pandas")
        row = pandas.Series([0.5, 2.0], index=["a", "b"] if kind == "series" else None)
    else:
        row = {
            "list": [0.5, 2],
            "tuple": (0.5, 2),
            "array": np.array([0.5, 2]),
            "mapping": {"b": 2, "a": 0.5},
            "text": ["0.5", "2e0"],
            "fraction": [Fraction(1, 2), Fraction(2)],
            "generator": (v for v in (0.5, 2)),
        }[kind]
    assert explainer.score(row) == Fraction(5, 2)


def test_floats_and_decimal_strings_are_different_numbers():
    explainer = Explainer(AdditiveModel([RISING], 0))
    assert explainer.score(["0.1"]) == Fraction(1, 10)
    assert explainer.score([0.1]) == Fraction(0.1) != Fraction(1, 10)
    assert explainer.score([np.float32(0.1)]) == Fraction(float(np.float32(0.1)))


def test_single_numbers_of_other_libraries_are_numbers():
    explainer = Explainer(AdditiveModel([RISING]))
    assert explainer.explain([np.array(0.5)], radius=np.array(2.0), unit="raw").margin == Fraction(1, 2)
    torch = pytest.importorskip("torch", reason="tensors of one number")
    assert explainer.explain([torch.tensor(0.5)], radius=torch.tensor(2.0), unit="raw").drops == {"x0": 2}
    assert explainer.score(torch.tensor([0.5])) == Fraction(1, 2)
