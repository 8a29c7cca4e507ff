"""A row of a question that is asked often: decided by tables, told in exact numbers, the same as by the search."""

import contextlib
import copy

import numpy as np
import pytest
from awkward import preferences, questions
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice import Explainer, PiecewiseLinear, ProbabilityAtLeast, Same, Steps
from suffice.batch import one_row
from suffice.search.explain import explain


@pytest.fixture(autouse=True)
def _tables_at_once(monkeypatch):
    monkeypatch.setattr(one_row, "ASKED", 1)


def is_quick(why):
    return "_asked" in vars(why)


def outcome(ask):
    """What is answered, in full, or the error."""
    try:
        why = ask()
    except suffice.SufficeError as error:
        return type(error), str(error)
    return why.fixed, why.bound, why.caveat, why.status, why.prediction, why.document(), str(why), bool(why.proof)


def assert_same(explainer, rows, radius, **options):
    """Compare with the search; return how many rows the tables decided."""
    question = explainer.question(radius, unit="raw", **options)
    quick = 0
    for row in rows:
        with contextlib.suppress(suffice.SufficeError):
            quick += is_quick(explainer.explain(list(row), question))
        found = outcome(lambda row=row: explainer.explain(list(row), question))
        assert found == outcome(lambda row=row: explain(explainer.compiled, question, list(row)))
    return quick


@settings(max_examples=60)
@given(questions())
def test_answers_are_those_of_the_search(question):
    model, radius, claim, rows = question
    assert_same(Explainer(model), rows, radius, claim=claim)


@settings(max_examples=40)
@given(questions(), st.data())
def test_so_they_are_with_preferences(question, data):
    model, radius, claim, rows = question
    assert_same(Explainer(model), rows, radius, claim=claim, **data.draw(preferences(len(model.features))))


def drawn(rng, outputs=1, count=8):
    values = rng.normal(size=(count, 5, outputs)) if outputs > 1 else rng.normal(size=(count, 5))
    shapes = [PiecewiseLinear([-2, -1, 0, 1, 2], one.tolist()) for one in values]
    task = "multiclass" if outputs > 1 else "binary"
    return Explainer(suffice.AdditiveModel(shapes, [0.1] * outputs if outputs > 1 else 0.1, task))


@pytest.mark.parametrize("outputs", [1, 3])
def test_plain_rows_are_decided_by_tables(outputs):
    rng = np.random.default_rng(0)
    explainer = drawn(rng, outputs)
    rows = rng.normal(size=(60, 8))
    assert assert_same(explainer, rows, 0.5) > 50
    assert assert_same(explainer, rows, 0.5, cost={"x1": 2}, groups=[["x2", "x5"]]) > 40
    assert (assert_same(explainer, rows, 0.5, max_changed=2) > 50) == (outputs == 1)
    assert assert_same(explainer, rows, 0.5, norm=1) == 0  # in a ball the best set is not known


def test_rows_may_be_written_in_several_ways():
    rng = np.random.default_rng(1)
    explainer = drawn(rng)
    question, row = explainer.question(0.5, unit="raw"), rng.normal(size=8).astype(np.float32)
    names = explainer.model.names
    ways = [row, row.astype(np.float64), row.tolist(), tuple(row.tolist()), dict(zip(names, row.tolist(), strict=True))]
    answers = [explainer.explain(one, question) for one in ways]
    assert all(map(is_quick, answers))
    assert len({str(one) for one in answers}) == 1
    others = [[str(x) for x in row.tolist()], row.reshape(1, -1)[0][::1].astype(object)]
    assert not any(is_quick(explainer.explain(one, question)) for one in others)
    with pytest.raises(suffice.RowError):
        explainer.explain(row[:3], question)
    with pytest.raises(suffice.RowError):
        explainer.explain([*row.tolist()[:-1], float("inf")], question)


def test_what_is_read_later_is_of_the_row_that_was_asked_about():
    explainer = drawn(np.random.default_rng(2))
    question, row = explainer.question(0.5, unit="raw"), np.random.default_rng(3).normal(size=8)
    kept = row.copy()
    why = explainer.explain(row, question)
    row[:] = 0
    assert is_quick(why)
    assert why.document() == explain(explainer.compiled, question, kept).document()


def test_an_answer_that_has_not_been_read_can_be_copied_and_compared():
    explainer = drawn(np.random.default_rng(4))
    question, row = explainer.question(0.5, unit="raw"), np.random.default_rng(5).normal(size=8)
    why = explainer.explain(row, question)
    assert is_quick(why)
    assert str(copy.copy(why)) == str(why)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = why.nothing
    assert not hasattr(explain(explainer.compiled, question, row), "nothing")


def test_claims_with_numbers_that_are_not_rational_are_left_to_the_search():
    explainer = drawn(np.random.default_rng(6))
    question = explainer.question(0.1, unit="raw", claim=ProbabilityAtLeast(0.3))
    rows = np.random.default_rng(7).normal(size=(20, 8))
    found = []
    for row in rows:
        try:
            found.append(explainer.explain(row, question))
        except suffice.ClaimError:
            continue
    assert found
    assert not any(map(is_quick, found))


def test_tables_are_made_once_a_question_was_asked_often_enough(monkeypatch):
    monkeypatch.setattr(one_row, "ASKED", 3)
    explainer = Explainer(suffice.AdditiveModel([Steps([0], [-1, 2]), Steps([1], [0, 1])]))
    question, other = explainer.question(0.5, unit="raw"), explainer.question(0.5, unit="raw", claim=Same())
    assert [is_quick(explainer.explain([0.3, 0.2], question)) for _ in range(4)] == [False, False, True, True]
    assert not is_quick(explainer.explain([0.3, 0.2], other))  # each question for itself


def test_a_question_of_another_model_is_refused_each_time():
    explainer, other = drawn(np.random.default_rng(8)), drawn(np.random.default_rng(8), count=7)
    question = other.question(0.5, unit="raw")
    for _ in range(3):
        other.explain([0.0] * 7, question)
        with pytest.raises(suffice.OptionError):
            explainer.explain([0.0] * 8, question)
