"""What each feature adds, against Shapley values by enumeration and averages by hand."""

from fractions import Fraction
from itertools import permutations

import pytest

from suffice import MISSING, AdditiveModel, Domain, Explainer, Feature, PairSteps, PiecewiseLinear, Steps, Table
from suffice.errors import ProfileError

pytest.importorskip("numba", reason="tables are read by compiled code")

NAMES = ["age", "late", "housing"]
FEATURES = [
    Feature("age", Domain.integers(0, 99), deviation=10),
    Feature("late", Domain.integers(0, 9) | Domain.codes(MISSING)),
    "housing",
]
SHAPES = [
    PiecewiseLinear([20, 60], [-1, "2/3"]),
    Table({MISSING: "1/7"}, otherwise=Steps([2], [1, -4])),
    Table({"own": "1/2", "rent": 0}),
]
ROWS = [[30, 0, "own"], [70, None, "rent"], [10, 5, "own"], [44, 2, "rent"]]
TWO = Explainer(AdditiveModel(SHAPES, "1/3", features=FEATURES, classes=["no", "yes"]))
VALUE = Explainer(AdditiveModel(SHAPES, "1/3", "regression", features=FEATURES))


def shapley(explainer, row, other):
    """Return the average change of the score as features go from one row to another, over all orders."""
    found = dict.fromkeys(NAMES, Fraction(0))
    orders = list(permutations(range(3)))
    for order in orders:
        at = list(other)
        for i in order:
            before = explainer.score(at)
            at[i] = row[i]
            found[NAMES[i]] += (explainer.score(at) - before) / len(orders)
    return found


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("other", ROWS)
def test_compared_with_a_row_they_are_its_shapley_values(row, other):
    sign = 1 if TWO.predict(row) == "yes" else -1
    found = TWO.contributions(row, other)
    assert found.values == {name: sign * value for name, value in shapley(TWO, row, other).items()}
    assert (found.base, found.score) == (sign * TWO.score(other), sign * TWO.score(row))
    assert VALUE.contributions(row, other).values == shapley(VALUE, row, other)


def test_compared_with_the_average_they_are_averages_of_those():
    table = [*ROWS, [200, 0, "own"]]  # the last one cannot be read, and does not count
    found = VALUE.contributions(ROWS[0], table=_frame(table))
    each = [shapley(VALUE, ROWS[0], other) for other in ROWS]
    assert found.values == {name: sum(one[name] for one in each) / len(ROWS) for name in NAMES}
    assert found.base == sum(VALUE.score(row) for row in ROWS) / len(ROWS)
    assert "the average of 4 rows, where the prediction is" in str(found)
    assert list(found.to_frame()["feature"]) == [one["features"][0] for one in found.document()["contributions"]]


def test_terms_over_two_features_are_told_apart():
    pairs = {("age", "late"): PairSteps([30], [1], [[0, 1], [2, 5]])}
    model = AdditiveModel([*SHAPES[:1], Steps([2], [1, -4])], 0, "regression", features=["age", "late"], pairs=pairs)
    explainer = Explainer(model)
    found = explainer.contributions([70, 1], [10, 0])
    assert found.values == {"age": Fraction(5, 3), "late": 0, ("age", "late"): 5}
    assert found.base + sum(found.values.values()) == found.score == explainer.score([70, 1])
    assert "age & late" in str(found)


def test_of_several_classes_the_score_of_the_predicted_one_counts():
    model = AdditiveModel(
        [Steps([1], [[0, 1, 2], [5, 0, 0]])], [0, 0, 1], "multiclass", features=["x"], classes=list("abc")
    )
    found = Explainer(model).contributions([3], [0])
    assert (found.prediction, found.values, found.base, found.score) == ("a", {"x": 5}, 0, 5)


def test_there_must_be_something_to_compare_with():
    with pytest.raises(ProfileError, match="'average' needs a table of rows"):
        TWO.contributions(ROWS[0])
    with pytest.raises(ProfileError, match="compared with 'average' or with a row, got 'typical'"):
        TWO.contributions(ROWS[0], "typical")
    with pytest.raises(ProfileError, match="the model can read no row of the table"):
        TWO.contributions(ROWS[0], table=_frame([[200, 0, "own"]]))


def _frame(rows):
    pandas = pytest.importorskip("pandas", reason="the table is a pandas one")
    return pandas.DataFrame([dict(zip(NAMES, row, strict=True)) for row in rows])
