"""Tables to learn from."""

import datetime
import math

import pytest
from builders import sentence

from suffice.errors import DataError, FeatureNameError
from suffice.tables.reading import DataTable
from suffice.tables.training import training_data


def learn(x, y, **options):
    rows = tuple(zip(x, y, strict=True))
    return training_data(DataTable("t.csv", ("x", "y"), rows), "y", **options)


NO_YES = ["no", "yes"]
COLUMNS = [
    (["1", "0.5"], [1.0, 0.5]),
    ([1, 2.5], [1.0, 2.5]),
    (["red", "1e3"], ["red", "1e3"]),  # one name, so all are
    ([True, None], [True, None]),
    (["red", None], ["red", None]),
    (["Nan", "Inf"], ["Nan", "Inf"]),  # names of people, for all we know
]


@pytest.mark.parametrize(("cells", "read"), COLUMNS, ids=lambda v: None)
def test_a_column_is_numbers_or_names(cells, read):
    data = learn(cells, NO_YES)
    assert data.columns == {"x": read}
    assert data.names == (() if all(isinstance(one, float) for one in read) else ("x",))


def test_a_missing_number_is_nan():
    first, second = learn([None, "2"], NO_YES).columns["x"]
    assert (math.isnan(first), second) == (True, 2.0)
    assert learn([math.nan, None], NO_YES).names == ()


MANY = [str(k) for k in range(30)]
TARGETS = [
    (["a", "b"], {}, ["a", "b"], True),
    (["2", "1.0"], {}, [2, 1], True),
    ([True, False], {}, [True, False], True),
    (["1.5", "2"], {}, [1.5, 2.0], False),
    (["1.5", "2"], {"task": "classification"}, ["1.5", "2"], True),
    (["0", "1"], {"task": "regression"}, [0.0, 1.0], False),
    (MANY[:20], {}, list(range(20)), True),
    (MANY[:21], {}, [float(k) for k in range(21)], False),
    (MANY, {"task": "classification"}, list(range(30)), True),
    (["1", "many"], {}, ["1", "many"], True),
    (["9" * 30, "1"], {"task": "classification"}, ["9" * 30, "1"], True),  # too long to be told apart as a float
]


@pytest.mark.parametrize(("cells", "options", "target", "is_classification"), TARGETS, ids=lambda v: None)
def test_the_target_tells_the_task(cells, options, target, is_classification):
    data = learn(range(len(cells)), cells, **options)
    assert (data.target, data.is_classification) == (target, is_classification)
    assert [type(value) for value in data.target] == [type(value) for value in target]


UNFIT = [
    (["1", "2"], ["a", None], {}, "target 'y' is missing in row 1 .1 in all."),
    (["1", "2"], [math.nan, 1.0], {}, "target 'y' is missing in row 0"),
    (["1", "2"], ["a", "a"], {}, "target 'y' is a in every row"),
    (["1", "2"], ["1", "1.0"], {}, "target 'y' is 1 in every row"),
    (["1", "2"], ["1.5", "1.5"], {}, "target 'y' is 1.5 in every row"),
    ([], [], {}, "target 'y' has no rows"),
    (["1", "2"], ["a", "b"], {"task": "regression"}, "holds names, such as 'a'; a regression needs numbers"),
    (["1", "2"], ["a", "b"], {"drop": ["x"]}, "no column is left"),
    (["1", "2"], ["a", "b"], {"drop": ["y"]}, "the target 'y' is dropped"),
    ([*MANY, "?"], [*MANY, "1"], {}, r"column 'x' holds numbers, but in row 30 it is '\?'"),
    (["1", "nan"], ["a", "b"], {}, "in row 1 it is 'nan'; correct it, leave the cell empty"),
    ([1.0, math.inf], ["a", "b"], {}, "column 'x' is inf in row 1; give finite numbers"),
    ([datetime.date(2020, 1, 1)] * 2, ["a", "b"], {}, r"is datetime.date\(2020, 1, 1\) in row 0, neither a number"),
]


@pytest.mark.parametrize(("x", "y", "options", "words"), UNFIT, ids=lambda v: None)
def test_a_table_that_is_not_fit_to_learn_from(x, y, options, words):
    with pytest.raises(DataError, match=words) as error:
        learn(x, y, **options)
    sentence(error)


def test_columns_without_a_name_and_names_without_a_column():
    table = DataTable("t.csv", ("", "x", "y"), (("0", "1", "a"), ("1", "1", "b")))
    with pytest.raises(DataError, match="column 1 has no name"):
        training_data(table, "y")
    assert list(training_data(table, "y", drop=[""]).columns) == ["x"]
    for options in ({"target": "z"}, {"target": "y", "drop": ["z"]}):
        with pytest.raises(FeatureNameError, match="'z' is not a column"):
            training_data(table, **options)
