"""The penalty for long explanations sees what regions can hold, and no more."""

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')"
)
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from suffice.gam.columns import learn_columns, read_orders, read_table  # noqa: E402
from suffice.nam import NAMClassifier  # noqa: E402
from suffice.nam.reach import Reach  # noqa: E402

ROWS = 400


class Given:
    """Shapes that are known: each number counts as it is, categories have values by their place."""

    def __init__(self, slots):
        self.table = torch.arange(float(slots))[None, :, None] ** 2

    def shapes(self, numbers):
        return numbers[None, :, :, None]


def measure_of(frame, radius):
    """Return what measures widths, shapes that are known, and the columns."""
    columns = learn_columns(list(frame), read_table(frame), np.ones(len(frame)), None, read_orders(list(frame), frame))
    numbers, slots, first = [], [], 0
    for column, cells in zip(columns, read_table(frame), strict=True):
        values, places = column.encode(cells)
        numbers.append(values)
        slots.append(np.where(places < 0, -1, places + first))
        first += column.slots
    rows = [torch.from_numpy(np.stack(part, axis=1)) for part in (numbers, slots)]
    return Reach(columns, rows[0].float(), rows[1], radius, torch.Generator().manual_seed(0)), Given(first), columns


def reach(frame, radius):
    measure, shapes, columns = measure_of(frame, radius)
    return float(measure.width(shapes)), columns


def test_numbers_move_by_the_whole_radius():
    found, _ = reach(pandas.DataFrame({"x": np.random.default_rng(0).normal(size=ROWS)}), 0.01)
    assert found == pytest.approx(0.02, rel=1e-3)


def test_whole_numbers_move_by_whole_numbers():
    frame = pandas.DataFrame({"x": np.arange(ROWS) % 100 + 10.0})
    _, (column,) = reach(frame, 0.0)
    assert reach(frame, 0.9 / column.scale)[0] == 0  # as far as no other whole number
    within = reach(frame, 1.9 / column.scale)[0]
    assert within == pytest.approx(2 / column.scale, rel=1e-5)  # one down, one up


def test_regions_end_where_the_domain_does():
    frame = pandas.DataFrame({"x": np.repeat([0.0, 1.0], ROWS // 2)})  # both ends are limits, and nothing lies between
    _, (column,) = reach(frame, 0.0)
    assert reach(frame, 5.0)[0] == pytest.approx(1 / column.scale, rel=1e-5)


def test_ordered_categories_move_by_rank_and_others_anywhere():
    sizes = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
    free = pandas.DataFrame({"size": sizes})
    ordered = pandas.DataFrame({"size": pandas.Categorical(sizes, ["a", "b", "c"], ordered=True)})
    assert reach(free, 0.1)[0] == pytest.approx(4)  # values are 0, 1 and 4
    _, (column,) = reach(ordered, 0.0)
    assert reach(ordered, 0.9 / column.deviation)[0] == 0
    assert 1 < reach(ordered, 1.1 / column.deviation)[0] < 4  # 1, 4 or 3 from "a", "b" or "c"
    assert reach(ordered, 2.1 / column.deviation)[0] == pytest.approx(4)


def test_missing_cells_and_codes_stay():
    sizes = pandas.DataFrame({"size": [None, "a"] * (ROWS // 2)})
    found, _ = reach(sizes, 0.1)
    assert found == 0  # "a" can become no other category


def test_categories_are_measured_over_all_rows():
    """From "a" on, ranks reach 0 to 1, 0 to 4 and 1 to 4 in the squares of their places; "c" is rare."""
    sizes = np.array(["a", "b", "c"])[np.r_[np.zeros(250, int), np.ones(149, int), 2]]
    ordered = pandas.DataFrame({"size": pandas.Categorical(sizes, ["a", "b", "c"], ordered=True)})
    _, (column,) = reach(ordered, 0.0)
    expected = (250 * 1 + 149 * 4 + 1 * 3) / 400
    assert reach(ordered, 1.1 / column.deviation)[0] == pytest.approx(expected, rel=1e-6)


def test_epochs_are_compared_on_the_same_rows():
    frame = pandas.DataFrame({"x": np.random.default_rng(0).exponential(size=ROWS), "y": ["a", "b"] * (ROWS // 2)})
    measure, shapes, _ = measure_of(frame, 0.5)
    assert float(measure.judged_cost(shapes)) == float(measure.judged_cost(shapes))
    assert float(measure.cost(shapes)) != float(measure.cost(shapes))  # drawn anew for each step of the training


def test_corrections_are_not_pulled_where_nothing_can_move():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"step": random.integers(0, 4, 2400).astype(float)})
    target = random.random(2400) < np.array([0.2, 0.7, 0.3, 0.9])[table["step"].astype(int)]
    options = {"hidden_layers": (8,), "max_epochs": 4, "random_state": 0, "corrections": True}
    plain = NAMClassifier(**options).fit(table, target)
    short = NAMClassifier(**options, explanation_radius=0.5, explanation_weight=0.3).fit(table, target)
    assert short.explanation_width_ == 0
    np.testing.assert_allclose(short.decision_function(table), plain.decision_function(table), atol=0.2)
