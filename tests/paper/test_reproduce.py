"""The reproduction runs from end to end, goes on after a kill, and measures nothing twice."""

import csv
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "paper" / "reproduce.py"
pytestmark = pytest.mark.slow


def reproduce(folder, item, *more):
    options = ["--sets", "breast_cancer", "--rows", "1", "--compare-rows", "1", "--workers", "1", "--timeout", "30"]
    places = ["--output", str(folder / "pages"), "--store", str(folder / "store")]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), item, *options, *places, *more], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which everything was reproduced once, with the model that ships in place of a trained one."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    place = tmp_path_factory.mktemp("paper")
    (place / "store").mkdir()
    shipped = Path(suffice.__file__).parent / "data" / "breast_cancer.safetensors"
    for name in ("breast_cancer", "breast_cancer_deployed"):
        shutil.copy(shipped, place / "store" / f"{name}.safetensors")
    reproduce(place, "all")
    return place


def test_every_table_and_figure_is_written(folder):
    names = ["table1", "table2", "table3", "table4", "verifiers", "regression", "deployed"]
    figures = ["size-over-time", "features-over-time", "processors", "xi-histogram", "xi-time"]
    for name in [*names, *figures]:
        assert (folder / "pages" / f"{name}.md").stat().st_size > 200
        assert (folder / "pages" / f"{name}.csv").stat().st_size > 20
    if importlib.util.find_spec("matplotlib"):
        for name in figures:
            assert (folder / "pages" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert (folder / "pages" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_sizes_are_the_exact_ones(folder):
    records = [json.loads(line) for line in (folder / "store" / "runs.jsonl").read_text().splitlines()]
    ours = [one for one in records if one["method"] == "ours" and one["verifier"] in ("exact", "bisection")]
    assert {one["verifier"] for one in ours} == {"exact", "bisection"}
    assert all((one["size"], one["is_sufficient"]) == (one["smallest"], True) for one in ours)
    assert all(one["size"] >= one["smallest"] for one in records if one["method"] != "ours")
    with (folder / "pages" / "table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["Ours (Alg. 2 and 4)", "Lexicographic", "Sensitivity"]


def test_a_killed_run_goes_on_and_measures_nothing_twice(folder):
    runs = folder / "store" / "runs.jsonl"
    lines = runs.read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if json.loads(line)["method"] == "lexicographic")
    kept = [*lines[:place], *lines[place + 1 :]]
    runs.write_text("\n".join(kept) + "\n" + lines[place][:40] + "\n")  # a kill cut the last line short
    said = reproduce(folder, "table1")
    assert said.count("size ") == 1
    assert "lexicographic" in said
