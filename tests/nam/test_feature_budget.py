"""Models of few columns: which are chosen, that the others count for nothing, and what is refused."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')")
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from suffice import DataError, Explainer, load  # noqa: E402
from suffice.nam import NAMClassifier, NAMRegressor  # noqa: E402

QUICK = {"hidden_layers": (8,), "max_epochs": 4, "random_state": 0, "special_codes": {"months": [-9]}}
ROWS = 1500
TRUE = ("bump", "months", "town")


def wide(rows=ROWS):
    """Three columns that say something each of its own, one that repeats another with noise, and four of noise."""
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "noise": random.normal(size=rows),
            "bump": random.normal(size=rows),
            "months": random.choice([-9.0, 0, 1, 2, 3, np.nan], rows),
            "more noise": random.choice(["x", "y", "z"], rows),
            "town": random.choice(["north", "south", "east"], rows),
            "gaps": random.choice([1.0, 2.0, np.nan, -9.0], rows),
            "same": 4.0,
        }
    )
    score = 2.0 * (np.abs(table["bump"]) < 0.7) + 1.5 * (table["months"] == -9) + 1.2 * (table["town"] == "east") - 2
    table["echo"] = np.abs(table["bump"]) + random.normal(
        0, 0.6, rows
    )  # says the most after "bump", and nothing beside
    return table, score, random


def fitted(task, budget, **options):
    table, score, random = wide()
    if task == "regression":
        target = score + random.normal(0, 0.5, ROWS)
        return table, NAMRegressor(**QUICK | options, feature_budget=budget).fit(table, target)
    target = np.where(random.random(ROWS) < 1 / (1 + np.exp(-2 * score)), "yes", "no")
    if task == "multiclass":
        target = np.where((table["town"] == "south") & (random.random(ROWS) < 0.7), "other", target)
    return table, NAMClassifier(**QUICK | options, feature_budget=budget).fit(table, target)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_columns_that_say_something_of_their_own_are_chosen(task):
    _, nam = fitted(task, 3)
    assert nam.features_ == TRUE
    assert nam.network_.features == 3


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_columns_that_are_not_chosen_count_for_nothing(task, tmp_path):
    table, nam = fitted(task, 3, pairs=2, corrections=True)
    assert {name for pair in nam.pairs_ for name in pair} <= set(TRUE)
    nam.to_additive(domains="model").save(tmp_path / "model.safetensors")
    explainer, some = Explainer(load(tmp_path / "model.safetensors")), table.iloc[:25]
    theirs = nam.predict(some) if task == "regression" else nam.decision_function(some)
    ours = [np.ravel(explainer.score(row)).astype(float) for _, row in some.iterrows()]
    np.testing.assert_allclose(np.reshape(theirs, (len(some), -1)), ours, rtol=1e-10, atol=1e-10)
    mixed = some.assign(**{name: table[name].to_numpy()[100:125] for name in table if name not in TRUE})
    np.testing.assert_array_equal(nam.predict(mixed), nam.predict(some))
    if task != "regression":
        why = Explainer(nam).explain(table.iloc[0], radius=3)
        assert set(why.features) <= set(TRUE)


def test_a_model_of_chosen_columns_is_that_of_a_table_of_these_alone():
    table, score, random = wide()
    target = score + random.normal(0, 0.5, ROWS)
    few = NAMRegressor(**QUICK, feature_budget=3).fit(table, target)
    alone = NAMRegressor(**QUICK).fit(table[list(few.features_)], target)
    np.testing.assert_array_equal(few.predict(table), alone.predict(table[list(few.features_)]))


def test_a_budget_of_all_columns_changes_nothing():
    table, nam = fitted("regression", 8)
    assert nam.features_ == tuple(table.columns)
    _, plain = fitted("regression", None)
    np.testing.assert_array_equal(nam.predict(table), plain.predict(table))


def test_columns_of_named_pairs_are_chosen_and_directions_of_others_do_no_harm():
    _, nam = fitted("binary", 3, pairs=[("noise", "gaps")], monotone={"echo": 1, "bump": -1})
    assert nam.features_ == ("noise", "bump", "gaps")
    assert nam.pairs_ == (("noise", "gaps"),)
    explainer = Explainer(nam.to_additive())
    assert explainer.monotone("bump", "down", "yes")
    assert explainer.monotone("echo", "up", "yes")  # it does not move at all


@pytest.mark.parametrize("budget", [0, -1, 2.5, True, "5"])
def test_a_bad_budget_is_refused(budget):
    with pytest.raises(DataError, match="feature_budget must be None or a whole number from 1 up"):
        fitted("regression", budget)


def test_more_named_columns_than_the_budget_allows_are_refused():
    with pytest.raises(DataError, match="pairs names 3 columns and feature_budget allows 2"):
        fitted("regression", 2, pairs=[("noise", "gaps"), ("gaps", "bump")])


@pytest.mark.parametrize("rows", [1, 40])
def test_of_columns_that_do_not_vary_one_is_kept(rows):
    table = pandas.DataFrame({"a": 1.0, "b": 2.0}, index=range(rows))
    nam = NAMRegressor(**QUICK | {"special_codes": None}, feature_budget=1).fit(table, np.arange(float(rows)))
    assert nam.features_ == ("a",)
    assert len(set(nam.predict(table))) == 1
