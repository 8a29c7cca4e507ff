"""Tables of every kind, and cells of every kind, mean what they mean in one row."""

from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import Domain, Explainer, Feature, PiecewiseLinear, Steps, Table

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def mixed_model():
    line = PiecewiseLinear([0, 1], [0, 2], left_slope=1, right_slope=-1)
    shapes = [
        Table({-9: 1, suffice.MISSING: -1}, otherwise=line),
        Table({"red": -1, "blue": 2, "green": 0.5}),
        Steps([Fraction(1, 10), 5], [-2, 1, 3]),
        Steps([True], [0, 0.25]),
    ]
    features = [
        Feature("amount", Domain.interval(-5, 5) | Domain.codes(-9, suffice.MISSING)),
        "colour",
        Feature("count", Domain.integers(0, 9)),
        Feature("flag", Domain.points(0, 1)),
    ]
    return suffice.AdditiveModel(shapes, -0.3, "binary", features, classes=["no", "yes"])


ROWS = {
    "amount": [0.5, None, -9.0, 4.9, 0.1, 7.0],
    "colour": ["red", "blue", "green", "red", "pink", "blue"],
    "count": [0, 3, 9, 5, 1, 2],
    "flag": [True, False, True, False, True, False],
}


def tables():
    frame = pandas.DataFrame(ROWS)
    typed = frame.astype({"colour": "category", "count": "Int64", "flag": "boolean", "amount": "Float32"})
    yield "pandas", frame
    yield (
        "pandas, other types",
        typed.assign(amount=typed["amount"].astype("float64").where(frame["amount"] != 0.1, 0.1)),
    )
    yield "arrow", arrow.table(ROWS)
    yield "arrow batch", arrow.RecordBatch.from_pydict(ROWS)
    encoded = arrow.table(ROWS)
    yield "arrow dictionary", encoded.set_column(1, "colour", encoded["colour"].dictionary_encode())
    yield "objects", np.array(list(zip(*ROWS.values(), strict=True)), dtype=object)
    try:
        import polars
    except ImportError:
        return
    yield "polars", polars.DataFrame(ROWS)


@pytest.mark.parametrize(("kind", "table"), list(tables()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_kind_of_table_gives_the_same(kind, table):
    explainer = Explainer(mixed_model())
    result = explainer.explain_batch(table, radius=1, unit="raw")
    for k, row in enumerate(zip(*ROWS.values(), strict=True)):
        if k >= 4:
            with pytest.raises(suffice.RowError) as refused:
                explainer.explain(list(row), radius=1, unit="raw")
            assert result.statuses[k] == "failed"
            assert str(refused.value).split(" is ")[0] == result.messages[k].split(" is ")[0]
            continue
        why = explainer.explain(list(row), radius=1, unit="raw")
        assert (result.fixed_of(k), result.predictions[k], result.sizes[k]) == (why.fixed, why.prediction, why.size)
        assert result[k].fixed == why.fixed
    assert result.failed_rows.tolist() == [4, 5]
    with pytest.raises(suffice.RowError, match="row 5: feature 'amount' is 7"):
        result[5]


def test_text_counts_at_the_value_it_spells():
    # A tenth lies at the cut itself, its float above it, and shorter tenths below it have the same float.
    cut = Steps([Fraction(1, 10)], [-1, 1])
    explainer = Explainer(suffice.AdditiveModel([cut], 0))
    texts = ["0.1", "0.0999999999999999999999", " 0.1", "1/10", "1e-1", "0.10000000000000000001", "-3", "+.5", "7."]
    result = explainer.explain_batch(arrow.table({"x0": texts}), radius=0, unit="raw")
    assert result.predictions.tolist() == [explainer.predict([text]) for text in texts]
    assert result.predictions.tolist() == [1, 0, 1, 1, 1, 1, 0, 1, 1]


def test_long_integers_as_text_are_not_taken_for_their_neighbours():
    cut = Steps([2**60 + 1], [-1, 1])
    integers = Feature("n", Domain.integers())
    explainer = Explainer(suffice.AdditiveModel([cut], 0, features=[integers]))
    numbers = [2**60, 2**60 + 1, 2**60 + 2, 5]
    for column in (numbers, [str(n) for n in numbers], [f"{n}.0" for n in numbers]):
        assert explainer.explain_batch(arrow.table({"n": column}), radius=0, unit="raw").predictions.tolist() == [
            0,
            1,
            1,
            0,
        ]
    refused = explainer.explain_batch(arrow.table({"n": ["3.0000000000000000001", "3.5"]}), radius=0, unit="raw")
    assert refused.failed_rows.tolist() == [0, 1]


def test_labels_that_look_like_numbers_stay_labels():
    explainer = Explainer(suffice.AdditiveModel([Table({"1": -1, "2": 1})], 0))
    result = explainer.explain_batch(arrow.table({"x0": ["1", "2", "3"]}), radius=1, unit="raw")
    assert result.predictions.tolist() == [0, 1, None]
    assert explainer.explain_batch(np.array([[1.0]]), radius=1, unit="raw").messages == {
        0: "feature 'x0' is 1.0, outside its domain: one of 1, 2"
    }


def test_huge_numbers_are_not_taken_for_labels():
    model = suffice.AdditiveModel([Table({suffice.MISSING: -1}, otherwise=PiecewiseLinear([0], [1]))], 0)
    result = Explainer(model).explain_batch(np.array([[2.0**1000], [np.nan], [3.0]]), radius=0, unit="raw")
    assert result.predictions.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 3)), r"need an array of shape \(rows, 4\)"),
        (pandas.DataFrame({"amount": [1]}), "no column 'colour'"),
        (pandas.DataFrame({**ROWS, "wrong": 1}), "'wrong' is not a feature"),
        (arrow.table([arrow.array([1])] * 5, names=[*ROWS, "flag"]), "two columns are called 'flag'"),
        ("rows.csv", "a NumPy array, a pandas or Polars DataFrame, or an Arrow table"),
    ],
)
def test_wrong_tables_are_refused(table, message):
    with pytest.raises(suffice.SufficeError, match=message):
        Explainer(mixed_model()).explain_batch(table, radius=1, unit="raw")


def test_a_question_that_fits_no_row_is_refused_at_once():
    explainer = Explainer(mixed_model())
    for options in (
        {"claim": suffice.Beats("maybe"), "unit": "raw"},
        {"claim": "same", "unit": "raw"},
        {"unit": "metres"},
        {"immutable": ["wrong"], "unit": "raw"},
        {"threads": 0, "unit": "raw"},
    ):
        with pytest.raises(suffice.SufficeError):
            explainer.explain_batch(arrow.table(ROWS), radius=1, **options)
    with pytest.raises(suffice.RadiusError):
        explainer.explain_batch(arrow.table(ROWS), radius=-1, unit="raw")
