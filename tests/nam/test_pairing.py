"""Terms over two columns of trained models: which are found, what they say, and that they are exact."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')")
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from suffice import DataError, Explainer, load  # noqa: E402
from suffice.gam.hats import Grid, Hats, design  # noqa: E402
from suffice.gam.purifying import purify  # noqa: E402
from suffice.nam import NAMClassifier, NAMRegressor  # noqa: E402

QUICK = {"hidden_layers": (8,), "max_epochs": 4, "random_state": 0, "special_codes": {"months": [-9]}}
ROWS = 2100
TRUE = {("a", "b"), ("months", "town"), ("town", "home")}


def mixed(rows=ROWS, seed=0):
    """Numbers, codes and gaps, categories; and a score of which three pairs say most."""
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "a": random.normal(size=rows),
            "b": random.normal(size=rows),
            "months": random.choice([-9.0, 0, 1, 2, 3, np.nan], rows),
            "town": random.choice(["north", "south", "east"], rows),
            "home": random.choice(["own", "rent"], rows),
        }
    )
    score = 1.5 * table["a"] * table["b"] + 2.0 * ((table["months"] == -9) & (table["town"] == "east")) - table["a"]
    return table, score + 2.0 * ((table["home"] == "own") & (table["town"] == "north")), random


def fitted(task, pairs, **options):
    table, score, random = mixed()
    if task == "regression":
        return table, NAMRegressor(**QUICK, pairs=pairs, **options).fit(table, score + random.normal(0, 0.2, ROWS))
    target = np.where(random.random(ROWS) < 1 / (1 + np.exp(-2 * score)), "yes", "no")
    if task == "multiclass":
        target = np.where(table["b"] > 1, "other", target)
    return table, NAMClassifier(**QUICK, pairs=pairs, **options).fit(table, target)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_exact_model_scores_as_the_estimator_does(task, tmp_path):
    every_kind = [("b", "a"), ("months", "town"), ("town", "home"), ("months", "a"), ("home", "a")]
    table, nam = fitted(task, every_kind, corrections=True)
    assert {frozenset(pair) for pair in nam.pairs_} == {frozenset(pair) for pair in every_kind}
    model = nam.to_additive(domains="model")
    model.save(tmp_path / "model.safetensors")
    some, explainer = table.iloc[:25], Explainer(load(tmp_path / "model.safetensors"))
    theirs = nam.predict(some) if task == "regression" else nam.decision_function(some)
    ours = [np.ravel(explainer.score(row)).astype(float) for _, row in some.iterrows()]
    np.testing.assert_allclose(np.reshape(theirs, (len(some), -1)), ours, rtol=1e-10, atol=1e-10)


def test_pairs_that_say_something_are_found_and_explained():
    _, nam = fitted("regression", "auto")
    assert set(nam.pairs_) == TRUE
    held, score, _ = mixed(500, seed=1)
    _, alone = fitted("regression", 0)
    assert alone.pairs_ == ()
    assert alone.score(held, score) < 0.5 < 0.9 < nam.score(held, score)
    _, classifier = fitted("binary", 1)
    assert set(classifier.pairs_) < TRUE
    why = Explainer(classifier).explain(held.iloc[0], radius=0.3)
    assert why.status.value == "proven"
    assert len(why.model.pairs) == 1


def test_pairs_of_wide_columns_stay_where_explanations_shall_be_short():
    _, nam = fitted("regression", "auto", explanation_radius=0.5, explanation_weight=0.003)
    assert ("a", "b") in nam.pairs_


def test_noise_gets_no_pairs():
    random = np.random.default_rng(0)
    for rows in (300, 2400):
        table = pandas.DataFrame(random.normal(size=(rows, 4)), columns=list("abcd"))
        options = QUICK | {"special_codes": None}
        assert NAMClassifier(**options, pairs="auto").fit(table, random.random(rows) < 0.5).pairs_ == ()


def test_what_a_pair_says_of_one_column_is_in_its_shape():
    table, nam = fitted("regression", [("a", "b")])
    numbers, slots = nam._encode(nam._read_table(table, is_new=False))
    (grid,), (surface,) = nam.corrections_.grids, nam.corrections_.surfaces
    shares = []
    for axis, k in zip(grid.axes, grid.columns, strict=True):
        places, upper = axis.locate(numbers[:, k], slots[:, k])
        share = np.zeros((len(table), axis.size))
        share[np.arange(len(table)), places] += 1 - upper
        share[np.arange(len(table)), np.minimum(places + 1, axis.size - 1)] += upper
        shares.append(share)
    values = surface[:, 0].reshape(grid.axes[0].size, -1)
    mass = shares[0].T @ shares[1]
    assert np.abs(values).max() > 1  # it says much of both together,
    for axis in (0, 1):  # and next to nothing of either alone
        weighted = (values * mass).sum(axis=axis) / mass.sum(axis=axis)
        assert np.abs(weighted[mass.sum(axis=axis) > ROWS / 100]).max() < 0.05


def test_purifying_changes_no_sum():
    random = np.random.default_rng(0)
    table, mass = random.normal(size=(5, 4)), random.integers(0, 9, (5, 4)).astype(float)
    left, rows, columns = purify(table, mass)
    np.testing.assert_allclose(left + rows[:, None] + columns, table, atol=1e-9)
    weights = mass + 1e-3 * mass.mean()
    assert np.abs((left * weights).sum(axis=0)).max() < 1e-6
    assert np.abs((left * weights).sum(axis=1)).max() < 1e-6


def test_the_same_state_gives_the_same_pairs():
    one, other = (fitted("binary", "auto")[1].corrections_ for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one.surfaces, other.surfaces, strict=True))


@pytest.mark.parametrize("pairs", ["auto", 2])
def test_a_table_without_two_columns_to_pair_gets_no_pairs(pairs):
    table, score, _ = mixed(60)
    for names in ([], ["a"]):
        assert NAMRegressor(**QUICK, pairs=pairs).fit(table[names].assign(months=[-9.0, 1.0] * 30), score).pairs_ == ()
    monotone = NAMRegressor(**QUICK | {"special_codes": None}, pairs=pairs, monotone={"a": 1, "b": 1})
    assert monotone.fit(table[["a", "b"]], score).pairs_ == ()


@pytest.mark.parametrize("pairs", ["auto", 2])
def test_monotone_columns_alone_get_no_pairs(pairs):
    table, score, _ = mixed(60)
    nam = NAMRegressor(**QUICK | {"special_codes": None}, pairs=pairs, monotone={"a": 1, "b": -1})
    assert nam.fit(table[["a", "b"]], score).pairs_ == ()


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ("many", "'auto', a number from 0 up or a list"),
        (-1, "'auto', a number from 0 up or a list"),
        (True, "'auto', a number from 0 up or a list"),
        ([("a", "c")], "names the column 'c'"),
        ([("a", "a")], "a pair is two names"),
        (["ab"], "a pair is two names"),
        ([("a", "town"), ("town", "a")], "is listed twice"),
        ([("flat", "a")], "do not vary"),
        ([("home", "b")], "shall be monotone"),
    ],
)
def test_bad_pairs_get_a_sentence(pairs, words):
    table, score, _ = mixed(60)
    nam = NAMRegressor(**QUICK, pairs=pairs, monotone={"b": 1})
    with pytest.raises(DataError, match=words):
        nam.fit(table.assign(flat=1.0), score)


def test_a_surface_at_other_knots_says_the_same_where_it_can():
    random, slots = np.random.default_rng(0), 2
    coarse = Grid((0, 1), (Hats(np.array([-1.0, 0.5, 2.0]), 0, slots), Hats(np.array([0.0, 1.0]), slots, 0)))
    fine = Grid((0, 1), (Hats(np.array([-1.0, 0.0, 0.5, 1.5, 2.0]), 0, slots), Hats(np.linspace(0, 1, 4), slots, 0)))
    values = random.normal(size=(coarse.size, 3))
    numbers = np.stack([random.uniform(-2, 3, 200), random.uniform(-1, 2, 200)], axis=1)
    places = np.stack([random.integers(-1, slots, 200), np.full(200, -1)], axis=1)
    before, after = (
        design([], numbers, places, [], [grid]) @ at
        for grid, at in ((coarse, values), (fine, fine.resampled(coarse, values)))
    )
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_a_sharp_corner_of_two_columns_gets_finer_knots():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.uniform(-1, 1, (6000, 2)), columns=["a", "b"])
    target = np.sign(np.sin(14 * table["a"]) * np.sin(14 * table["b"])) + random.normal(0, 0.1, 6000)
    options = QUICK | {"special_codes": None}
    (grid,) = NAMRegressor(**options, pairs=1).fit(table, target).corrections_.grids
    assert min(axis.size for axis in grid.axes) > 50
    (grid,) = NAMRegressor(**options, pairs=1).fit(table, table["a"] * table["b"]).corrections_.grids
    assert max(axis.size for axis in grid.axes) < 20


def test_the_penalty_for_long_explanations_acts_on_lines_and_surfaces():
    table, *_ = mixed()
    numbers = table.assign(town="north", home="own")
    words = table.assign(a=0.0, b=0.0, months=0.0)
    widths, surfaces, swings = [], [], []
    for weight in (0.0, 0.03, 0.3):
        _, nam = fitted("binary", sorted(TRUE), explanation_radius=0.5, explanation_weight=weight)
        assert set(nam.pairs_) == TRUE
        widths.append(nam.explanation_width_)
        surfaces.append([np.abs(surface).max() for surface in nam.corrections_.surfaces])
        swings.append([nam.decision_function(part).std() for part in (numbers, words)])
    assert widths[0] > widths[1] > 1.5 * widths[2]
    assert (np.array(surfaces[0]) > 2 * np.array(surfaces[2])).all()  # of numbers, of categories, and of both
    assert (np.array(swings[0]) > 2 * np.array(swings[2])).all()


def test_where_nothing_can_move_a_surface_is_not_pulled():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.integers(0, 4, (2400, 2)).astype(float), columns=["a", "b"])
    target = random.random(2400) < np.where(table["a"] == table["b"], 0.9, 0.2)
    plain, short = (
        NAMClassifier(**QUICK | {"special_codes": None}, pairs=1, explanation_radius=0.5, explanation_weight=weight)
        .fit(table, target)
        .decision_function(table)
        for weight in (0.0, 0.3)  # half a standard deviation of 0 to 3 reaches no other whole number
    )
    assert plain.std() > 1
    np.testing.assert_allclose(short, plain, atol=0.3)
