import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from paper_cases import Scripted, random_network, vee, vees

import suffice
from suffice.numbers.exact import rational, to_fraction
from suffice.paper import BisectionVerifier, ExactVerifier, GridSampling, JointSampling, Problem, Verdict, VerifierError
from suffice.paper.layers import layers_of
from suffice.paper.verifiers import Reply, disagreements, enclose_minimum
from suffice.paper.verifiers.bisection import _Search, rigorous_bounds
from suffice.paper.verifiers.exact import lowest_side
from suffice.paper.verifiers.propagation import bound, outer_bounds

PATIENCE = 20.0


def plain_and_layers(arguments, factors=(1,)):
    weights, biases, activations, skips = arguments
    shape = suffice.ReluNetwork(weights, biases, activations, skips)
    return oracles.PlainNetwork(weights, biases, activations, skips), layers_of("x", shape, factors)


def one_feature(network, low, high, claim=None):
    """An instance with one feature that may go from low to high."""
    model = suffice.AdditiveModel([network], intercept=0, task="regression")
    middle = (Fraction(low) + Fraction(high)) / 2
    claim = claim or suffice.AtLeast(-(10**9))
    return Problem(model).instance([middle], radius=Fraction(high) - middle, claim=claim)


# --- the network that verifiers see -----------------------------------------------------------------------------------


@given(strategies.networks(outputs=2), strategies.small_rationals)
def test_layers_are_the_exact_function(arguments, at):
    plain, layers = plain_and_layers(arguments, factors=(1, -1))
    first, second = plain(at)
    assert to_fraction(layers.at(rational(at))) == first - second


def test_exponential_units_and_readouts_are_the_same_function():
    rng = np.random.default_rng(0)
    (w0, w1), (b0, b1) = random_network(rng, hidden=(5,), outputs=3)
    network = suffice.ReluNetwork([w0, w1], [b0, b1], ["relu1"], exu=True)
    shape = suffice.Readout(network, rng.normal(size=(2, 3)).astype(np.float32)) * Fraction(3, 4)
    layers = layers_of("x", shape, (1, -1))
    first, second = shape.compile()
    for at in (Fraction(-7, 3), Fraction(0), Fraction(5, 4)):
        assert layers.at(rational(at)) == first(rational(at)) - second(rational(at))


def test_shapes_that_are_no_network_are_refused_by_name():
    model = suffice.AdditiveModel([suffice.Steps([0], [-1, 1])], 0, features=["age"])
    instance = Problem(model).instance([1], radius=2)
    with pytest.raises(VerifierError, match="'age' is a Steps, not a network"):
        BisectionVerifier().ask(instance.sides, PATIENCE)
    assert ExactVerifier().ask(instance.sides, PATIENCE).verdict is Verdict.COUNTEREXAMPLE


@pytest.mark.parametrize("radius", [math.inf, {"x0": math.inf}])
def test_regions_that_are_no_interval_are_refused(radius):
    instance = Problem(suffice.AdditiveModel([vee()], 1)).instance([0], radius=radius)
    with pytest.raises(VerifierError, match="one bounded interval"):
        BisectionVerifier().ask(instance.sides, PATIENCE)


# --- rigorous bounds --------------------------------------------------------------------------------------------------


@given(strategies.networks(outputs=1), st.floats(-3, 3), st.sampled_from([0.0, 2.0**-40, 0.01, 1.0]))
@example(([np.array([[0.1]]), np.array([[0.1]])], [None, None], ["relu"], {}), 0.3, 0.0)
def test_bounds_enclose_the_exact_values_in_a_box(arguments, low, width):
    plain, layers = plain_and_layers(arguments)
    high = low + width
    (bottom,), (top,) = bound(layers, np.array([low]), np.array([high]))
    places = [Fraction(low), *plain.corners(Fraction(low), Fraction(high)), Fraction(high)]
    values = [plain(place)[0] for place in places]
    assert bottom == -math.inf or Fraction(float(bottom)) <= min(values)
    assert top == math.inf or Fraction(float(top)) >= max(values)


def test_bounds_at_a_point_hold_where_rounding_to_nearest_would_not():
    """Over many points the plain float value is off to either side; the bounds never are."""
    rng = np.random.default_rng(1)
    weights, biases = random_network(rng, hidden=(16, 16))
    plain, layers = plain_and_layers((weights, biases, ["relu", "relu"], {}))
    points = rng.normal(size=60)
    near = layers.near(points)
    bottom, top = bound(layers, points, points)
    exact = [plain(Fraction(point))[0] for point in points.tolist()]
    assert {np.sign(float(Fraction(n) - e)) for n, e in zip(near.tolist(), exact, strict=True)} >= {-1.0, 1.0}
    for low, value, high in zip(bottom.tolist(), exact, top.tolist(), strict=True):
        assert Fraction(low) <= value <= Fraction(high)
        assert high - low < 1e-10


# --- verdicts ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    strategies.networks(outputs=1),
    strategies.small_rationals,
    st.sampled_from([Fraction(0), Fraction(1, 10**6), -Fraction(1, 10**6), Fraction(1, 10**18), Fraction(1)]),
)
def test_exact_and_bisection_agree_with_the_oracle(arguments, low, above):
    weights, biases, activations, skips = arguments
    plain = oracles.PlainNetwork(weights, biases, activations, skips)
    places = [low, *plain.corners(low, low + 2), low + 2]
    minimum = min(plain(place)[0] for place in places)
    assume(abs(minimum) < 10**6)
    instance = one_feature(suffice.ReluNetwork(weights, biases, activations, skips), low, low + 2)
    queries = instance.component_at_least(0, rational(minimum + above))
    does_hold = above <= 0
    exact = ExactVerifier().ask(queries, PATIENCE)
    assert exact.holds == does_hold
    assert [lowest_side(query) for query in queries] == [rational(-above)]
    found = BisectionVerifier(max_boxes=20_000).ask(queries, PATIENCE).verdict
    assert found in (exact.verdict, Verdict.UNKNOWN)


@pytest.mark.parametrize("seed", range(6))
def test_bisection_settles_margins_of_a_millionth(seed):
    rng = np.random.default_rng(seed)
    weights, biases = random_network(rng, hidden=(12, 12))
    plain = oracles.PlainNetwork(weights, biases, ["relu", "relu"])
    minimum = plain.minimum(Fraction(-1), Fraction(1))
    instance = one_feature(suffice.ReluNetwork(weights, biases), -1, 1)
    for above, verdict in ((-Fraction(1, 10**6), Verdict.HOLDS), (Fraction(1, 10**6), Verdict.COUNTEREXAMPLE)):
        queries = instance.component_at_least(0, rational(minimum + above))
        assert BisectionVerifier().ask(queries, PATIENCE).verdict is verdict


def test_a_tie_that_floats_cannot_settle_is_unknown_to_bisection_and_not_a_guess():
    network = suffice.ReluNetwork([[[0.1], [-0.1]], [[0.3, 0.3]]], [[0.1, -0.1], [0.0]])  # 0.3 |0.1 x + 0.1|: 0 at -1
    instance = one_feature(network, Fraction(-17, 10), Fraction(3, 10))
    query = instance.component_at_least(0, rational(0))
    assert ExactVerifier().ask(query, PATIENCE).holds
    assert BisectionVerifier().ask(query, PATIENCE).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("above", [-1.0, 0.0, 1e-3, 1.0, math.inf])
def test_boxes_that_were_set_aside_still_count(above):
    """Whatever bound is called enough, the lower bound of the whole region never rises above its minimum."""
    weights, biases = random_network(np.random.default_rng(4), hidden=(8, 8))
    minimum = oracles.PlainNetwork(weights, biases, ["relu", "relu"]).minimum(Fraction(-1), Fraction(1))
    part = one_feature(suffice.ReluNetwork(weights, biases), -1, 1).sides[0].parts[0]
    search = _Search(part, rigorous_bounds(part))
    for _ in range(12):
        search.refine(float(minimum) + above)
        assert Fraction(search.lower_bound) <= minimum


def test_bisection_gives_up_in_time():
    answer = BisectionVerifier().ask(vees([1, 1, 1], 3).sides, 0.0)
    assert answer.verdict in (Verdict.UNKNOWN, Verdict.HOLDS)
    rng = np.random.default_rng(0)
    instance = one_feature(suffice.ReluNetwork(*random_network(rng, hidden=(32, 32))), -1, 1)
    lower, _ = outer_bounds(instance.sides[0].parts[0])
    minimum = ExactVerifier().ask(instance.component_at_least(0, rational(100)), PATIENCE).value
    near = instance.component_at_least(0, rational(100) + minimum - rational(1e-9))
    late = BisectionVerifier().ask(near, 0.0)
    assert (late.verdict, late.note) == (Verdict.UNKNOWN, "time-out after 0 CPU s")
    assert BisectionVerifier(max_boxes=1).ask(near, PATIENCE).note == "more than 1 boxes"
    assert lower <= minimum + 100


@pytest.mark.parametrize(("margin", "verdict"), [(Fraction(6), "holds"), (Fraction(5999, 1000), "counterexample")])
@pytest.mark.parametrize("verifier", [ExactVerifier(), BisectionVerifier()], ids=["exact", "bisection"])
def test_whole_models_are_decided_at_the_sum_of_the_minima(verifier, margin, verdict):
    slack = Fraction(0) if verifier.name == "exact" else Fraction(1, 10**9)  # bisection cannot settle the tie itself
    instance = vees([1, 2, 3], margin + slack)
    answer = verifier.ask(instance.sides, PATIENCE)
    assert answer.verdict.value == verdict
    assert lowest_side(instance.sides[0]) == rational(margin + slack - 6)
    if verdict == "counterexample":
        assert answer.value < 0
        assert instance.sides[0].at(answer.point) == answer.value


def test_strict_claims_break_at_zero():
    network = vee()
    model = suffice.AdditiveModel([-1 * network], intercept=-1)  # |x| - 1 < 0 at 0: the negative class, strict
    instance = Problem(model).instance([0], radius=1)
    assert instance.sides[0].is_strict
    assert ExactVerifier().ask(instance.sides, PATIENCE).verdict is Verdict.COUNTEREXAMPLE
    smaller = Problem(model).instance([0], radius=Fraction(999, 1000))
    for verifier in (ExactVerifier(), BisectionVerifier()):
        assert verifier.ask(smaller.sides, PATIENCE).holds


def test_minima_are_enclosed_past_any_budget_of_pieces():
    rng = np.random.default_rng(3)
    weights, biases = random_network(rng, hidden=(10, 10))
    model = suffice.AdditiveModel([suffice.ReluNetwork(weights, biases)], 0, task="regression")
    problem = Problem(model, max_pieces=2)
    part = problem.instance([0], radius=1, claim=suffice.AtLeast(-(10**9))).sides[0].parts[0]
    with pytest.raises(suffice.PieceBudgetError):
        _ = part.component.pieces
    lower, upper = enclose_minimum(part, 1e-8, PATIENCE)
    minimum = oracles.PlainNetwork(weights, biases, ["relu", "relu"]).minimum(Fraction(-1), Fraction(1))
    assert to_fraction(lower) <= minimum <= to_fraction(upper)
    assert upper - lower < rational("1e-7")


# --- sampling ---------------------------------------------------------------------------------------------------------


def test_the_two_kinds_of_sampling_differ():
    """Thirty features drop by 1 each, at the ends of their regions: 1,000 joint points never see them all there."""
    instance = vees([1] * 30, 29)
    assert GridSampling().ask(instance.sides, PATIENCE).verdict is Verdict.COUNTEREXAMPLE
    assert JointSampling().ask(instance.sides, PATIENCE).holds
    assert ExactVerifier().ask(instance.sides, PATIENCE).verdict is Verdict.COUNTEREXAMPLE


def test_joint_sampling_repeats_itself():
    instance = vees([1, 2], 1)
    first, second = (JointSampling(seed=5).ask(instance.sides, PATIENCE) for _ in range(2))
    assert first.point == second.point is not None


# --- what is done with answers ----------------------------------------------------------------------------------------


def test_a_counterexample_that_breaks_nothing_is_unknown_and_recorded():
    instance = vees([1, 1], 3)
    liar = Scripted(lambda query: Reply(Verdict.COUNTEREXAMPLE, (rational(1), rational(1)), "sat"))
    answer = liar.ask(instance.sides, PATIENCE)
    assert answer.verdict is Verdict.UNKNOWN
    assert answer.note == "the counterexample breaks nothing (exactly 1) sat"
    (found,) = disagreements(liar.asked, ExactVerifier(), PATIENCE)
    assert found.verdict is Verdict.COUNTEREXAMPLE


@pytest.mark.parametrize("point", [None, (rational(3), rational(3))])
def test_a_counterexample_that_is_missing_or_outside_the_box_is_unknown(point):
    liar = Scripted(lambda query: Reply(Verdict.COUNTEREXAMPLE, point))
    assert liar.ask(vees([1, 1], 3).sides, PATIENCE).verdict is Verdict.UNKNOWN


def test_a_false_proof_is_recorded_with_its_numbers():
    instance = vees([1, 1], 1)
    liar = Scripted(lambda query: "holds")
    assert liar.ask(instance.sides, PATIENCE).holds
    (found,) = disagreements(liar.asked, ExactVerifier(), PATIENCE)
    assert (found.verdict, found.minimum) == (Verdict.HOLDS, -1)


def test_calls_are_counted_and_a_question_ends_at_the_first_failure():
    instance = vees([1, 1], 1)
    verifier = ExactVerifier()
    answer = verifier.ask([*instance.sides, *instance.sides], PATIENCE)
    assert (answer.calls, len(verifier.asked)) == (1, 1)
    assert answer.seconds > 0
    assert verifier.ask(instance.sufficient([0, 1]), PATIENCE).calls == 0  # nothing is free, nobody is asked
