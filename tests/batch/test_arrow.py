"""The snippets of docs/batch.md for Spark and Dask, where these are installed."""

import hashlib
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.batch.arrow import ArrowExplainer

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
    answers = suffice.Explainer(suffice.load("model.safetensors")).explain_batch(table, 0.5, unit="std").to_arrow()
    customers = arrow.array([f"c{k}" for k in rng.permutation(300)])
    return table.append_column("customer", customers), answers.add_column(0, "customer", customers)


def test_dask_gives_the_same(model):
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    table, expected = model
    scope = {"frame": dask.from_pandas(table.to_pandas(), npartitions=3)}
    exec(snippet("Dask"), scope)
    found = scope["explained"].compute(scheduler="sync")
    assert found["customer"].tolist() == expected["customer"].to_pylist()
    assert found["size"].tolist() == expected["size"].to_pylist()
    assert [list(names) for names in found["features"]] == expected["features"].to_pylist()


def test_polars_gives_the_same(model):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table, expected = model
    scope = {"frame": polars.from_arrow(table)}
    exec(snippet("Polars"), scope)
    assert scope["explained"].equals(polars.from_arrow(expected))


def test_the_schema_of_results_has_the_columns_that_are_carried_over(model):
    table, _ = model
    explain = ArrowExplainer("model.safetensors", 0.5, carry=["customer"])
    assert explain.schema_of(table.schema) == explain(table).schema
    with pytest.raises(suffice.DataError, match="no column 'customer' to carry over"):
        explain.schema_of(table.select(["a"]).schema)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Spark is not sure about the newest pandas
def test_spark_gives_the_same(model, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is missing: apt-get install default-jre-headless")
    table, expected = model
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate() as session:
        scope = {"frame": session.createDataFrame(table)}
        exec(snippet("Spark"), scope)
        found = scope["explained"].toArrow()
    assert found["customer"].to_pylist() == expected["customer"].to_pylist()
    assert found["size"].to_pylist() == expected["size"].to_pylist()
    assert found["features"].to_pylist() == expected["features"].to_pylist()


def test_the_function_can_be_sent_and_compiles_where_it_arrives(model):
    import pickle

    table, expected = model
    explain = pickle.loads(pickle.dumps(ArrowExplainer("model.safetensors", 0.5, unit="std", carry=["customer"])))
    assert explain._question is None
    assert explain(table).equals(expected)
    assert explain.schema_of(table.schema).equals(expected.schema)


def test_models_of_other_packages_can_be_sent_too(tmp_path):
    import json
    import pickle

    terms = [{"term_features": [name], "scores": [0.5, -1.0, 0.125, 2.0, 0.0]} for name in ("months", "age")]
    features = [{"name": name, "type": "continuous", "cuts": [[6.0, 12.5]]} for name in ("months", "age")]
    outputs = [{"task": "classification", "classes": ["bad", "good"], "link": "logit", "link_param": "nan"}]
    document = {"outputs": outputs, "intercept": [0.25], "features": features, "terms": terms}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"version": "1.0", "ebm": document}))
    table = arrow.table({"months": [1.0, 7.0, 13.0, None], "age": [1.0, 12.5, 6.0, 20.0]})
    explain = ArrowExplainer(path, 3, unit="raw")
    sent = pickle.loads(pickle.dumps(explain))
    assert sent(table).equals(explain(table))
    assert sent.model_hash == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_questions_that_differ_in_one_radius_of_many_are_not_taken_for_each_other(tmp_path):
    import pickle

    shape = suffice.PiecewiseLinear([0], [0], 1, 1)
    suffice.AdditiveModel([shape] * 1010, 0.5).save(tmp_path / "model.safetensors")
    row = arrow.table({f"x{i}": [0.0] for i in range(1010)})
    radii = np.zeros(1010)
    sizes = []
    for one in (0.0, 1.0):
        radii[500] = one
        explain = ArrowExplainer(tmp_path / "model.safetensors", radii.copy(), unit="raw")
        sizes.append(pickle.loads(pickle.dumps(explain))(row)["size"].to_pylist())
    assert sizes == [[0], [1]]
