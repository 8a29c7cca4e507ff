"""Preferences that cannot be met, or name what is not there."""

import pytest
from builders import drop_model

import suffice

BAD = [
    ({"fix": ["x0"], "free": ["x0"]}, "'x0' is named both in fix and in free"),
    ({"fix": ["x0"], "free": ["x1"], "groups": {"g": ["x0", "x1"]}}, "the group 'g' is named both in fix and in free"),
    ({"groups": {"g": []}}, "the group 'g' is empty"),
    ({"groups": {"g": ["x0"], "h": ["x0", "x1"]}}, "'x0' is in the groups 'g' and 'h'"),
    ({"groups": {"x1": ["x0", "x2"]}}, "the name 'x1' is taken"),
    ({"groups": "x0"}, "groups must be lists of features"),
    ({"cost": {"x0": 0}}, "the cost of 'x0' is 0; it must be above 0"),
    ({"cost": {"x0": "dear"}}, "the cost of 'x0': 'dear' is not a number"),
    ({"cost": {"x0": 1}, "groups": {"g": ["x0", "x1"]}}, "'x0' is in the group 'g'"),
    ({"cost": [1, 2]}, "cost must be a mapping"),
    ({"free": ["x0", "x1"]}, r"'x0', 'x1' cannot all be free: together they can lower the margin of 4 by 5"),
    ({"max_changed": 0}, "max_changed must be a whole number of features, 1 or more, got 0"),
]


@pytest.mark.parametrize(("wishes", "words"), BAD, ids=range(len(BAD)))
def test_preferences_that_cannot_be_met(wishes, words):
    with pytest.raises(suffice.PreferenceError, match=words):
        drop_model(3, 2, 2, margin=4).explain(["a"] * 3, 1, unit="raw", **wishes)


def test_unknown_names_in_preferences():
    for wishes in ({"fix": ["y"]}, {"free": ["y"]}, {"groups": [["y"]]}, {"cost": {"y": 1}}):
        with pytest.raises(suffice.FeatureNameError, match="'y' is not a feature"):
            drop_model(1, margin=4).explain(["a"], 1, unit="raw", **wishes)
