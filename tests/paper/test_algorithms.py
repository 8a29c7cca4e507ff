import math
import pickle
import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import oracles
import pytest
from paper_cases import Scripted, random_model, random_network, vees

import suffice
from suffice.numbers.exact import rational
from suffice.paper import (
    BisectionVerifier,
    ExactVerifier,
    JointSampling,
    Minimality,
    Parallel,
    Problem,
    Run,
    Trust,
    Verdict,
    VerifierError,
    by_sensitivity,
    cardinally_minimal,
    greedy_subset_minimal,
    interval_search,
    linear_search,
    logarithmic_search,
    parallel_interval_sorting,
)

VERIFIERS = {"exact": ExactVerifier, "bisection": BisectionVerifier}


@pytest.fixture(params=VERIFIERS)
def verifier(request):
    return VERIFIERS[request.param]()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("search", [logarithmic_search, linear_search, interval_search])
def test_sizes_are_those_of_trying_all_sets(verifier, seed, search):
    model, row, known = random_model(seed, features=5)
    instance = Problem(model).instance(row, radius=1)
    result, sorting = cardinally_minimal(instance, verifier, search=search)
    assert (result.size, result.minimality) == (oracles.smallest_size(*known), Minimality.CARDINAL)
    assert oracles.sufficient(set(result.fixed), *known)
    assert result.trust is Trust.PROVEN
    assert result.unknown == 0
    assert sorting.rounds <= sorting.allowed_rounds(2.0**-20)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("search", [logarithmic_search, interval_search])
def test_exact_sizes_survive_ties(seed, search):
    """Weights on a coarse grid: equal drops, drops of 0, and sums that meet the margin are common."""
    model, row, known = random_model(seed, features=5, hidden=(3,), grid=2)
    result, _ = cardinally_minimal(Problem(model).instance(row, radius=1), ExactVerifier(), search=search)
    assert oracles.sufficient(set(result.fixed), *known)
    assert result.size >= oracles.smallest_size(*known)
    if result.minimality is Minimality.CARDINAL:
        assert result.size == oracles.smallest_size(*known)


@pytest.mark.parametrize("seed", range(12))
def test_greedy_sets_are_subset_minimal(verifier, seed):
    model, row, known = random_model(seed, features=5)
    instance = Problem(model).instance(row, radius=1)
    for order in (None, by_sensitivity(instance)):
        result = greedy_subset_minimal(instance, verifier, order)
        assert result.minimality is Minimality.SUBSET
        assert oracles.sufficient(set(result.fixed), *known)
        for smaller in combinations(result.fixed, max(result.size - 1, 0)):
            assert not result.fixed or not oracles.sufficient(set(smaller), *known)


@pytest.mark.parametrize("features", [1, 2, 3, 7, 8, 20])
def test_query_counts_are_those_of_the_propositions(verifier, features):
    rng = np.random.default_rng(features)
    drops = rng.uniform(0.5, 2, features).tolist()
    instance = vees(drops, margin=sum(drops) / 2)
    result, sorting = cardinally_minimal(instance, verifier, use_counterexamples=False, test_upper=False)
    assert result.joint_calls <= math.ceil(math.log2(features + 1))  # Proposition 4
    assert result.component_calls <= features * sorting.rounds
    assert sorting.rounds <= sorting.allowed_rounds(2.0**-20)  # Proposition 2
    linear, _ = cardinally_minimal(instance, verifier, search=linear_search)
    assert (linear.joint_calls, linear.size) == (features, result.size)  # Proposition 3
    assert greedy_subset_minimal(instance, verifier).joint_calls == features


def test_intervals_need_no_joint_query():
    model, row, known = random_model(3, features=7)
    instance, verifier = Problem(model).instance(row, radius=1), BisectionVerifier()
    result, _ = cardinally_minimal(instance, verifier, search=interval_search)
    assert (result.size, result.joint_calls) == (oracles.smallest_size(*known), 0)
    assert {len(query.parts) for query, _ in verifier.asked} == {1}


def test_intervals_say_nothing_where_they_are_too_wide():
    """Drops of 1 that are known to 1/4 only: whether two of them exceed a margin of 2 stays open."""
    result, _ = cardinally_minimal(vees([1, 1, 1], 2), BisectionVerifier(), search=interval_search, precision=0.25)
    assert result.unknown > 0
    assert (result.size, result.minimality) == (2, Minimality.NONE)  # one feature is enough


def test_intervals_settle_one_score_only():
    instance = Problem(multiclass([[3, 3], [4, 0], [0, 4]], margins=[4.5, 4.5])).instance([0] * 3, radius=1)
    with pytest.raises(VerifierError, match="one score only"):
        cardinally_minimal(instance, ExactVerifier(), search=interval_search)


def test_both_optimisations_save_queries():
    rng = np.random.default_rng(0)
    model = suffice.AdditiveModel([suffice.ReluNetwork(*random_network(rng, (8, 8))) for _ in range(8)], 3)
    instance = Problem(model).instance([0] * 8, radius=1)
    counts = []
    for use, test in ((False, False), (True, False), (True, True)):
        result, _ = cardinally_minimal(instance, ExactVerifier(), use_counterexamples=use, test_upper=test)
        counts.append(result.component_calls)
    assert counts[0] > counts[1] >= counts[2]


def test_equal_drops_end_the_sorting_and_the_set_is_still_called_minimal():
    result, sorting = cardinally_minimal(vees([1, 1, 1, 1], 2.5), BisectionVerifier())
    assert (result.size, result.minimality) == (2, Minimality.CARDINAL)
    assert not sorting.is_total


def test_an_order_that_was_not_settled_is_not_called_minimal():
    """With intervals too wide to tell the drops apart, another single feature might do where the first did not."""
    instance = vees([2.0, 2.001, 2.002], 2.0005)
    result, _ = cardinally_minimal(instance, ExactVerifier(), precision=10.0)
    assert result.minimality is Minimality.NONE
    settled, _ = cardinally_minimal(instance, ExactVerifier())
    assert (settled.features, settled.minimality) == (("x2", "x1"), Minimality.CARDINAL)


def test_what_is_unknown_stays_in_the_explanation():
    """A verifier that never knows frees nothing, and nothing is called minimal."""
    lost = Scripted(lambda query: "unknown")
    instance = vees([1, 2, 3], 10)
    for result in (greedy_subset_minimal(instance, lost), cardinally_minimal(instance, lost)[0]):
        assert result.fixed
        assert set(result.fixed) == {0, 1, 2}
        assert (result.minimality, result.trust, result.is_trivial) == (Minimality.NONE, Trust.VERIFIED, True)
        assert result.unknown > 0


def test_one_unknown_query_costs_its_feature_and_the_name_of_minimal():
    exact = ExactVerifier()

    def say(query):
        names = {part.component.name for part in query.parts}
        return "unknown" if names == {"x0"} else exact.ask([query], 1.0).verdict.value

    result = greedy_subset_minimal(vees([1, 2, 3], 5), Scripted(say))
    assert result.fixed[0] == 0
    assert result.minimality is Minimality.NONE


def work(seconds):
    """Use up CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Patient(ExactVerifier):
    """Waits before it answers, as on a busy machine."""

    def reply(self, query, seconds):
        time.sleep(0.3)
        return super().reply(query, seconds)


def test_waiting_is_no_work():
    """Limits are of CPU time: a verifier that is kept waiting by a busy machine is not cut short."""
    patient = Patient()
    result = greedy_subset_minimal(vees([1, 2, 3], 5), patient, limit=0.5)
    assert (result.unknown, len(patient.asked)) == (0, 3)


def test_after_the_limit_nothing_is_asked():
    verifier = ExactVerifier()
    result, _ = cardinally_minimal(vees([1, 2, 3], 5), verifier, limit=0.0)
    assert (result.size, result.minimality, len(verifier.asked)) == (3, Minimality.NONE, 0)


def test_a_round_of_questions_ends_with_the_limit():
    """Thirty questions of a fifth of a CPU second each, and less than one for the whole: most are never asked."""
    slow = Scripted(lambda query: work(0.2) or "unknown")
    result, _ = cardinally_minimal(vees(list(range(1, 31)), 5), slow, timeout=1.0, limit=0.7)
    assert len(slow.asked) <= 6
    assert result.is_trivial


def test_sampling_is_never_called_proof():
    result, _ = cardinally_minimal(vees([1] * 12, 11), JointSampling(points=50))
    assert result.trust is Trust.SAMPLED
    assert not ExactVerifier().ask(vees([1] * 12, 11).sufficient(result.fixed), 1.0).holds


def test_progress_tells_size_features_and_queries_over_time():
    result, _ = cardinally_minimal(vees([1, 2, 4, 8], 5), ExactVerifier())
    seconds, sizes, processed, calls = zip(*result.steps, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(sizes) == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1], processed[-1]) == (4, result.size, 4)
    assert calls[-1] == result.component_calls + result.joint_calls


def test_workers_do_not_change_the_answer():
    rng = np.random.default_rng(2)
    model = suffice.AdditiveModel([suffice.ReluNetwork(*random_network(rng, (6, 6))) for _ in range(6)], 2)
    instance = Problem(model).instance([0] * 6, radius=1)
    alone, order = cardinally_minimal(instance, BisectionVerifier())
    with Parallel(BisectionVerifier(), workers=2) as several:
        together, same = cardinally_minimal(instance, several)
    assert (together.fixed, same.ascending, same.intervals) == (alone.fixed, order.ascending, order.intervals)
    assert (together.component_calls, together.joint_calls) == (alone.component_calls, alone.joint_calls)
    assert len(several.asked) == together.component_calls + together.joint_calls


def test_a_component_that_travels_is_one_object_on_arrival():
    component = vees([1], 2).sides[0].parts[0].component
    assert component.pieces.knots
    first, second = (pickle.loads(pickle.dumps(component)) for _ in range(2))
    assert first is second
    assert "pieces" not in vars(first)
    assert first.pieces == component.pieces


# --- regression and several classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["low", "high"])
def test_regression_keeps_the_prediction_on_one_side(verifier, side):
    rng = np.random.default_rng(7)
    model = suffice.AdditiveModel(
        [suffice.ReluNetwork(*random_network(rng, (6,))) for _ in range(6)], 1, task="regression"
    )
    row = [0] * 6
    score = suffice.Explainer(model).score(row)
    claim = suffice.AtLeast(score - Fraction(1, 2)) if side == "low" else suffice.AtMost(score + Fraction(1, 2))
    why = suffice.Explainer(model).explain(row, radius=1, claim=claim, unit="raw")
    result, _ = cardinally_minimal(Problem(model).instance(row, radius=1, claim=claim), verifier)
    assert (result.size, result.minimality) == (why.size, Minimality.CARDINAL)


def multiclass(drops, margins):
    """A winner against others: within radius 1 of the origin, feature i lowers the lead over j by drops[i][j]."""
    shapes = [
        suffice.ReluNetwork([[[1.0], [-1.0]], [[0.0, 0.0], *([d, d] for d in row)]], [[0.0, 0.0], None])
        for row in drops
    ]
    return suffice.AdditiveModel(shapes, [0, *(-margin for margin in margins)], "multiclass")


def test_pairs_of_classes_are_explained_one_by_one(verifier):
    model = multiclass([[3, 1], [4, 0], [0, 4]], margins=[4.5, 4.5])
    problem, explainer = Problem(model), suffice.Explainer(model)
    for other in (1, 2):
        claim = suffice.Beats(other)
        result, _ = cardinally_minimal(problem.instance([0] * 3, radius=1, claim=claim), verifier)
        why = explainer.explain([0] * 3, radius=1, claim=claim, unit="raw")
        assert (result.size, result.minimality) == (why.size, Minimality.CARDINAL)


def test_winner_against_all_as_published_suffices_but_need_not_be_smallest(verifier):
    """Freeing the two features with the largest drops is right, since they lower different leads."""
    model = multiclass([[3, 3], [4, 0], [0, 4]], margins=[4.5, 4.5])
    instance = Problem(model).instance([0] * 3, radius=1)
    result, _ = cardinally_minimal(instance, verifier)
    assert (result.size, result.minimality) == (2, Minimality.NONE)
    assert suffice.Explainer(model).is_sufficient([0] * 3, result.features, radius=1, unit="raw")
    assert suffice.Explainer(model).explain([0] * 3, radius=1, unit="raw").size == 1


def test_importance_against_all_is_the_least_lead():
    model = multiclass([[3, 1], [4, 0]], margins=[9, 9])
    run = Run(Problem(model).instance([0] * 2, radius=1), ExactVerifier(), 1.0, 10.0)
    sorting = parallel_interval_sorting(run)
    assert all(one.low <= drop <= one.high for one, drop in zip(sorting.intervals, (3, 4), strict=True))
    assert run.instance.component_at_least(0, rational(-3))[1].parts[0].component.factors == (1, 0, -1)
    assert ExactVerifier().ask(run.instance.component_at_least(1, rational(-4)), 1.0).verdict is Verdict.HOLDS
