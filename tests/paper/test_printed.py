"""Each printed form that cannot be followed, on the smallest instance it fails on; see docs/paper.md."""

import pytest
from paper_cases import vees

import suffice
from suffice.paper import ExactVerifier, Problem, Run, cardinally_minimal, parallel_interval_sorting
from suffice.paper.printed import DoesNotEndError, printed_logarithmic_search, printed_sorting


def run_of(instance):
    return Run(instance, ExactVerifier(), timeout=1.0, limit=60.0)


def test_printed_sorting_works_where_minima_differ():
    assert printed_sorting(run_of(vees([4, 1, 2], 10)), max_rounds=50) == [1, 2, 0]


def test_printed_sorting_does_not_end_on_equal_minima():
    with pytest.raises(DoesNotEndError):
        printed_sorting(run_of(vees([1, 1], 10)), max_rounds=300)
    ours = parallel_interval_sorting(run_of(vees([1, 1], 10)))
    assert ours.rounds < 30


def test_printed_search_does_not_end_once_a_prefix_suffices():
    """With u = l + 1 the middle is l: `l ← m` changes nothing."""
    instance = vees([4, 1], 2)  # fixing the first is enough
    with pytest.raises(DoesNotEndError, match="l = 1 and u = 2"):
        printed_logarithmic_search(run_of(instance), [0, 1], max_rounds=100)
    assert cardinally_minimal(instance, ExactVerifier())[0].fixed == (0,)


def test_printed_search_runs_past_the_empty_set():
    """Where no prefix below the full one suffices, u sinks below l, and they never meet."""
    instance = vees([4, 4], 2)
    with pytest.raises(DoesNotEndError):
        printed_logarithmic_search(run_of(instance), [0, 1], max_rounds=100)
    assert cardinally_minimal(instance, ExactVerifier())[0].size == 2


def test_printed_search_cannot_return_the_empty_set():
    instance = vees([1], 2)
    assert printed_logarithmic_search(run_of(instance), [0], max_rounds=10) == (0,)
    assert cardinally_minimal(instance, ExactVerifier())[0].fixed == ()


def test_prefixes_of_the_ascending_order_are_not_smallest():
    """Algorithm 2 returns ascending importance, Algorithm 4 keeps its prefix: that keeps what matters least."""
    instance = vees([4, 1, 1], 3)
    run = run_of(instance)
    ascending = parallel_interval_sorting(run).ascending
    sizes = [size for size in range(4) if run.suffices(ascending[:size]).holds]
    assert min(sizes) == 3
    assert cardinally_minimal(instance, ExactVerifier())[0].fixed == (0,)


def test_a_negative_prediction_is_sorted_the_same_way():
    """The appendix turns the order round for class 0; drops are distances to the boundary either way."""
    from paper_cases import vee

    model = suffice.AdditiveModel([-1 * vee(4), -1 * vee(1), -1 * vee(1)], intercept=-3)
    run = run_of(Problem(model).instance([0, 0, 0], radius=1))
    sorting = parallel_interval_sorting(run)
    assert sorting.descending[0] == 0
    assert run.suffices(sorting.descending[:1]).holds
    assert not run.suffices(sorting.ascending[:1]).holds
