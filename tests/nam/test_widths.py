"""What wide shapes cost where a model is trained for short explanations."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')"
)

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from suffice.gam.hats import Grid, Hats  # noqa: E402
from suffice.gam.solving import Data, Lines, Pulls, Wishes  # noqa: E402
from suffice.gam.widths import cost_of, prices_of  # noqa: E402

some_widths = st.lists(st.floats(0.01, 100), min_size=1, max_size=8, unique=True).map(np.array)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=7), st.integers(0, 5))
def test_the_cost_is_the_mean_number_of_features_that_must_be_fixed(widths, more):
    """Over all margins up to a bound, times the bound, by trying all sets of features that are left free."""
    bound, count, fixed = sum(widths) + more, len(widths), 0
    for margin in range(bound):  # the number is the same up to the next whole one: widths are whole
        free = (sum(chosen) for chosen in product([0, 1], repeat=count) if np.dot(chosen, widths) <= margin)
        fixed += count - max(free)
    assert cost_of(np.array(widths, dtype=float)) == pytest.approx(fixed)


@given(some_widths, st.floats(0.5, 20))
def test_the_cost_grows_as_the_scores_do(widths, factor):
    assert cost_of(factor * widths) == pytest.approx(factor * cost_of(widths))


def test_one_wide_shape_costs_less_than_many_narrow_ones():
    assert cost_of(np.array([4.0, 0, 0, 0])) == 4 < cost_of(np.ones(4)) == 10


@given(some_widths)
def test_equal_widths_cost_most_of_those_with_the_same_sum(widths):
    even = np.full(len(widths), widths.mean())
    assert cost_of(even) == pytest.approx(widths.sum() * (len(widths) + 1) / 2)
    assert cost_of(widths) <= cost_of(np.full(len(widths), widths.mean())) * (1 + 1e-12)


@given(some_widths, st.integers(0, 30))
def test_features_that_do_not_move_the_score_change_nothing(widths, count):
    assert cost_of(np.concatenate([np.zeros(count), widths])) == pytest.approx(cost_of(widths))


@given(some_widths)
def test_prices_are_derivatives_and_networks_pay_the_same(widths):
    ours = torch.tensor(widths, requires_grad=True)
    cost = cost_of(ours)
    cost.backward()
    assert float(cost.detach()) == pytest.approx(cost_of(widths), rel=1e-9)
    np.testing.assert_allclose(prices_of(widths), ours.grad.numpy(), rtol=1e-9)


def test_steps_of_surfaces_are_paid_by_the_column_they_go_along():
    """A surface over 0 and 2 that changes along 2 alone makes 2 wide, and 0 and the flat lines not."""
    hats = [Hats(np.linspace(-1, 1, 3), 0, 0)] * 3
    grid = Grid((0, 2), (hats[0], hats[2]))
    lines = Lines(hats, np.zeros((18, 1)), None, [grid])
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    data = Data(rows, np.full((40, 3), -1), np.zeros(40), np.ones(40), np.zeros((40, 1)))
    pulls = Pulls(lines, data, Wishes({}, [0.5] * 3, 0.1, {}, {}))
    values = np.zeros((18, 1))
    values[9:, 0] = np.tile([0.0, 1.0, 2.0], 3)  # it rises by 1 for each 1 of column 2
    reached = [np.clip(rows[:, 2] + 0.5, -1, 1) - np.clip(rows[:, 2] - 0.5, -1, 1)]
    np.testing.assert_allclose(pulls.widths(values), [0, 0, np.mean(reached)], atol=1e-12)
    assert pulls.cost(values) == pytest.approx(0.1 * cost_of(pulls.widths(values)))
