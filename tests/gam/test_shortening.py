"""Fitting for short explanations: what is left out, what steps cost, and weights tried without fitting again."""

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

pandas = pytest.importorskip("pandas", reason="tables come from pandas (pip install 'suffice[gam]')")
pytest.importorskip("sklearn", reason="additive models are trained with scikit-learn (pip install 'suffice[gam]')")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from sklearn.base import clone  # noqa: E402

from suffice import AtLeast, DataError, Explainer  # noqa: E402
from suffice.gam import GAMClassifier, GAMRegressor, choose_explanation_weight  # noqa: E402
from suffice.gam.curves import logistic_curve, squared_curve  # noqa: E402
from suffice.gam.hats import Grid, Hats  # noqa: E402
from suffice.gam.normal import Blocked, Dense, NormalEquations  # noqa: E402
from suffice.gam.shortening import Shortening  # noqa: E402
from suffice.gam.solving import Data, Lines, Pulls, Wishes  # noqa: E402
from suffice.gam.surfaces import _Search  # noqa: E402
from suffice.question.claims import SAME  # noqa: E402


def mixed(rows=300, seed=0):
    """A table whose first columns say much, with an ordered one, and others that say next to nothing."""
    random = np.random.default_rng(seed)
    grades = ["low", "middle", "high", "top"]
    table = pandas.DataFrame(
        {
            "x": random.normal(size=rows),
            "z": random.integers(0, 9, rows).astype(float),
            "grade": pandas.Categorical(random.choice(grades, rows), grades, ordered=True),
            "town": pandas.Categorical(random.choice(["north", "south", "east"], rows)),
        }
        | {f"noise {k}": random.normal(size=rows) for k in range(3)}
    )
    table.loc[::9, "x"] = -9.0
    score = np.where(table["x"] == -9, 1.0, 2 * np.sin(2 * table["x"])) + 0.3 * table["z"] - 1.5
    score += table["grade"].cat.codes * 0.7 * np.where(table["z"] > 4, 1, -1) + 0.1 * (table["town"] == "east")
    return table, score.to_numpy(), random


def target_of(task, score, random):
    if task == "regression":
        return 50 + 10 * score + random.normal(size=len(score))
    noisy = score + random.logistic(size=len(score)) / 2
    return np.digitize(noisy, [0] if task == "binary" else [-1, 1])


# --- what is left out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_columns_that_say_little_are_left_out_and_are_in_no_explanation(kind):
    table, score, random = mixed(600)
    target = target_of(kind, score, random)
    estimator = GAMRegressor if kind == "regression" else GAMClassifier
    fitted = estimator(special_codes=[-9], explanation_radius=0.5).by_weight(table, target)
    free, short = fitted(0.0), fitted(0.03)
    shown = [[np.ptp(line) > 0 for line in model.terms_.values] for model in (free, short)]
    assert all(shown[0])
    assert not any(shown[1][4:])
    assert shown[1][0]
    claim = SAME if kind == "binary" else AtLeast(float(short.predict(table.iloc[[1]])[0]) - 5)
    why = Explainer(short).explain(table.iloc[1], 0.5, claim=claim)
    assert all(why.drops[name] == 0 for name in table.columns[4:])
    assert len(short.pairs_) == len(short.terms_.grids) <= len(free.pairs_)


def test_a_surface_that_is_left_out_is_no_pair_of_the_model():
    table, score, random = mixed()
    gam = GAMClassifier(pairs=[("noise 0", "noise 1")], explanation_radius=0.5)
    fitted = gam.by_weight(table, target_of("binary", score, random))
    assert fitted(0.0).pairs_ == (("noise 0", "noise 1"),)
    short = fitted(0.03)
    assert short.pairs_ == ()
    assert not short.to_additive().pairs


@pytest.mark.parametrize(
    ("curve", "has_surface", "weight"),
    [(logistic_curve, False, 0.05), (squared_curve, False, 0.12), (logistic_curve, True, 0.12)],
)
def test_the_objective_falls_and_what_is_left_out_stays_out(curve, has_surface, weight):
    """The objective is computed anew, by plain sums; leaving columns out makes it smaller than Newton steps alone."""
    random, rows = np.random.default_rng(1), 250
    numbers = random.uniform(-1, 1, (rows, 5))
    targets = 1.0 * (3 * numbers[:, 0] + 0.2 * numbers[:, 1:].sum(axis=1) + random.normal(size=rows) > 0)
    data = Data(numbers, np.full((rows, 5), -1), targets, np.ones(rows), np.zeros((rows, 1)))
    hats = [Hats(np.linspace(-1, 1, 7), 0, 0)] * 5
    grids = [Grid((0, 1), (hats[0], hats[1]))] if has_surface else []
    size = 35 + 49 * has_surface
    lines = Lines(hats, np.zeros((size, 1)), range(5), grids)
    wishes = Wishes({}, [0.4] * 5, weight, {}, {})
    pulls = Pulls(lines, data, wishes)
    penalty = scipy.sparse.identity(size, format="csr") * 0.1

    def objective(intercept, values):
        scores = intercept + np.zeros(rows)
        for k in range(5):
            scores = scores + np.interp(numbers[:, k], hats[k].knots, values[7 * k : 7 * k + 7, 0])
        for row in range(rows if has_surface else 0):
            cells = values[35:, 0].reshape(7, 7)
            along = [np.interp(numbers[row, 1], hats[1].knots, line) for line in cells]
            scores[row] += np.interp(numbers[row, 0], hats[0].knots, along)
        loss = np.log1p(np.exp(scores)) - targets * scores if curve is logistic_curve else (scores - targets) ** 2
        return loss.sum() + 0.05 * float(np.sum(values**2)) + rows * pulls.cost(values)

    start = 0.3 * random.normal(size=(size, 1))
    shortening = Shortening(lines, data, curve, penalty, pulls)
    found = shortening.run(np.zeros(1), start)
    assert objective(*found) < objective(np.zeros(1), start)
    promising = shortening._promising
    shortening._promising = lambda found: [[0], *promising(found)]  # column 0 says most, and is tried first
    misled = shortening.run(np.zeros(1), start)
    shortening._pruned = lambda found: found
    without = shortening.run(np.zeros(1), start)
    assert objective(*found) < objective(*without)
    found, misled, without = (
        [not values[7 * k : 7 * k + 7].any() for k in range(5)] for _, values in (found, misled, without)
    )
    assert not any(without)
    assert any(found)
    assert not found[0]
    assert misled == found


def test_what_does_not_pay_keeps_nothing_else_from_being_left_out():
    """The first column promises most, and is worth keeping; the others are left out as if it had promised nothing."""
    random, rows = np.random.default_rng(1), 250
    numbers = random.uniform(-1, 1, (rows, 5))
    targets = 1.0 * (3 * numbers[:, 0] + 0.2 * numbers[:, 1:].sum(axis=1) + random.normal(size=rows) > 0)
    data = Data(numbers, np.full((rows, 5), -1), targets, np.ones(rows), np.zeros((rows, 1)))
    lines = Lines([Hats(np.linspace(-1, 1, 7), 0, 0)] * 5, np.zeros((35, 1)), range(5))
    pulls = Pulls(lines, data, Wishes({}, [0.4] * 5, 0.015, {}, {}))
    shortening = Shortening(lines, data, logistic_curve, scipy.sparse.identity(35, format="csr") * 0.1, pulls)
    start, promising = 0.3 * random.normal(size=(35, 1)), shortening._promising

    def is_left_out():
        _, values = shortening.run(np.zeros(1), start)
        return [not values[7 * k : 7 * k + 7].any() for k in range(5)]

    plain = is_left_out()
    shortening._promising = lambda found: [[0], *(one for one in promising(found) if one != [0])]
    assert is_left_out() == plain
    assert any(plain)
    assert not plain[0]


@pytest.mark.parametrize("is_dense", [True, False])
def test_what_a_loss_grows_by_without_some_values(is_dense):
    """Against the quadratic's minimum with these values held at 0, others free (dense) or as they are (blocks)."""
    random = np.random.default_rng(0)
    design = scipy.sparse.csr_matrix(random.normal(size=(40, 9)))
    equations = NormalEquations(design, [0, 1, 5, 9])
    weights, fixed = random.uniform(0.5, 2, 40), scipy.sparse.identity(9, format="csr") * 0.3
    equations.is_dense, nothing = is_dense, scipy.sparse.csr_matrix((9, 9))
    if not is_dense:
        equations.blocks = [design[:, a:b] for a, b in [(0, 1), (1, 5), (5, 9)]]
    solved = equations.curvature(weights).penalised(1.0, fixed, nothing)
    assert isinstance(solved, Dense if is_dense else Blocked)
    whole = design.T.toarray() @ np.diag(weights) @ design.toarray() + 0.3 * np.eye(9)
    values, places = random.normal(size=9), np.arange(1, 5)
    others = np.setdiff1d(np.arange(9), places)
    # Moves m with m = -values at these places that minimise m'Hm/2.
    move = -values.copy()
    if is_dense:
        move[others] = -np.linalg.solve(whole[np.ix_(others, others)], whole[np.ix_(others, places)] @ move[places])
        expected = 0.5 * move @ whole @ move
    else:  # but for a level, which the intercept makes up for
        own = whole[np.ix_(places, places)]
        expected = min(0.5 * (values[places] - c) @ own @ (values[places] - c) for c in np.linspace(-3, 3, 60001))
    assert solved.loss_without(places, values) == pytest.approx(expected, rel=1e-6)


# --- what steps cost ----------------------------------------------------------------------------------------------


@given(st.integers(2, 6), st.integers(0, 5), st.integers(0, 10**6))
def test_ordered_categories_move_by_rank(count, by, seed):
    """Widths of a line and of a surface are what steps within each row's ranks add up to, row by row."""
    random = np.random.default_rng(seed)
    by, rows = min(by, count - 1), 30
    hats = [Hats(np.zeros(0), 0, count + 1), Hats(np.array([-1.0, 1.0]), count + 1, 0)]
    lines = Lines(hats, np.zeros((3 * (count + 1) + 2, 1)), range(2), [Grid((0, 1), tuple(hats))])
    slots = np.stack([random.integers(0, count + 1, rows), np.full(rows, -1)], axis=1)  # the last one is missing
    numbers = np.stack([np.zeros(rows), random.uniform(-1, 1, rows)], axis=1)
    data = Data(numbers, slots, np.zeros(rows), np.ones(rows), np.zeros((rows, 1)))
    places = {0: np.arange(count)}
    values = random.normal(size=(3 * (count + 1) + 2, 1))
    line, surface = values[: count + 1, 0], values[count + 3 :, 0].reshape(count + 1, 2)
    reached = {rank: range(max(rank - by, 0), min(rank + by, count - 1)) for rank in range(count)} | {count: ()}
    widths = []
    for (rank, _), (_, number) in zip(slots.tolist(), numbers.tolist(), strict=True):
        share = (number + 1) / 2
        steps = [abs(line[s + 1] - line[s]) for s in reached[rank]]
        for s in reached[rank]:
            low, high = np.abs(surface[s + 1] - surface[s])
            steps.append((1 - share) * low + share * high)
        widths.append(sum(steps))
    pulls = Pulls(lines, data, Wishes({}, [0.0, 0.0], 0.1, places, {0: by}))
    assert pulls.widths(values)[0] == pytest.approx(np.mean(widths), abs=1e-12)


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_a_missing_cell_stays_and_at_radius_zero_all_categories_do(radius):
    """A town may become any other where it is known; beside each, a surface counts as the rows lie along the other."""
    random = np.random.default_rng(0)
    hats = [Hats(np.zeros(0), 0, 4), Hats(np.array([-1.0, 1.0]), 4, 0)]
    lines = Lines(hats, np.zeros((14, 1)), range(2), [Grid((0, 1), tuple(hats))])
    slots = np.stack([random.integers(0, 4, 50), np.full(50, -1)], axis=1)  # the last one is missing
    numbers = np.stack([np.zeros(50), random.uniform(-1, 1, 50)], axis=1)
    data = Data(numbers, slots, np.zeros(50), np.ones(50), np.zeros((50, 1)))
    values = random.normal(size=(14, 1))
    spreads = np.ptp(values[6:, 0].reshape(4, 2)[:3], axis=0)
    is_known, share = slots[:, 0] < 3, (numbers[:, 1] + 1) / 2
    expected = is_known * (np.ptp(values[:3]) + (1 - share) * spreads[0] + share * spreads[1]) * (radius > 0)
    pulls = Pulls(lines, data, Wishes({}, [radius, radius], 0.1, {0: np.arange(3)}, {}))
    assert pulls.widths(values)[0] == pytest.approx(expected.mean(), abs=1e-12)


def test_a_category_that_cannot_move_costs_nothing():
    table, score, random = mixed()
    target = target_of("binary", score, random)
    widths = []
    for is_ordered in (True, False):
        grades = table["grade"].cat.as_ordered() if is_ordered else table["grade"].cat.as_unordered()
        gam = GAMClassifier(pairs=0, explanation_radius=0.5).fit(table[[]].assign(grade=grades), target)
        widths.append(gam.explanation_width_)
    assert widths[0] == 0 < widths[1]


def test_the_width_told_is_that_of_the_lines_and_surfaces_of_the_model():
    """Row by row, by the values at the knots: also of what lines took over from surfaces."""
    random, radius = np.random.default_rng(0), 0.5
    table = pandas.DataFrame(random.normal(size=(150, 2)), columns=["x", "z"])
    score = (table["x"] + 1) * (table["z"] + 1)
    gam = GAMRegressor(pairs=[("x", "z")], explanation_radius=radius, explanation_weight=0.01).fit(table, score)
    numbers = ((table - table.mean()) / table.std(ddof=0)).to_numpy()

    def moves(knots, line, number):
        inside = knots[(number - radius < knots) & (knots < number + radius)]
        ends = np.concatenate([[number - radius], inside, [number + radius]])
        return np.abs(np.diff(np.interp(ends, knots, line))).sum()

    total, (grid,), (surface,) = 0.0, gam.terms_.grids, gam.terms_.surfaces
    cells = surface.reshape(grid.axes[0].size, grid.axes[1].size)
    for row in numbers:
        for k, (hats, line) in enumerate(zip(gam.terms_.hats, gam.terms_.values, strict=True)):
            total += moves(hats.knots, line[:, 0], row[k])
        for k, (axis, other, each) in enumerate([(*grid.axes, cells.T), (*grid.axes[::-1], cells)]):
            widths = [moves(axis.knots, line, row[k]) for line in each]
            total += np.interp(row[1 - k], other.knots, widths)
    assert gam.explanation_width_ == pytest.approx(total / len(table), rel=0.01)


def test_categories_in_order_have_ranks_whatever_their_column_is_called():
    table, score, random = mixed(100)
    target = target_of("binary", score, random)
    named, numbered = table[["grade", "z"]], table[["grade", "z"]].set_axis([0, 1], axis=1)
    gams = [GAMClassifier(pairs=0, explanation_radius=0.5).fit(one, target) for one in (named, numbered)]
    assert gams[0].table_columns_[0].deviation == gams[1].table_columns_[0].deviation
    assert gams[0].explanation_width_ == gams[1].explanation_width_


def test_a_radius_may_be_as_large_as_a_number_can_be():
    table, score, random = mixed(100)
    target = target_of("binary", score, random)
    wide, widest = (
        GAMClassifier(pairs=0, explanation_radius=radius).fit(table.assign(z=table["z"] * 8), target)
        for radius in (1e3, 1.7e308)
    )
    assert wide.explanation_width_ == widest.explanation_width_
    for radius in (10**400, 1j, np.complex128(1)):
        with pytest.raises(DataError, match="explanation_radius must be None or a finite number from 0 up"):
            GAMClassifier(explanation_radius=radius).fit(table, target)


def test_columns_that_cannot_move_make_others_no_cheaper():
    table, score, random = mixed()
    target, widths = target_of("binary", score, random), []
    for count in (0, 30):
        stiff = {f"always {k}": "yes" if k % 2 else float(k) for k in range(count)}
        gam = GAMClassifier(special_codes=[-9], pairs=0, explanation_radius=0.5, explanation_weight=0.01)
        widths.append(gam.fit(table.assign(**stiff), target).explanation_width_)
    assert widths[1] == pytest.approx(widths[0], rel=0.01)


def surface(rows=1500, seed=0):
    """Rows of two columns, with weights, and values of their lines and of a surface over them."""
    random = np.random.default_rng(seed)
    hats = [Hats(np.linspace(-1, 1, 5), 0, 0), Hats(np.zeros(0), 0, 4)]  # the last one is missing
    lines = Lines(hats, np.zeros((29, 1)), range(2), [Grid((0, 1), tuple(hats))])
    numbers = np.stack([random.uniform(-1, 1, rows), np.zeros(rows)], axis=1)
    slots = np.stack([np.full(rows, -1), random.integers(0, 4, rows)], axis=1)
    weights = random.uniform(0.1, 2, rows)
    return lines, Data(numbers, slots, np.zeros(rows), weights, np.zeros((rows, 1))), random.normal(size=(29, 1))


def test_rows_count_by_their_weight_and_in_any_order():
    lines, data, values = surface()
    wishes = Wishes({}, [0.3, 0.3], 0.1, {1: np.arange(3)}, {})
    widths = Pulls(lines, data, wishes).widths(values)
    shuffled = data.take(np.random.default_rng(1).permutation(1500))
    np.testing.assert_allclose(Pulls(lines, shuffled, wishes).widths(values), widths, rtol=1e-12)
    light = data.take(np.flatnonzero(data.slots[:, 1] == 3))
    both = Data(*map(np.concatenate, zip(data, light._replace(weights=light.weights * 1e-9), strict=True)))
    np.testing.assert_allclose(Pulls(lines, both, wishes).widths(values), widths, rtol=1e-3)
    twice = data.take(np.repeat(np.arange(300), 2))
    heavy = data.take(np.arange(300))
    heavy = heavy._replace(weights=2 * heavy.weights)
    np.testing.assert_allclose(
        Pulls(lines, twice, wishes).widths(values), Pulls(lines, heavy, wishes).widths(values), rtol=1e-2
    )


# --- weights tried ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("binary", {"pairs": 0, "calibrated": True}),
        ("binary", {"pairs": [("z", "grade")], "class_weight": "balanced"}),
        ("multiclass", {"pairs": 0}),
        ("regression", {"pairs": 0, "monotone": {"z": 1}}),
        ("regression", {"feature_budget": 3}),
    ],
)
def test_a_weight_tried_gives_the_very_model_that_fitting_with_it_does(task, options):
    table, score, random = mixed(120)
    target = target_of(task, score, random)
    kind = GAMRegressor if task == "regression" else GAMClassifier
    gam = kind(special_codes=[-9], explanation_radius=0.5, **options)
    fitted = gam.by_weight(table, target)
    for weight in (0.02, 0.005):
        tried, anew = fitted(weight), clone(gam).set_params(explanation_weight=weight).fit(table, target)
        assert tried.get_params() == anew.get_params()
        assert tried.explanation_width_ == anew.explanation_width_
        assert tried.pairs_ == anew.pairs_
        assert tried.predict(table).tolist() == anew.predict(table).tolist()
        documents = [pickle.dumps((one.intercept_, one.terms_.values, one.terms_.surfaces)) for one in (tried, anew)]
        assert documents[0] == documents[1]
        assert set(vars(tried)) == set(vars(anew))  # the rows are not kept


def test_more_weights_are_tried_between_the_last_good_one_and_the_first_that_costs_too_much():
    table, score, random = mixed(200)
    gam = GAMClassifier(special_codes=[-9], pairs=0, explanation_radius=0.5)
    target = target_of("binary", score, random)
    choice = choose_explanation_weight(
        gam, table, target, give_up=0.02, weights=(0.001, 1.0), between=4, n_splits=2, explained=0
    )
    weights = [one.weight for one in choice.tried]
    assert weights == sorted(weights)
    assert len(weights) == 7
    enough = next(one.score for one in choice.tried if one.weight == 0) - 0.02
    good = [one.weight for one in choice.tried if one.score >= enough]
    bad = [one.weight for one in choice.tried if one.score < enough]
    assert choice.weight == max(good) > 0.001
    assert min(bad) / max(good) == pytest.approx(1000 ** (1 / 16))
    coarse = choose_explanation_weight(
        gam, table, target, give_up=0.02, weights=(0.001, 1.0), between=0, n_splits=2, explained=0
    )
    assert [one.weight for one in coarse.tried] == [0.0, 0.001, 1.0]


def test_a_weight_that_cannot_be_is_refused_when_it_is_tried():
    table, score, random = mixed(100)
    target = target_of("binary", score, random)
    with pytest.raises(DataError, match="explanation_weight needs an explanation_radius"):
        GAMClassifier(pairs=0).by_weight(table, target)(0.1)
    gam = GAMClassifier(pairs=0, explanation_radius=0.5)
    for weight in (-1.0, math.nan, "much"):
        with pytest.raises(DataError, match="explanation_weight must be a finite number from 0 up"):
            gam.by_weight(table, target)(weight)
        with pytest.raises(DataError, match="weights must be finite numbers from 0 up, got"):
            choose_explanation_weight(gam, table, target, weights=(0.1, weight))
    flat = clone(gam).set_params(explanation_weight=1e308).fit(table, target)
    assert flat.explanation_width_ == pytest.approx(0, abs=1e-3)


def test_weights_may_be_read_only_once():
    table, score, random = mixed(100)
    gam, target = GAMClassifier(pairs=0, explanation_radius=0.5), target_of("binary", score, random)
    options = {"n_splits": 1, "between": 0, "explained": 0, "give_up": np.float32(1)}
    choice = choose_explanation_weight(gam, table, target, weights=iter((0.01, 0.1)), **options)
    assert [one.weight for one in choice.tried] == [0.0, 0.01, 0.1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": 0.1}, "weights must be finite numbers from 0 up, got 0.1"),
        ({"weights": [10**400]}, "weights must be finite numbers from 0 up"),
        ({"explained": "all"}, "explained must be a whole number from 0 up, got 'all'"),
        ({"give_up": 10**400}, "give_up must be a finite number"),
        ({"give_up": 10**5000}, "give_up must be a finite number, got a number near 1e"),
        ({"weights": np.array(0.1)}, "weights must be finite numbers from 0 up"),
        ({"random_state": "x"}, "random_state: 'x' cannot be used"),
        ({"random_state": -1}, "random_state: Seed must be between 0 and"),
        ({"scoring": np.array(["r2", "r2"])}, "scoring: The 'scoring' parameter of get_scorer"),
        ({"scoring": "neg_mean_squared_log_error"}, "scoring by neg_mean_squared_log_error: Mean Squared Log"),
    ],
)
def test_what_no_weight_can_be_chosen_by_is_refused(options, told):
    table, score, _ = mixed(100)
    with pytest.raises(DataError, match=told):
        choose_explanation_weight(GAMRegressor(pairs=0, explanation_radius=0.5), table, score - 10, **options)


@pytest.mark.parametrize(
    ("table", "target", "told"),
    [
        (None, np.arange(6.0), "Expected 2D array, got scalar array instead"),
        (scipy.sparse.identity(6, format="csr"), np.arange(6.0), "Sparse data was passed, but dense data is required"),
        (np.arange(12.0).reshape(6, 2), 3, "target: y should be a 1d array, got an array of shape"),
        (np.arange(12.0).reshape(6, 2), "much", "target: y should be a 1d array, got an array of shape"),
        (np.arange(12.0).reshape(6, 2), scipy.sparse.eye(6, 1), "target: Sparse data was passed for y"),
        (np.arange(12.0).reshape(6, 2), ["much"] * 6, "the target y must hold numbers; use GAMClassifier for classes"),
    ],
)
def test_what_is_no_table_or_no_target_chooses_no_weight(table, target, told):
    with pytest.raises(DataError, match=told):
        choose_explanation_weight(GAMRegressor(explanation_radius=0.5), table, target)


def test_an_estimator_that_cannot_be_fitted_chooses_no_weight():
    table, score, random = mixed(60)
    gam = GAMClassifier(explanation_radius=0.5, calibrated=np.array([True, False]))
    with pytest.raises(DataError, match="calibrated must be True or False"):
        choose_explanation_weight(gam, table, target_of("binary", score, random))


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_target_with_a_missing_cell_chooses_no_weight(missing):
    table, score, random = mixed(60)
    target = [missing, *target_of("binary", score, random).tolist()[1:]]
    with pytest.raises(DataError, match="Input y contains NaN; drop the rows without a target"):
        choose_explanation_weight(GAMClassifier(pairs=0, explanation_radius=0.5), table, target)


def test_rows_that_cannot_be_scored_choose_no_weight():
    gam = GAMRegressor(explanation_radius=0.5)
    with pytest.raises(DataError, match="the r2 of rows held back is no number"):
        choose_explanation_weight(gam, np.arange(9.0).reshape(3, 3), np.array([0.0, 1.0, 4.0]), explained=0)


def test_a_fit_that_fails_keeps_no_rows(monkeypatch):
    table, score, random = mixed(100)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.gam.estimators.finish", interrupted)
    gam = GAMClassifier(pairs=0)
    with pytest.raises(KeyboardInterrupt):
        gam.fit(table, target_of("binary", score, random))
    assert "_freely" not in vars(gam)


# --- how many pairs -----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 20), max_size=6), st.integers(4, 7))
def test_the_surfaces_kept_are_the_most_probable_choice(gains, columns):
    """Against all choices among them: a number of pairs is as likely as any other, and so is each choice of so many."""
    pairs = columns * (columns - 1) // 2
    gains = [gain + k * 1e-6 for k, gain in enumerate(gains)]  # no two alike

    def logarithm(chosen):
        return sum(gains[k] for k in chosen) - math.log(math.comb(pairs, len(chosen)))

    positive = [k for k, gain in enumerate(gains) if gain > 0]  # the rows are less probable with any other
    every = [chosen for number in range(len(positive) + 1) for chosen in combinations(positive, number)]
    best = max(every, key=logarithm)
    search = object.__new__(_Search)
    search.pairs = pairs
    weak = search._weak(np.array(gains))
    assert logarithm([k for k in range(len(gains)) if k not in weak]) == pytest.approx(logarithm(best), abs=1e-9)
    assert [gains[k] for k in weak] == sorted(gains[k] for k in weak)
