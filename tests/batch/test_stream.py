"""Files: read in parts, written whole or not at all, gone on with after a kill."""

import csv
import datetime
import decimal
import gzip
import json
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from typer.testing import CliRunner

import suffice
from suffice import DataError, Domain, Explainer, Feature, PiecewiseLinear, Steps, Table
from suffice.cli.app import app

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

from suffice.batch.arrow import ArrowExplainer  # noqa: E402
from suffice.batch.files import TableFile  # noqa: E402
from suffice.batch.stream import explain_file  # noqa: E402


def nothing(done):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batch")
    rng = np.random.default_rng(0)
    shapes = [PiecewiseLinear(np.sort(rng.normal(size=8)).tolist(), rng.normal(size=8).tolist()) for _ in range(3)]
    shapes += [Table({"a": -0.5, "b": 0.5}), Steps(["0.1"], [-0.3, 0.3])]
    features = [Feature("u", Domain.interval(-9, 9), deviation=1), "v", "w", "kind", "share"]
    suffice.AdditiveModel(shapes, 0.1, features=features, classes=["no", "yes"]).save(folder / "model.safetensors")
    count = 2500
    table = arrow.table(
        {
            "id": [f"p{k}" for k in range(count)],
            **{name: rng.normal(size=count) for name in "uvw"},
            "kind": rng.choice(["a", "b"], size=count),
            "share": rng.choice([0.1, 0.2, 0.0], size=count),
        }
    )
    parquet.write_table(table, folder / "rows.parquet", row_group_size=700)
    header, rows = ",".join(table.column_names), zip(*(column.to_pylist() for column in table.columns), strict=True)
    (folder / "rows.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return folder


def explainer_of(folder, **options):
    return ArrowExplainer(folder / "model.safetensors", 0.5, unit="raw", **options)


def test_every_format_has_the_same_rows(folder, tmp_path):
    ask = explainer_of(folder, carry=["id", "u"])
    tables = {}
    for ending in ("parquet", "arrow", "csv", "jsonl"):
        explain_file(
            ask, TableFile(folder / "rows.parquet"), tmp_path / f"out.{ending}", part_rows=900, progress=nothing
        )
    tables["parquet"] = parquet.read_table(tmp_path / "out.parquet")
    with arrow.ipc.open_file(tmp_path / "out.arrow") as file:
        tables["arrow"] = file.read_all()
    rows = tables["parquet"].to_pylist()
    assert tables["arrow"].to_pylist() == rows
    assert tables["arrow"].schema.metadata == tables["parquet"].schema.metadata
    assert tables["arrow"].schema.equals(tables["parquet"].schema)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [json.loads(row["features"]) for row in cells] == [row["features"] for row in rows]
    for name in ("u", "margin", "margin_error"):
        assert [float(row[name]) for row in cells] == [row[name] for row in rows]
    for name in ("id", "row", "prediction", "size", "status", "path"):
        assert [row[name] for row in cells] == [str(row[name]) for row in rows]


def test_words_are_text_in_every_file_and_carried_columns_keep_their_types(folder, tmp_path):
    rows = parquet.read_table(folder / "rows.parquet").slice(0, 40)
    carried = {
        "kinds": rows["id"].dictionary_encode(),
        "long": rows["id"].cast(arrow.large_string()),
        "when": arrow.array([0] * 40, arrow.timestamp("s", "UTC")),
    }
    for name, column in carried.items():
        rows = rows.append_column(name, column)
    parquet.write_table(rows, tmp_path / "rows.parquet")
    ask = explainer_of(folder, carry=list(carried))
    for ending in ("parquet", "arrow"):
        explain_file(ask, TableFile(tmp_path / "rows.parquet"), tmp_path / f"out.{ending}", progress=nothing)
    with arrow.ipc.open_file(tmp_path / "out.arrow") as file:
        expected = file.read_all().schema
    found = parquet.read_table(tmp_path / "out.parquet").schema
    assert found.equals(expected)
    assert found.field("kinds").type == rows["kinds"].type
    assert found.field("long").type == arrow.large_string()
    assert [found.field(one.name).type for one in ask.schema] == [one.type for one in ask.schema]


def test_text_formats_say_what_failed_and_keep_odd_cells(folder, tmp_path):
    odd = parquet.read_table(folder / "rows.parquet").slice(0, 4)
    odd = odd.append_column("when", arrow.array([datetime.date(2024, 5, 1)] * 4))
    odd = odd.append_column("much", arrow.array([1.5, float("inf"), float("nan"), None]))
    odd = odd.append_column("kinds", odd["id"].dictionary_encode())
    odd = odd.append_column("price", arrow.array([decimal.Decimal("1.10")] * 4))
    odd = odd.set_column(odd.schema.get_field_index("u"), "u", arrow.array([0.5, 77.0, None, 0.25]))
    parquet.write_table(odd, tmp_path / "rows.parquet")
    ask = explainer_of(folder, carry=["id", "when", "much", "kinds", "price"])
    for ending in ("csv", "jsonl"):
        explain_file(ask, TableFile(tmp_path / "rows.parquet"), tmp_path / f"out.{ending}", progress=nothing)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["proven", "failed", "failed", "proven"]
    assert (rows[1]["size"], rows[1]["features"]) == (None, [])
    assert "outside its domain" in rows[1]["message"]
    assert [row["much"] for row in rows] == [1.5, "inf", None, None]
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [row["message"] for row in cells] == [row["message"] or "" for row in rows]
    for got in (rows, cells):
        assert [(row["when"], row["price"], row["kinds"]) for row in got] == [
            ("2024-05-01", "1.10", f"p{k}") for k in range(4)
        ]


def test_how_much_of_a_csv_file_is_read_is_known(folder):
    table = TableFile(folder / "rows.csv")
    assert (table.rows, table.share_read) == (None, 0)
    assert sum(part.num_rows for part in table.parts(["u"], 500)) == 2500
    assert table.share_read == 1


@pytest.mark.parametrize("part_rows", [250, 300, 2500, 10_000])
def test_parts_of_any_size_give_the_same_rows(folder, tmp_path, part_rows):
    table = parquet.read_table(folder / "rows.parquet")
    output = tmp_path / "out.parquet"
    summary = explain_file(
        explainer_of(folder, carry=["id"]),
        TableFile(folder / "rows.parquet"),
        output,
        part_rows=part_rows,
        progress=nothing,
    )
    found = parquet.read_table(output)
    expected = (
        Explainer(suffice.load(folder / "model.safetensors"))
        .explain_batch(table.drop_columns("id"), 0.5, unit="raw")
        .to_arrow()
    )
    assert found.drop_columns(["id", "row"]).cast(expected.schema).equals(expected)
    assert found["id"].to_pylist() == table["id"].to_pylist()
    assert found["row"].to_pylist() == list(range(2500))
    assert summary.rows == summary.statuses["proven"] == 2500
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_cells_of_a_csv_file_count_as_the_text_they_are(folder, tmp_path):
    output = tmp_path / "out.parquet"
    explain_file(explainer_of(folder), TableFile(folder / "rows.csv"), output, part_rows=999, progress=nothing)
    found = parquet.read_table(output)
    explainer = Explainer(suffice.load(folder / "model.safetensors"))
    lines = [line.split(",")[1:] for line in (folder / "rows.csv").read_text().split()[1:]]
    for k in range(0, 2500, 50):
        why = explainer.explain(lines[k], 0.5, unit="raw")
        assert (found["features"][k].as_py(), found["prediction"][k].as_py()) == (list(why.features), why.prediction)
    # The cut at a tenth is no float: rows of text at it are settled exactly, others by bounds.
    at_cut = np.array([line[4] == "0.1" for line in lines])
    assert (np.array(found["path"].to_pylist()) == "exact").tolist() == at_cut.tolist()


def test_a_killed_run_goes_on_where_it_stopped(folder, tmp_path):
    whole, output = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    explain_file(explainer_of(folder), TableFile(folder / "rows.parquet"), whole, part_rows=250, progress=nothing)
    output.write_bytes(b"the earlier output")
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from suffice.batch.arrow import ArrowExplainer
        from suffice.batch.files import TableFile
        from suffice.batch.stream import explain_file

        def slowly(done):
            if done >= 1000:
                print("stop me", flush=True)
                time.sleep(600)

        folder = Path({str(folder)!r})
        explain_file(ArrowExplainer(folder / "model.safetensors", 0.5, unit="raw"), TableFile(folder / "rows.parquet"),
                     Path({str(output)!r}), part_rows=250, progress=slowly)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "stop me\n"
        process.send_signal(signal.SIGKILL)
    assert output.read_bytes() == b"the earlier output"
    parts = tmp_path / "out.parquet.parts"
    before = {path.name: path.stat().st_ino for path in parts.glob("part-*")}
    assert len(before) == 4
    (parts / ".suffice-0123456789abcdef.partial").write_bytes(b"half a part")
    told = []
    explain_file(explainer_of(folder), TableFile(folder / "rows.parquet"), output, part_rows=250, progress=told.append)
    assert told[:2] == [1000, 1250]  # what was finished is not done again
    assert output.read_bytes() == whole.read_bytes()
    assert not parts.exists()


def test_parts_of_another_question_are_not_used(folder, tmp_path):
    output = tmp_path / "out.parquet"
    data = TableFile(folder / "rows.parquet")
    parts = tmp_path / "out.parquet.parts"

    def stop(done):
        if done >= 500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain_file(explainer_of(folder), data, output, part_rows=250, progress=stop)
    assert len(list(parts.glob("part-*"))) == 2
    told = []
    other = ArrowExplainer(folder / "model.safetensors", 0.25, unit="raw")
    explain_file(other, data, output, part_rows=250, progress=told.append)
    assert told[0] == 0
    parts.mkdir()
    (parts / "precious.txt").write_text("files suffice did not write")
    with pytest.raises(suffice.DataError, match="files suffice did not write"):
        explain_file(explainer_of(folder), data, output, part_rows=250, progress=nothing)


@pytest.mark.parametrize("damage", [slice(0, 1000), slice(0, 0)])
def test_a_part_that_the_disk_has_lost_some_of_is_done_again(folder, tmp_path, damage):
    data = TableFile(folder / "rows.parquet")
    whole, output = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    explain_file(explainer_of(folder), data, whole, part_rows=250, progress=nothing)

    def stop(done):
        if done >= 750:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain_file(explainer_of(folder), data, output, part_rows=250, progress=stop)
    (part,) = (tmp_path / "out.parquet.parts").glob("part-00000001-*.arrow")
    part.write_bytes(part.read_bytes()[damage])
    told = []
    explain_file(explainer_of(folder), data, output, part_rows=250, progress=told.append)
    assert told[:2] == [500, 750]
    assert output.read_bytes() == whole.read_bytes()


def test_the_model_is_not_overwritten_by_its_results(folder, tmp_path):
    model = tmp_path / "model.parquet"
    model.write_bytes((folder / "model.safetensors").read_bytes())
    result = run(model, folder / "rows.parquet", "-o", model, "--unit", "raw", "--radius", "0.5")
    assert result.exit_code == 1
    assert "is the model itself" in " ".join(result.output.split())
    assert model.read_bytes() == (folder / "model.safetensors").read_bytes()


def test_an_empty_cell_of_a_csv_file_fails_alone(folder, tmp_path):
    (tmp_path / "rows.csv").write_text("u,v,w,kind,share\n0.5,1,2,a,0.5\n,1,2,a,0.5\n0.5,1,,b,0.5\n")
    output = tmp_path / "o.parquet"
    result = run(folder / "model.safetensors", tmp_path / "rows.csv", "-o", output, "--unit", "raw", "--radius", "0.5")
    assert result.exit_code == 3
    assert parquet.read_table(output)["status"].to_pylist() == ["proven", "failed", "failed"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are a matter of Unix")
def test_a_disk_that_takes_no_more_leaves_the_earlier_output(folder, tmp_path):
    output = tmp_path / "out.parquet"
    output.write_bytes(b"the earlier output")
    script = textwrap.dedent("""
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        from suffice.cli.app import main
        main()
    """)
    command = [
        "batch",
        str(folder / "model.safetensors"),
        str(folder / "rows.parquet"),
        "-o",
        str(output),
        "--unit",
        "raw",
        "--radius",
        "0.5",
    ]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr.replace("\n", " ")
    assert output.read_bytes() == b"the earlier output"


def test_a_file_without_rows_gives_a_file_without_rows(folder, tmp_path):
    empty = parquet.read_table(folder / "rows.parquet").slice(0, 0)
    parquet.write_table(empty, tmp_path / "empty.parquet")
    (tmp_path / "empty.csv").write_text((folder / "rows.csv").read_text().split("\n")[0] + "\n")
    for name in ("empty.parquet", "empty.csv"):
        output = tmp_path / "out.parquet"
        explain_file(explainer_of(folder, carry=["id"]), TableFile(tmp_path / name), output, progress=nothing)
        found = parquet.read_table(output)
        assert found.num_rows == 0
        assert found.column_names[:3] == ["id", "row", "prediction"]


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, ["batch", *map(str, arguments)])


def test_rows_that_fail_get_a_status_and_the_exit_code_says_so(folder, tmp_path):
    table = parquet.read_table(folder / "rows.parquet")
    u = table["u"].to_numpy().copy()
    u[1234], u[1300] = np.nan, 99.0
    parquet.write_table(table.set_column(1, "u", arrow.array(u, from_pandas=False)), tmp_path / "bad.parquet")
    result = run(
        folder / "model.safetensors",
        tmp_path / "bad.parquet",
        "-o",
        tmp_path / "o.parquet",
        "--unit",
        "raw",
        "--radius",
        "0.5",
        "--json",
    )
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    assert (document["rows"], document["failed"], document["proven"]) == (2500, 2, 2498)
    found = parquet.read_table(tmp_path / "o.parquet")
    assert found["status"].to_pylist()[1234] == "failed"
    assert "'u' is missing, outside its domain" in found["message"][1234].as_py()
    assert "99" in found["message"][1300].as_py()
    assert found["message"].null_count == 2498


def test_the_command_tells_what_became_of_the_rows(folder, tmp_path):
    result = run(
        folder / "model.safetensors", folder / "rows.csv", "-o", tmp_path / "o.parquet", "--radius", "0.5",
        "--unit", "raw", "--carry", "id", "--immutable", "v", "--radius", "w=0.1", "--threads", "1",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "2,500 rows in" in result.stdout
    assert parquet.read_table(tmp_path / "o.parquet")["id"][7].as_py() == "p7"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output": "rows.txt"}, "must end in .parquet, .arrow, .csv or .jsonl"),
        ({"output": "nowhere/o.parquet"}, "there is no folder"),
        ({"input": "absent.parquet"}, "there is no such file"),
        ({"input": "model.safetensors"}, "must end in .csv"),
        ({"input": "wrong.parquet"}, "has no column 'v'"),
        ({"input": "broken.parquet"}, "cannot be read as a table"),
        (
            {"input": "lists.parquet"},
            "column 'v' holds a list<element: double> in each cell; the model needs one value",
        ),
        ({"input": "pairs.parquet"}, "column 'w' holds a struct<x: int64> in each cell; the model needs one value"),
        (
            {"input": "more.parquet", "more": ["--carry", "x"]},
            "element: int64> in each cell; it cannot be carried over",
        ),
        ({"input": "more.parquet", "more": ["--carry", "y"]}, "fixed_size_binary[9000] in each cell; it cannot be"),
        ({"more": ["--carry", "nobody"]}, "has no column 'nobody'"),
        ({"more": ["--carry", "id", "--carry", "id"]}, "carry names the column 'id' twice"),
        ({"more": ["--within", "1", "--beats", "yes"]}, "give one claim"),
        ({"more": ["--immutable", "nobody"]}, "'nobody' is not a feature"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(folder, tmp_path, change, message):
    parquet.write_table(arrow.table({"u": [1.0]}), folder / "wrong.parquet")
    plain = {name: [1.0] for name in ("u", "v", "w", "share")} | {"kind": ["a"]}
    parquet.write_table(arrow.table({**plain, "v": [[1.0]]}), folder / "lists.parquet")
    parquet.write_table(arrow.table({**plain, "w": [{"x": 1}]}), folder / "pairs.parquet")
    wide = arrow.array([b"1" * 9000], arrow.binary(9000))
    parquet.write_table(arrow.table({**plain, "x": [[1]], "y": wide}), folder / "more.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1 not really")
    output = tmp_path / change.get("output", "o.parquet")
    result = run(
        folder / "model.safetensors", folder / change.get("input", "rows.parquet"), "-o", output,
        "--radius", "0.5", "--unit", "raw", *change.get("more", []),
    )  # fmt: skip
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["quotes.csv", "quotes.csv.gz"])
@pytest.mark.parametrize("cells", [['"p0', "p1", "p2"], ['"p0', '"p1', "p2"], ['"p0"x', "p1", "p2"]])
def test_a_quote_that_swallows_rows_is_refused(folder, tmp_path, cells, name):
    lines = ["u,v,w,kind,share,id", *(f"0.5,0,0,a,0.1,{cell}" for cell in cells)]
    text = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(DataError, match=r"line [234] is not a valid line of a CSV file"):
        explain_file(explainer_of(folder), TableFile(tmp_path / name), tmp_path / "out.parquet", progress=nothing)


def test_columns_that_are_not_needed_may_hold_anything(folder, tmp_path):
    rows = {name: [1.0, 2.0] for name in ("u", "v", "w", "share")} | {"kind": ["a", "b"], "x": [[1], [2, 3]]}
    parquet.write_table(arrow.table(rows), tmp_path / "more.parquet")
    result = run(
        folder / "model.safetensors", tmp_path / "more.parquet", "-o", tmp_path / "o.parquet",
        "--radius", "0.5", "--unit", "raw",
    )  # fmt: skip
    assert result.exit_code == 0
    assert parquet.read_table(tmp_path / "o.parquet").num_rows == 2


def test_too_little_memory_is_told_in_one_sentence(folder, tmp_path, monkeypatch):
    def no_more(*_, **__):
        raise arrow.lib.ArrowMemoryError("malloc of size 1600000000 failed")

    monkeypatch.setattr("suffice.batch.stream.explain_file", no_more)
    result = run(folder / "model.safetensors", folder / "rows.parquet", "-o", tmp_path / "o.parquet", "--unit", "raw")
    assert (result.exit_code, result.stdout) == (1, "")
    assert " ".join(result.stderr.split()).startswith("Error: there is not enough memory for this; take fewer rows")
