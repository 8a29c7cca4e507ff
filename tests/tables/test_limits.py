"""Tables that are damaged, or larger unpacked than they look: one sentence, and no more memory than the limit."""

import datetime
import gzip
import io
import random
import zipfile

import pytest
from builders import sentence

from suffice.errors import DataError
from suffice.tables import reading
from suffice.tables.reading import DataTable, read_table

arrow = pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet files are read by pyarrow")
csv = pytest.importorskip("pyarrow.csv", reason="pyarrow is not installed")

from suffice.batch import files  # noqa: E402
from suffice.batch.files import TableFile  # noqa: E402


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(reading, "MOST_CELLS", 1000)
    monkeypatch.setattr(reading, "MOST_BYTES", 100_000)
    monkeypatch.setattr(reading, "MOST_CHARACTERS", 10_000)


def refused(path, words):
    with pytest.raises(DataError, match=words) as error:
        read_table(path)
    assert sentence(error).startswith(f"{path}: has more than ")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_csv_file_has_so_many_cells_bytes_and_characters_a_row(small_limits, tmp_path, pack):
    path = tmp_path / ("t.csv" if pack is bytes else "t.csv.gz")
    for content, words in [
        (b"a,b\n" + b"1,2\n" * 501, "1,000 cells"),
        (b"a\n" + b"\n" * 100_001, "100,000 bytes once unpacked"),
        (b"a" * 200 + b"\n" + (b"x" * 9000 + b"\n") * 20, "100,000 bytes once unpacked"),
        (b",".join(b"%d" % k for k in range(2000)) + b"\n", "1,000 cells"),
        (b"a," * 5001 + b"\n", "10,000 characters in one row"),
        (b'"\n",' * 5001 + b"\n", "10,000 characters in one row"),  # one row of many lines
    ]:
        path.write_bytes(pack(content))
        refused(path, words)
    path.write_bytes(pack(b"a,b\n" + b"1,2\n" * 500))
    assert len(read_table(path).rows) == 500


def test_a_parquet_file_has_so_many_cells_and_bytes(small_limits, tmp_path):
    path = tmp_path / "t.parquet"
    for columns, words in [
        ({"a": [1] * 1001}, "1,000 cells"),
        ({"a": ["x" * 60_000, "y" * 60_000]}, "100,000 bytes once unpacked"),
        ({"a": ["x" * 1000] * 200}, "100,000 bytes once unpacked"),  # one value in the file, 200 in memory
        ({"a": arrow.array([b"x" * 1000] * 200)}, "100,000 bytes once unpacked"),
    ]:
        parquet.write_table(arrow.table(columns), path)
        refused(path, words)
    parquet.write_table(arrow.table({"a": ["x" * 1000, None] * 40, "b": [1] * 80}), path)
    assert read_table(path).rows == (("x" * 1000, 1), (None, 1)) * 40


@pytest.mark.parametrize("kind", [arrow.string(), arrow.large_string(), arrow.binary()], ids=str)
def test_a_part_of_a_parquet_file_has_so_many_bytes_however_few_the_file_has(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(files, "MOST_BYTES", 100_000)
    path = tmp_path / "t.parquet"
    text = "x" * 1000 if kind != arrow.binary() else b"x" * 1000
    for count in (80, 200):
        parquet.write_table(arrow.table({"a": [1.0] * count, "b": arrow.array([text] * count, kind)}), path)
        assert path.stat().st_size < 10_000
        table = TableFile(path)
        if count == 80:
            (part,) = table.parts(["a", "b"], 1000)
            assert (part["b"].type, part["b"].to_pylist()) == (kind, [text] * count)
            continue
        with pytest.raises(DataError, match="200 rows have more than 100,000 bytes in the columns") as error:
            list(table.parts(["a", "b"], 1000))
        sentence(error)
        assert len(list(table.parts(["a"], 1000))) == 1


def test_kinds_of_parquet_columns(tmp_path):
    path = tmp_path / "t.parquet"
    index = arrow.array(["x", None, "y", "x"]).dictionary_encode()
    table = arrow.table({"i": index, "l": arrow.array(["a", "b", None, "a"], arrow.large_string()), "b": [b"1"] * 4})
    parquet.write_table(table, path)
    assert read_table(path).rows == (("x", "a", b"1"), (None, "b", b"1"), ("y", None, b"1"), ("x", "a", b"1"))
    parquet.write_table(arrow.table({"n": [1], "l": [[1, 2]]}), path)
    with pytest.raises(DataError, match=r"column 'l' holds a list<.*> in each cell; leave it out") as error:
        read_table(path)
    sentence(error)


def test_what_python_has_no_value_for_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "t.parquet"
    offsets = arrow.py_buffer(b"\0\0\0\0\2\0\0\0")
    text = arrow.Array.from_buffers(arrow.string(), 1, [None, offsets, arrow.py_buffer(b"\xff\xfe")])
    for column, words in [
        (arrow.array([2**62], arrow.timestamp("us")), "cannot be read as a table"),
        (text, "is not UTF-8 text"),
    ]:
        parquet.write_table(arrow.table({"a": column}), path)
        with pytest.raises(DataError, match=words) as error:
            read_table(path)
        sentence(error)


class Name(str):
    """A name that counts how often any is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


def test_names_of_many_columns_are_not_compared_each_with_each(tmp_path):
    names = tuple(Name(f"c{k}") for k in range(6000))
    assert DataTable("t.csv", names, ()).columns is names
    with pytest.raises(DataError, match="two columns are called 'c7'"):
        DataTable("t.csv", (*names, Name("c7")), ())
    assert Name.compared < 10 * len(names)
    (tmp_path / "t.csv").write_text(",".join((*names[:9], "c7")) + "\n")
    with pytest.raises(DataError, match="two columns are called 'c7'"):
        TableFile(tmp_path / "t.csv")


def originals():
    text = "a,b,c\n" + "".join(f'{k},{k / 7},"x{k} é"\n' for k in range(30))
    yield "csv", text.encode()
    yield "csv.gz", gzip.compress(text.encode(), mtime=0)
    yield "tsv", text.replace(",", "\t").encode()
    yield "jsonl", "".join(f'{{"a": {k}, "b": {k / 7}, "s": "x{k} \\u00e9"}}\n' for k in range(30)).encode()
    table = arrow.table(
        {
            "a": list(range(30)),
            "b": [k / 7 for k in range(30)],
            "s": [f"x{k % 5} é" for k in range(30)],
            "d": [datetime.datetime(2020, 1, 1)] * 30,
        }
    )
    for compression in ("none", "snappy", "gzip"):
        sink = io.BytesIO()
        parquet.write_table(table, sink, compression=compression, row_group_size=11)
        yield "parquet", sink.getvalue()


def damaged(content, random_):
    content = bytearray(content)
    for _ in range(random_.choice([1, 1, 2, 5, 20])):
        place = random_.randrange(len(content))
        match random_.randrange(4):
            case 0 | 1:
                content[place] ^= 1 << random_.randrange(8)
            case 2:
                content[place] = random_.choice([0, 255, 34, 44, 10, 13, 128, 127])
            case 3:
                content[place:place] = random_.randbytes(random_.randrange(5))
    return bytes(content if random_.random() < 0.9 else content[: random_.randrange(len(content))])


KINDS = ["csv", "gz", "tsv", "json", "plain", "snappy", "gzip"]


@pytest.mark.parametrize(("kind", "content"), list(originals()), ids=KINDS)
def test_a_damaged_table_is_read_or_refused_in_one_sentence(tmp_path, kind, content):
    path, random_, said = tmp_path / f"t.{kind}", random.Random(5), []
    for _ in range(100):
        path.write_bytes(damaged(content, random_))
        for read in (read_table, lambda path: list(TableFile(path).parts(TableFile(path).columns, 8))):
            try:
                read(path)
            except DataError as error:
                said.append(str(error))
    assert len(said) > 20
    assert not [words for words in said if "\n" in words or not words.startswith(f"{path}: ")]


def test_a_damaged_workbook_is_read_or_refused_in_one_sentence(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files are read by openpyxl")
    book, path, random_, said = openpyxl.Workbook(), tmp_path / "t.xlsx", random.Random(5), []
    for line in (["a", "b"], [1, "x"], [0.5, True], [datetime.datetime(2020, 1, 1), None]):
        book.active.append(line)
    book.save(path)
    with zipfile.ZipFile(path) as packed:
        inside = {name: packed.read(name) for name in packed.namelist()}
    for _ in range(150):
        name = random_.choice(list(inside))
        with zipfile.ZipFile(path, "w") as packed:
            for one, content in inside.items():
                packed.writestr(one, damaged(content, random_) if one == name else content)
        try:
            read_table(path)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 50
    assert not [words for words in said if "\n" in words or not words.startswith(f"{path}: ")]
