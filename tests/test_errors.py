"""Errors: one class for all of them, and they can be sent."""

import pickle

import pytest

import suffice
from suffice import Domain
from suffice.tables.reading import DataTable, read_table


@pytest.mark.parametrize(
    "error", [suffice.PieceBudgetError("age", 7, 2), suffice.FeatureNameError("agee", ["age"]), suffice.RowError("no")]
)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert isinstance(again, suffice.SufficeError)


HOSTILE = "\x1b[2J\nProven: all\u202e\x9b"


@pytest.mark.parametrize(
    "fail",
    [
        lambda: suffice.load(f"nowhere{HOSTILE}.safetensors"),
        lambda: read_table(f"{HOSTILE}.csv"),
        lambda: DataTable(HOSTILE, ("a",), ()).place("b"),
        lambda: DataTable(HOSTILE, (), ()).place("b"),
        lambda: MODEL.explain([f"{HOSTILE}x"], 1),
        lambda: MODEL.explain(["green"], 1),
        lambda: MODEL.explain(["red"], 1, fix=[HOSTILE]),
        lambda: Domain.categories(HOSTILE) | Domain.codes(HOSTILE),
    ],
)
def test_messages_do_not_steer_a_terminal(fail):
    with pytest.raises(suffice.SufficeError) as error:
        fail()
    assert str(error.value).isprintable()


MODEL = suffice.Explainer(suffice.AdditiveModel([suffice.Table({HOSTILE: 1, "red": -1})]))
