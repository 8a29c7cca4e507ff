"""A question is compiled once for many rows, whatever the budget, and however it is written."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from suffice import AdditiveModel, AtLeast, Explainer, Feature, PiecewiseLinear
from suffice.batch import run
from suffice.batch.arrow import ArrowExplainer


@pytest.fixture
def explainer():
    shapes = [PiecewiseLinear([-1, 0, 2], [slope, 0, -slope]) for slope in (1, 2, 3)]
    return Explainer(AdditiveModel(shapes, 1, features=[Feature(name, deviation=2) for name in "abc"]))


@pytest.fixture
def compiled(monkeypatch):
    """The questions that were compiled, in order."""
    made, make_plan = [], run.make_plan

    def noted(model, question):
        made.append(question)
        return make_plan(model, question)

    monkeypatch.setattr(run, "make_plan", noted)
    return made


ROWS = np.random.default_rng(0).normal(size=(20, 3))


def test_an_equal_question_is_not_compiled_again(explainer, compiled):
    first = explainer.explain_batch(ROWS, 1)
    assert len(compiled) == 1
    for radius in (1, 1.0, "1", [1, 1, 1], {"a": 1, "b": 1, "c": 1}):
        assert explainer.explain_batch(ROWS, radius).to_arrow().equals(first.to_arrow())
    explainer.explain_batch(ROWS[:3], explainer.question(1), threads=1)
    assert len(compiled) == 1


def test_another_budget_is_no_other_question(explainer, compiled):
    explainer.explain_batch(ROWS, 1)
    for budget in ({"max_nodes": 0}, {"max_nodes": 5, "max_seconds": 1.5}, {"max_seconds": 0}):
        result = explainer.explain_batch(ROWS, 1, **budget)
        assert result.question == explainer.question(1, **budget)
    assert len(compiled) == 1


def test_another_question_is_compiled_and_the_first_kept(explainer, compiled):
    others = [{"unit": "raw"}, {"immutable": ["a"]}, {"claim": AtLeast(-1)}, {"fix": ["a"]}, {"max_changed": 1}]
    for options in ({}, *others):
        explainer.explain_batch(ROWS, 1, **options)
        explainer.explain_batch(ROWS, 1, **options)
    assert len(compiled) == 1 + len(others)
    explainer.explain_batch(ROWS, 2)
    explainer.explain_batch(ROWS, 1)
    assert [question.reach[0] for question in compiled] == [1, 1, 1, 1, 1, 1, 2]


def test_so_many_questions_are_kept_and_the_oldest_is_forgotten(explainer, compiled):
    for radius in range(1, 10):
        explainer.explain_batch(ROWS, radius)
    assert len(explainer.compiled.plans) == 8
    explainer.explain_batch(ROWS, 9)
    assert len(compiled) == 9
    explainer.explain_batch(ROWS, 1)
    assert len(compiled) == 10


def test_each_model_has_its_own(explainer, compiled):
    other = Explainer(explainer.model)
    for one in (explainer, other):
        one.explain_batch(ROWS, 1)
    assert len(compiled) == 2


def test_a_file_explainer_compiles_once_where_it_arrives(explainer, compiled, tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    explainer.model.save(tmp_path / "model.safetensors")
    explain = ArrowExplainer(tmp_path / "model.safetensors", explainer.question(1, unit="raw"))
    table = arrow.table({name: ROWS[:, i] for i, name in enumerate("abc")})
    expected = explainer.explain_batch(table, 1, unit="raw").to_arrow()
    for _ in range(2):
        assert explain(table).equals(expected)
    assert len(compiled) == 2  # one for the explainer, one for the file


def test_an_explainer_travels_to_another_process_after_a_batch(explainer, compiled):
    first = explainer.explain_batch(ROWS, 1)
    again = pickle.loads(pickle.dumps(explainer))
    assert again.explain_batch(ROWS, 1).to_arrow().equals(first.to_arrow())
    assert len(compiled) == 2


def test_a_table_without_rows_may_come_first_in_a_thread():
    explainer = Explainer(AdditiveModel([PiecewiseLinear([0, 1], [0, 1])] * 2, -1))
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(explainer.explain_batch, np.empty((0, 2)), 1, unit="raw", threads=1).result()
    assert len(result) == 0
