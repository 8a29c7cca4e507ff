import numpy as np
import pytest

import suffice
from suffice import Explainer, PiecewiseLinear
from suffice.batch.run import batch_question
from suffice.cli.demo import embedded_files


@pytest.fixture(scope="module")
def demo():
    with embedded_files() as (model, rows):
        explainer = Explainer(suffice.load(model))
        names = explainer.model.names
        cells = np.genfromtxt(rows, delimiter=",", names=True, dtype=None, encoding="utf-8")
        base = np.array(
            [[float(row[k + 1 if len(row) > len(names) + 1 else k]) for k in range(len(names))] for row in cells]
        )
    return explainer, base


def perturbed(base, count):
    return base[np.arange(count) % len(base)] * np.random.default_rng(0).lognormal(0, 0.1, (count, base.shape[1]))


def test_rows_of_a_trained_model_are_settled_by_bounds_and_equal_those_of_one_row(demo):
    explainer, base = demo
    rows = perturbed(base, 1500)
    result = explainer.explain_batch(rows, radius=0.5, unit="std", immutable=["mean texture"])
    assert not result.was_exact.any()
    for k in range(0, 1500, 50):
        why = explainer.explain(rows[k], radius=0.5, unit="std", immutable=["mean texture"])
        assert (result.fixed_of(k), result.predictions[k], result.statuses[k]) == (why.fixed, why.prediction, "proven")
        assert result.features_of(k) == why.features


def test_the_number_of_threads_changes_nothing(demo):
    explainer, base = demo
    rows = perturbed(base, 9000)
    question = batch_question(explainer.compiled, explainer.question(0.3, unit="std"))
    one, two, five = (question.answer(rows, threads=t).to_arrow() for t in (1, 2, 5))
    assert one.equals(two)
    assert one.equals(five)


def test_columns_and_summaries_agree(demo):
    explainer, base = demo
    rows = perturbed(base, 300)
    rows[7, 3] = np.nan
    result = explainer.explain_batch(rows, radius=0.5, unit="std")
    assert result.failed_rows.tolist() == result.exact_rows.tolist() == [7]
    assert "mean area" in result.messages[7]
    assert sum(result.size_counts.values()) == 299
    assert result.fixed_mask.sum(axis=1).tolist() == np.maximum(result.sizes, 0).tolist()
    assert result.times_fixed == dict(zip(explainer.model.names, result.fixed_mask.sum(axis=0).tolist(), strict=True))
    for k in (0, 1, 2, 299):
        assert tuple(result.order[k][: result.sizes[k]].tolist()) == result.fixed_of(k)
        assert (result.order[k][result.sizes[k] :] == -1).all()
    table = result.to_arrow()
    assert table["status"].to_pylist()[7] == "failed"
    assert [table[name].to_pylist()[7] for name in ("prediction", "size", "lower_bound", "margin")] == [None] * 4
    assert table["features"].to_pylist()[:3] == [list(result.features_of(k)) for k in range(3)]
    assert table["path"].to_pylist().count("exact") == 1


def test_rows_without_freedom_are_named():
    steep = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    result = Explainer(suffice.AdditiveModel([steep, steep], 0)).explain_batch(
        np.array([[1.0, 1.5], [90.0, 9]]), radius=5, unit="raw"
    )
    assert result.rows_without_freedom.tolist() == [0]


def test_no_rows_give_an_empty_result(demo):
    explainer, base = demo
    result = explainer.explain_batch(base[:0], radius=1, unit="raw")
    assert len(result) == 0
    assert result.to_arrow().num_rows == 0
    assert result.size_counts == {}


def test_regressions_come_with_errors():
    shape = PiecewiseLinear([0, 1], [0.1, 0.7], right_slope=3)
    explainer = Explainer(suffice.AdditiveModel([shape, shape], 0.2, "regression"))
    rows = np.random.default_rng(1).normal(size=(200, 2))
    result = explainer.explain_batch(rows, radius=0.5, claim=suffice.AtLeast(-5), unit="raw")
    assert not result.was_exact.any()
    for k in range(0, 200, 20):
        assert abs(explainer.predict(rows[k]) - suffice.Explainer.predict(explainer, rows[k])) == 0
        assert abs(float(explainer.predict(rows[k])) - result.predictions[k]) <= 2 * result.prediction_errors[k]
    assert (result.prediction_errors < 1e-13).all()
    assert "prediction_error" in result.to_arrow().column_names
