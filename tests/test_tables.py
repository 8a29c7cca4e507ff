import datetime
import gzip
import math
import sys

import pytest

from suffice.errors import DataError, FeatureNameError
from suffice.tables import DataTable, read_table, training_data


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def sentence(error):
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300
    return text


def test_cells_stay_text_and_an_empty_one_is_missing(write):
    path = write('age,colour\r\n0.1,"red, dark"\r\n,\r\n"say ""1""","two\nlines"\r\n')
    rows = (("0.1", "red, dark"), (None, None), ('say "1"', "two\nlines"))
    assert read_table(path) == DataTable(str(path), ("age", "colour"), rows)


@pytest.mark.parametrize(
    "content",
    [
        b"age,\xc3\xa9t\xc3\xa9\n1,2\n",
        b"\xef\xbb\xbfage,\xc3\xa9t\xc3\xa9\n1,2\n",  # a spreadsheet's byte order mark
        b"age,\xc3\xa9t\xc3\xa9\r\n1,2",
        b"\nage,\xc3\xa9t\xc3\xa9\n\n1,2\n\n",  # an empty line is no row
    ],
)
def test_the_same_table_in_other_bytes(write, content):
    for path in (write(content), write(gzip.compress(content), "t.CSV.gz")):
        table = read_table(path)
        assert (table.columns, table.rows) == (("age", "été"), (("1", "2"),))


BROKEN = [
    ("t.csv", b"", "is empty; its first line must name the columns"),
    ("t.csv", b"\n\n", "is empty"),
    ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but there are 2 columns"),
    ("t.csv", b'a,b\n"x\ny",2\n1\n', "line 4 has 1 cells"),
    ("t.csv", b"a,b,a\n", "two columns are called 'a'"),
    ("t.csv", b"a\n\xe9\n", "is not UTF-8 text"),
    ("t.csv", b'a\n"open\n', "line 2 is no line of a CSV file"),
    ("t.csv", b'a,b\n"1" 2,3\n', "line 2 is no line of a CSV file"),
    ("t.csv", b"a\n" + b"x" * 200_000 + b"\n", "line 2 is no line of a CSV file"),
    ("t.csv.gz", b"a,b\n1,2\n", "is not a whole gzip file"),
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "is not a whole gzip file"),
    ("t.xlsx", b"", r"must end in .csv, .csv.gz or .parquet"),
    ("table", b"a\n1\n", r"must end in .csv"),
]


@pytest.mark.parametrize(("name", "content", "words"), BROKEN, ids=lambda v: None)
def test_a_broken_file_is_told_in_one_sentence(write, name, content, words):
    path = write(content, name)
    with pytest.raises(DataError, match=words) as error:
        read_table(path)
    assert sentence(error).startswith(f"{path}: ")


def test_a_file_that_cannot_be_read(tmp_path):
    for name in ("no.csv", "no.csv.gz"):
        with pytest.raises(DataError, match=f"{name}: there is no such file"):
            read_table(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "folder.csv")


def test_rows_and_columns_by_name():
    table = DataTable("t.csv", ("a", "b"), (("1", "2"), ("3", None)))
    assert table.row(1) == {"a": "3", "b": None}
    assert table.column("b") == ["2", None]
    for k in (-1, 2):
        with pytest.raises(DataError, match=rf"there is no row {k}; its 2 rows count from 0 to 1"):
            table.row(k)
    with pytest.raises(DataError, match="there is no row 0; it has no rows"):
        DataTable("t.csv", ("a",), ()).row(0)
    with pytest.raises(FeatureNameError, match=r"'aa' is not a column of t.csv; did you mean 'a'"):
        table.column("aa")


def test_parquet_cells_keep_their_values(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet files are read by pyarrow")
    columns = {"n": [1, None], "x": [0.5, math.inf], "s": ["é", None], "b": [True, False]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert (table.columns, table.rows) == (("n", "x", "s", "b"), ((1, 0.5, "é", True), (None, math.inf, None, False)))
    (tmp_path / "bad.parquet").write_bytes(b"a,b\n1,2\n")
    for name, words in [("bad.parquet", "is no Parquet file"), ("no.parquet", "there is no such file")]:
        with pytest.raises(DataError, match=words) as error:
            read_table(tmp_path / name)
        sentence(error)


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"pip install 'suffice\[data\]'") as error:
        read_table(write(b"", "t.parquet"))
    sentence(error)


# --- tables to learn from ---------------------------------------------------------------------------------------------


def learn(x, y, **options):
    rows = tuple(zip(x, y, strict=True))
    return training_data(DataTable("t.csv", ("x", "y"), rows), "y", **options)


NO_YES = ["no", "yes"]
COLUMNS = [
    (["1", "0.5"], [1.0, 0.5]),
    ([1, 2.5], [1.0, 2.5]),
    (["red", "1e3"], ["red", "1e3"]),  # one name, so all are
    ([True, None], [True, None]),
    (["red", None], ["red", None]),
    (["Nan", "Inf"], ["Nan", "Inf"]),  # names of people, for all we know
]


@pytest.mark.parametrize(("cells", "read"), COLUMNS, ids=lambda v: None)
def test_a_column_is_numbers_or_names(cells, read):
    data = learn(cells, NO_YES)
    assert data.columns == {"x": read}
    assert data.names == (() if all(isinstance(one, float) for one in read) else ("x",))


def test_a_missing_number_is_nan():
    first, second = learn([None, "2"], NO_YES).columns["x"]
    assert (math.isnan(first), second) == (True, 2.0)
    assert learn([math.nan, None], NO_YES).names == ()


MANY = [str(k) for k in range(30)]
TARGETS = [
    (["a", "b"], {}, ["a", "b"], True),
    (["2", "1.0"], {}, [2, 1], True),
    ([True, False], {}, [True, False], True),
    (["1.5", "2"], {}, [1.5, 2.0], False),
    (["1.5", "2"], {"task": "classification"}, ["1.5", "2"], True),
    (["0", "1"], {"task": "regression"}, [0.0, 1.0], False),
    (MANY[:20], {}, list(range(20)), True),
    (MANY[:21], {}, [float(k) for k in range(21)], False),
    (MANY, {"task": "classification"}, list(range(30)), True),
    (["1", "many"], {}, ["1", "many"], True),
    (["9" * 30, "1"], {"task": "classification"}, ["9" * 30, "1"], True),  # too long to be told apart as a float
]


@pytest.mark.parametrize(("cells", "options", "target", "is_classification"), TARGETS, ids=lambda v: None)
def test_the_target_tells_the_task(cells, options, target, is_classification):
    data = learn(range(len(cells)), cells, **options)
    assert (data.target, data.is_classification) == (target, is_classification)
    assert [type(value) for value in data.target] == [type(value) for value in target]


UNFIT = [
    (["1", "2"], ["a", None], {}, "target 'y' is missing in row 1 .1 in all."),
    (["1", "2"], [math.nan, 1.0], {}, "target 'y' is missing in row 0"),
    (["1", "2"], ["a", "a"], {}, "target 'y' is a in every row"),
    (["1", "2"], ["1", "1.0"], {}, "target 'y' is 1 in every row"),
    (["1", "2"], ["1.5", "1.5"], {}, "target 'y' is 1.5 in every row"),
    ([], [], {}, "target 'y' has no rows"),
    (["1", "2"], ["a", "b"], {"task": "regression"}, "holds names, such as 'a'; a regression needs numbers"),
    (["1", "2"], ["a", "b"], {"drop": ["x"]}, "no column is left"),
    (["1", "2"], ["a", "b"], {"drop": ["y"]}, "the target 'y' is dropped"),
    ([*MANY, "?"], [*MANY, "1"], {}, r"column 'x' holds numbers, but in row 30 it is '\?'"),
    (["1", "nan"], ["a", "b"], {}, "in row 1 it is 'nan'; mend it, leave the cell empty"),
    ([1.0, math.inf], ["a", "b"], {}, "column 'x' is inf in row 1; give finite numbers"),
    ([datetime.date(2020, 1, 1)] * 2, ["a", "b"], {}, r"is datetime.date\(2020, 1, 1\) in row 0, neither a number"),
]


@pytest.mark.parametrize(("x", "y", "options", "words"), UNFIT, ids=lambda v: None)
def test_a_table_that_is_not_fit_to_learn_from(x, y, options, words):
    with pytest.raises(DataError, match=words) as error:
        learn(x, y, **options)
    sentence(error)


def test_columns_without_a_name_and_names_without_a_column():
    table = DataTable("t.csv", ("", "x", "y"), (("0", "1", "a"), ("1", "1", "b")))
    with pytest.raises(DataError, match="column 1 has no name"):
        training_data(table, "y")
    assert list(training_data(table, "y", drop=[""]).columns) == ["x"]
    for options in ({"target": "z"}, {"target": "y", "drop": ["z"]}):
        with pytest.raises(FeatureNameError, match="'z' is not a column"):
            training_data(table, **options)
