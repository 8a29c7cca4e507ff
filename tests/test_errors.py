"""Errors: one class for all of them, and they can be sent."""

import pickle

import pytest

import suffice


@pytest.mark.parametrize(
    "error", [suffice.PieceBudgetError("age", 7, 2), suffice.FeatureNameError("agee", ["age"]), suffice.RowError("no")]
)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert isinstance(again, suffice.SufficeError)
