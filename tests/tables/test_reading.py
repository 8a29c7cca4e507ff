"""Tables in files: cells stay what they are."""

import gzip
import math
import subprocess
import sys

import pytest
from builders import sentence

from suffice.errors import DataError, FeatureNameError
from suffice.tables.reading import DataTable, read_table


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


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
    for path in (write(content), write(gzip.compress(content, mtime=0), "t.CSV.gz")):
        table = read_table(path)
        assert (table.columns, table.rows) == (("age", "été"), (("1", "2"),))


BROKEN = [
    ("t.csv", b"", "is empty; its first line must name the columns"),
    ("t.csv", b"\n\n", "is empty"),
    ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but there are 2 columns"),
    ("t.csv", b'a,b\n"x\ny",2\n1\n', "line 4 has 1 cells"),
    ("t.csv", b"a,b,a\n", "two columns are called 'a'"),
    ("t.csv", b"a\n\xe9\n", "is not UTF-8 text"),
    ("t.csv", b'a\n"open\n', "line 2 is not a valid line of a CSV file"),
    ("t.csv", b'a,b\n"1" 2,3\n', "line 2 is not a valid line of a CSV file"),
    ("t.csv", b"a\n" + b"x" * 200_000 + b"\n", "line 2 is not a valid line of a CSV file"),
    ("t.csv.gz", b"a,b\n1,2\n", "is not a complete gzip file"),
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "is not a complete gzip file"),
    ("table", b"a\n1\n", r"must end in .csv, .tsv, .jsonl, .ndjson, .parquet, .xlsx"),
    ("t.jsonl", b"", "is empty; every line must be an object"),
    ("t.jsonl", b'{"a": 1}\n{"a": \n', "line 2 cannot be read as JSON"),
    ("t.jsonl", b'{"a": ' + b"[" * 200_000, "line 1 cannot be read as JSON"),
    ("t.jsonl", b'{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', "line 2 .*two fields are called 'a'"),
    ("t.jsonl", b'{"a": "\\ud83d\\ude00"}\n{"a": "\\ud800"}\n', "line 2 spells half of a surrogate pair"),
    ("t.jsonl", b"[1]\n", "line 1 must be an object of plain values"),
    ("t.jsonl", b'{"a": [1]}\n', "line 1 must be an object of plain values"),
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
    for name, words in [("bad.parquet", "is not a Parquet file"), ("no.parquet", "there is no such file")]:
        with pytest.raises(DataError, match=words) as error:
            read_table(tmp_path / name)
        sentence(error)


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"pip install 'suffice\[data\]'") as error:
        read_table(write(b"", "t.parquet"))
    sentence(error)


@pytest.mark.parametrize(
    ("name", "text", "separator"),
    [
        ("t.csv", "a;b\n0.1;x\n", ";"),
        ("t.csv", "a\tb\n0.1\tx\n", "\t"),
        ("t.csv", "a|b\n0.1|x\n", "|"),
        ("t.tsv", "a\tb\n0.1\tx\n", "\t"),
        ("t.csv", 'a,b\n0.1,"x"\n', ","),
    ],
)
def test_what_separates_cells_is_seen_in_the_first_line(write, name, text, separator):
    table = read_table(write(text.encode(), name))
    assert (table.columns, table.rows, table.separator) == (("a", "b"), (("0.1", "x"),), separator)
    packed = read_table(write(gzip.compress(text.encode()), f"{name}.gz"))
    assert (packed.rows, packed.separator) == (table.rows, separator)


def test_separators_in_quotes_do_not_count(write):
    table = read_table(write(b'"a;b;c",d\n1,2\n'))
    assert (table.columns, table.rows) == (("a;b;c", "d"), (("1", "2"),))


def test_json_lines_keep_numbers_as_they_are_spelled(write):
    table = read_table(
        write(b'{"a": 0.1, "b": "x"}\n\n{"b": null, "c": true, "a": 100000000000000000001}\n', "t.jsonl")
    )
    assert table.columns == ("a", "b", "c")
    assert table.rows == (("0.1", "x", None), ("100000000000000000001", None, True))


def test_standard_input_is_read(tmp_path):
    code = "from suffice.tables.reading import read_table; t = read_table('-'); print(t.columns, t.rows)"
    for text, said in [("a;b\n1;2\n", "('a', 'b') (('1', '2'),)"), ('{"a": 1.50}\n', "('a',) (('1.50',),)")]:
        done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said


def test_excel_files_are_read(tmp_path):
    pandas = pytest.importorskip("pandas", reason="Excel files need pandas")
    pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    pandas.DataFrame({"a": [1, 2], "b": ["x", None]}).to_excel(tmp_path / "t.xlsx", index=False)
    assert read_table(tmp_path / "t.xlsx").rows == ((1, "x"), (2, None))
    (tmp_path / "no.xlsx").write_bytes(b"no")
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        read_table(tmp_path / "no.xlsx")


def test_a_column_that_is_not_there_is_guessed():
    table = DataTable("t.csv", ("Age", "x"), ())
    with pytest.raises(DataError, match=r"has no column 'age', a feature of the model; is it 'Age'"):
        table.check_columns(["age", "x"])
    with pytest.raises(DataError, match=r"has no column 'zzz', a feature of the model \(2 are missing in all\)$"):
        table.check_columns(["zzz", "age"])
    table.check_columns(["x"])


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files are read by openpyxl")

    def workbook(*lines, **cells):
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        for place, value in cells.items():
            book.active[place] = value
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    return workbook


def test_cells_of_a_workbook_are_what_they_are(workbook):
    table = read_table(workbook(["a", None, 5], [1, "NA", 0.5], [None, None, None], ["null", "", True], ["None"]))
    assert table.columns == ("a", "", "5")
    assert table.rows == ((1, "NA", 0.5), ("null", None, True), ("None", None, None))


@pytest.mark.parametrize(
    ("lines", "cells", "words"),
    [
        ([], {}, "is empty; the first line of its first sheet"),
        ([["a", "b", "a"]], {}, "two columns are called 'a'"),
        ([["a", "b"], [1, "#DIV/0!"]], {}, "B2 is the error #DIV/0!"),
        ([["a"], [1, 2]], {}, "row 2 has 2 cells, but there are 1 columns"),
        ([["a"]], {"XFD1048576": 1}, "row 1048576 has 16384 cells"),  # seventeen billion cells in five kilobytes
    ],
)
def test_a_workbook_that_is_no_table_is_told_in_one_sentence(workbook, lines, cells, words):
    path = workbook(*lines, **cells)
    with pytest.raises(DataError, match=words) as error:
        read_table(path)
    assert sentence(error).startswith(f"{path}: ")
