"""Columns of every Arrow and pandas type: read, or refused, as the same cells are in one row."""

from decimal import Decimal

import numpy as np
import pytest

from suffice import MISSING, AdditiveModel, Explainer, Steps, SufficeError, Table

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
compute = pytest.importorskip("pyarrow.compute", reason="pyarrow is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

EXPLAINERS = {
    "numbers": Explainer(AdditiveModel([Steps([1], [-1, 1])], features=["a"])),
    "labels": Explainer(AdditiveModel([Table({"a": -1, "b": 1, MISSING: 2})], features=["a"])),
}
LONG = [
    "0." + "0" * 6000 + "1", "1" + "0" * 6000, "0" * 5005 + "1", "1e-4999", "1e-5001", "1e400", "1e-400", "1e999",
    "1e1000", "0" * 4999 + "1", "1" + "0" * 600, "0." + "1" * 2501, "0." + "1" * 2499, "9" * 1000, "9" * 1001,
]  # fmt: skip
TEXT = ["0.5", "2", None, "x", "a", " 1", "1/2"]
BROKEN = arrow.py_buffer(b"2\xff\xfe")


def arrow_columns():
    yield "float16", arrow.array([np.float16(0), np.float16(2), None], "float16")
    for kind in ("float32", "float64", "int8", "uint64"):
        yield kind, arrow.array([0, 2, None], kind)
    for name in ("string", "large_string", "string_view"):
        if hasattr(arrow, name):
            yield name, arrow.array(TEXT, getattr(arrow, name)())
            yield f"{name}, chunks", arrow.chunked_array([arrow.array([cell], getattr(arrow, name)()) for cell in TEXT])
            yield f"{name}, nothing", arrow.chunked_array([], getattr(arrow, name)())
            yield f"{name}, long", arrow.array(LONG, getattr(arrow, name)())
    for name in ("binary", "large_binary", "binary_view"):
        if hasattr(arrow, name):
            yield name, arrow.array([b"0.5", None, b"a"], getattr(arrow, name)())
    for name in ("decimal32", "decimal64", "decimal128", "decimal256"):
        if hasattr(arrow, name):
            yield name, arrow.array([Decimal("0.5"), None, Decimal(2)], getattr(arrow, name)(5, 2))
    yield "null", arrow.nulls(2)
    yield "date", arrow.array([1, None], arrow.date32())
    yield "moments beyond the year 9999", arrow.array([1, 2**62], arrow.timestamp("s"))
    yield "duration", arrow.array([1, 2**62], arrow.duration("s"))
    yield "list", arrow.array([[1], None])
    yield "struct", arrow.array([{"x": 1}])
    yield "run-end encoded", compute.run_end_encode(arrow.array(["1", "1", "a"]))
    yield "dictionary", arrow.array(["1", "x", "a", None]).dictionary_encode()
    yield "dictionary of integers", arrow.array([5, None, 1]).dictionary_encode()
    some, others = arrow.array(["1", "a"]).dictionary_encode(), arrow.array(["b", "2"]).dictionary_encode()
    yield "two dictionaries", arrow.chunked_array([some, others])
    offsets = arrow.py_buffer(np.array([0, 1, 3], np.int32))
    yield "text that is not UTF-8", arrow.Array.from_buffers(arrow.string(), 2, [None, offsets, BROKEN])


def name_of(one):
    return one if isinstance(one, str) else ""


def answer_alone(explainer, row):
    try:
        return explainer.explain(row, 1, unit="raw").fixed, None
    except SufficeError as error:
        return (), str(error)


@pytest.mark.parametrize("which", EXPLAINERS)
@pytest.mark.parametrize(("name", "column"), list(arrow_columns()), ids=name_of)
def test_arrow_columns_are_read_as_their_cells_are(which, name, column):
    explainer = EXPLAINERS[which]
    result = explainer.explain_batch(arrow.table({"a": column}), 1, unit="raw")
    assert len(result) == len(column)
    for k in range(len(column)):
        try:
            cell = column[k].as_py()
        except (ValueError, OverflowError):
            assert result.statuses[k] == "failed"
            assert "cannot be read" in result.messages[k]
        else:
            assert (result.fixed_of(k), result.messages.get(k)) == answer_alone(explainer, [cell])


def pandas_columns():
    periods = pandas.Series(pandas.period_range("2020", periods=2))
    yield "periods", periods
    yield "categories of periods", periods.astype("category")
    yield "intervals", pandas.Series(pandas.interval_range(0, 2))
    yield "sparse", pandas.Series(pandas.arrays.SparseArray([0.0, 2.0]))
    yield "dates", pandas.Series(pandas.date_range("2020", periods=2))
    yield "dates of a zone", pandas.Series(pandas.date_range("2020", periods=2, tz="UTC"))
    yield "durations", pandas.Series(pandas.to_timedelta([1, 2]))
    yield "text", pandas.Series(["a", "1", "x"])
    yield "nullable", pandas.Series([1, 2], dtype="Int64")
    yield "categories", pandas.Series(["1", "2", "a"], dtype="category")
    yield "mixed categories", pandas.Series([1, "a", 2.5], dtype="category")
    yield "complex", pandas.Series([1 + 2j, 3])
    yield "decimals", pandas.Series([Decimal(1), Decimal("0.1")])
    yield "objects", pandas.Series([1, "a", None, (1, 2)])
    for name in ("large_string", "string_view"):
        if hasattr(arrow, name):
            yield f"Arrow's {name}", pandas.Series(["1", "a"], dtype=pandas.ArrowDtype(getattr(arrow, name)()))


@pytest.mark.parametrize("which", EXPLAINERS)
@pytest.mark.parametrize(
    ("name", "column"), list(pandas_columns()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_pandas_columns_are_read_as_their_rows_are(which, name, column):
    explainer, frame = EXPLAINERS[which], pandas.DataFrame({"a": column})
    result = explainer.explain_batch(frame, 1, unit="raw")
    for k in range(len(frame)):
        assert (result.fixed_of(k), result.messages.get(k)) == answer_alone(explainer, frame.iloc[k])
