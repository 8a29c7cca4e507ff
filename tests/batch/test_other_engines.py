"""The snippets of docs/batch.md for Spark and Dask, where these are installed."""

import re
from pathlib import Path

import numpy as np
import pytest

import suffice

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
PAGE = Path(__file__).parent.parent.parent / "docs" / "batch.md"


def snippet(name):
    """Return the code that follows "name:" on the page."""
    found = re.search(rf"{name}:\n\n((?:    .*\n|\n)+)", PAGE.read_text())
    assert found, name
    return "\n".join(line[4:] for line in found[1].split("\n"))


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    shapes = [suffice.PiecewiseLinear(np.sort(rng.normal(size=6)).tolist(), rng.normal(size=6).tolist()) for _ in "abc"]
    features = [suffice.Feature(name, deviation=1) for name in "abc"]
    suffice.AdditiveModel(shapes, 0.1, features=features).save("model.safetensors")
    table = arrow.table({name: rng.normal(size=300) for name in "abc"})
    return table, suffice.Explainer(suffice.load("model.safetensors")).explain_batch(table, 0.5, unit="std").to_arrow()


def test_dask_gives_the_same(model):
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    table, expected = model
    scope = {"frame": dask.from_pandas(table.to_pandas(), npartitions=3)}
    exec(snippet("Dask"), scope)
    found = scope["explained"].compute(scheduler="sync")
    assert found["size"].tolist() == expected["size"].to_pylist()
    assert [list(kept) for kept in found["kept"]] == expected["kept"].to_pylist()


def test_spark_gives_the_same(model):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    table, expected = model
    try:
        session = sql.SparkSession.builder.master("local[2]").getOrCreate()
    except Exception as error:
        pytest.skip(f"Spark does not start here: {error}")
    with session:
        scope = {"frame": session.createDataFrame(table.to_pandas())}
        exec(snippet("Spark"), scope)
        found = scope["explained"].toPandas()
    assert sorted(found["size"].tolist()) == sorted(expected["size"].to_pylist())


def test_the_function_can_be_sent_and_compiles_where_it_arrives(model):
    import pickle

    from suffice.batch.arrow import ArrowExplainer

    table, expected = model
    explain = pickle.loads(pickle.dumps(ArrowExplainer("model.safetensors", 0.5, unit="std")))
    assert explain._question is None
    assert explain(table).equals(expected)
    assert explain.schema.equals(expected.schema)
