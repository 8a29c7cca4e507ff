"""Models as people deploy them: categories, codes and integers among the features, ensembles of networks."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from paper_cases import random_network, vee

import suffice
from suffice import MISSING, Domain, Feature
from suffice.numbers.exact import rational, to_fraction
from suffice.paper import (
    BisectionVerifier,
    ExactVerifier,
    GridSampling,
    JointSampling,
    Minimality,
    Parallel,
    Problem,
    VerifierError,
    cardinally_minimal,
    greedy_subset_minimal,
)
from suffice.paper.layers import layers_of
from suffice.paper.verifiers.propagation import lowest

PATIENCE = 20.0
RADIUS = Fraction(3, 2)
KINDS = ("ensemble", "network", "category", "ranks", "integers", "at a number", "at a code", "missing")


class World:
    """A random model of such features, a row of it, and the lowest value of each feature within the radius."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.shapes, self.features, self.row, self.here, self.low, self.high = [], [], [], [], [], []
        for kind in self.rng.choice(KINDS, size=5):
            self._add(str(kind))
        self.intercept = self._number()
        score = self.intercept + sum(self.here)
        self.is_positive = score >= 0
        falls = zip(self.here, self.low, self.high, strict=True)
        drops = [(here - low if self.is_positive else high - here, True) for here, low, high in falls]
        self.known = abs(score), drops, not self.is_positive

    def instance(self):
        model = suffice.AdditiveModel(self.shapes, self.intercept, features=self.features)
        return Problem(model).instance(self.row, RADIUS)

    def _number(self):
        return Fraction(int(self.rng.integers(-16, 17)), 8)

    def _add(self, kind):
        members = 3 if kind == "ensemble" else 1
        networks = [random_network(self.rng, hidden=(3, 3)) for _ in range(members)]
        plain = [oracles.PlainNetwork(*each, ["relu", "relu"]) for each in networks]
        shape = sum((suffice.ReluNetwork(*each) for each in networks[1:]), suffice.ReluNetwork(*networks[0]))
        shape = shape * Fraction(1, members) if members > 1 else shape

        def at(x):
            return sum(one(x)[0] for one in plain) / members

        at_row = Fraction(int(self.rng.integers(-6, 7)), 4)
        entries = {key: self._number() for key in "abcd"}
        own = {-9: self._number(), MISSING: self._number()}
        if kind in ("category", "ranks"):
            names = Domain.categories(*entries) if kind == "category" else Domain.ordered(*entries)
            reached = [entries[key] for key in ("abcd" if kind == "category" else "ab")]  # "a" may move by one rank
            self._put(suffice.Table(entries), names, "a", entries["a"], reached)
        elif kind == "integers":
            center = int(at_row)
            self._put(shape, Domain.integers(-20, 20), center, at(center), [at(center + k) for k in (-1, 0, 1)])
        elif kind in ("at a code", "missing"):
            code = -9 if kind == "at a code" else MISSING
            domain = Domain.interval(-5, 5) | Domain.codes(-9, MISSING)
            self._put(suffice.Table(own, otherwise=shape), domain, code, own[code], [own[code]])
        else:
            corners = [x for one in plain for x in one.corners(at_row - RADIUS, at_row + RADIUS)]
            reached = [at(x) for x in (at_row - RADIUS, at_row, at_row + RADIUS, *corners)]
            if kind == "at a number":
                shape = suffice.Table(own, otherwise=shape)
                domain = Domain.interval(-5, 5) | Domain.codes(-9, MISSING)
            else:
                domain = None
            self._put(shape, domain, at_row, at(at_row), reached)

    def _put(self, shape, domain, value, here, reached):
        self.shapes.append(shape)
        self.features.append(Feature(f"x{len(self.row)}", domain))
        self.row.append(value)
        self.here.append(here)
        self.low.append(min(reached))
        self.high.append(max(reached))


@pytest.fixture(params=[ExactVerifier, BisectionVerifier])
def verifier(request):
    return request.param()


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_those_of_trying_all_sets(verifier, seed):
    world = World(seed)
    result, _ = cardinally_minimal(world.instance(), verifier)
    assert oracles.sufficient(set(result.fixed), *world.known)
    assert result.size >= oracles.smallest_size(*world.known)
    if result.minimality is Minimality.CARDINAL:  # bisection cannot settle a tie, and says so
        assert result.size == oracles.smallest_size(*world.known)
    greedy = greedy_subset_minimal(world.instance(), verifier)
    assert oracles.sufficient(set(greedy.fixed), *world.known)


def test_most_of_these_worlds_are_settled_and_hold_all_kinds_of_features():
    results = [cardinally_minimal(World(seed).instance(), BisectionVerifier())[0] for seed in range(40)]
    assert sum(one.minimality is Minimality.CARDINAL for one in results) >= 36
    assert len({one.size for one in results}) >= 4
    shapes = [shape for seed in range(40) for shape in World(seed).shapes]
    assert {type(shape).__name__ for shape in shapes} == {"ReluNetwork", "Table", "Scaled"}


def test_sampling_takes_listed_values_at_their_lowest():
    table = suffice.Table({"a": 0, "b": -2, "c": 5})
    model = suffice.AdditiveModel([table, vee()], 1, features=[Feature("kind"), Feature("x")])
    instance = Problem(model).instance(["a", 0], radius=1)
    for sampling in (GridSampling(), JointSampling()):
        answer = sampling.ask(instance.sides, PATIENCE)
        assert answer.point[0] == "b"
        assert answer.value < 0
        assert sampling.ask(instance.sufficient([0]), PATIENCE).holds


def test_a_query_about_listed_values_alone_is_settled_by_looking_at_them():
    model = suffice.AdditiveModel([suffice.Table({"a": 0, "b": -2})], 1, features=["kind"])
    instance = Problem(model).instance(["a"], radius=1)
    for verifier in (BisectionVerifier(), ExactVerifier()):
        answer = verifier.ask(instance.sides, PATIENCE)
        assert (answer.point, answer.value) == (("b",), -1)
        assert verifier.ask(instance.component_at_least(0, rational(-2)), PATIENCE).holds
        assert verifier.ask(instance.component_at_least(0, rational("-1.999")), PATIENCE).value == rational("-0.001")


def test_the_lowest_of_many_integers_is_found_without_evaluating_all_exactly():
    weights, biases = random_network(np.random.default_rng(1), hidden=(6, 6))
    plain = oracles.PlainNetwork(weights, biases, ["relu", "relu"])
    feature = Feature("x", Domain.integers(-10_000, 10_000), center=7, scale=Fraction(1000, 3))
    model = suffice.AdditiveModel([suffice.ReluNetwork(weights, biases)], 0, "regression", [feature])
    part = Problem(model).instance([40], radius=700, claim=suffice.AtLeast(-(10**9))).sides[0].parts[0]
    places = {x: plain((x - Fraction(7)) / Fraction(1000, 3))[0] for x in range(40 - 700, 40 + 701)}
    found = lowest(part)
    assert to_fraction(found.value) == min(places.values()) == places[int(found.at.p)]


def test_integers_that_floats_cannot_tell_apart_are_told_apart_exactly():
    """(1 + 2⁻⁵⁰) x - x + 1 is lowest at 0, where the float bounds are highest: their error grows faster than it."""
    rising = suffice.ReluNetwork([[[1.0], [1.0]], [[1.0 + 2.0**-50, -1.0]]], [[0.0, 0.0], [1.0]])
    model = suffice.AdditiveModel([rising], 0, "regression", [Feature("x", Domain.integers())])
    part = Problem(model).instance([500], radius=500, claim=suffice.AtLeast(0)).sides[0].parts[0]
    assert lowest(part) == (0, 1)


def test_too_many_integers_are_refused():
    model = suffice.AdditiveModel([vee()], 1, features=[Feature("x", Domain.integers())])
    with pytest.raises(VerifierError, match="at most 100,000 values"):
        BisectionVerifier().ask(Problem(model).instance([0], radius=10**6).sides, PATIENCE)


def test_a_number_with_a_value_of_its_own_inside_the_interval_is_refused_and_not_overlooked():
    shape = suffice.Table({Fraction(1, 2): -100}, otherwise=vee())
    instance = Problem(suffice.AdditiveModel([shape], 2)).instance([0], radius=1)
    assert not ExactVerifier().ask(instance.sides, PATIENCE).holds
    for verifier in (BisectionVerifier(), GridSampling()):
        with pytest.raises(VerifierError, match="a number has a value of its own"):
            verifier.ask(instance.sides, PATIENCE)


# --- ensembles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [2, 3, 7])
def test_an_ensemble_is_one_network_up_to_a_whole_number(members):
    rng = np.random.default_rng(members)
    networks = [random_network(rng, hidden=(4, 3), outputs=2) for _ in range(members)]
    plain = [oracles.PlainNetwork(*each, ["relu", "relu"]) for each in networks]
    shape = sum((suffice.ReluNetwork(*each) for each in networks[1:]), suffice.ReluNetwork(*networks[0]))
    layers = layers_of("x", shape * Fraction(1, members), (members, -members))
    assert [weight.shape[0] for weight in layers.weights] == [4 * members, 3 * members, 2 * members, 1]
    assert layers.fused.is_relu
    for at in (Fraction(-7, 3), Fraction(0), Fraction(5, 4)):
        value = sum(one(at)[0] - one(at)[1] for one in plain)
        assert to_fraction(layers.at(rational(at))) == value
        assert float(layers.fused.near(np.array([float(at)]))[0]) == pytest.approx(float(value))


def test_members_that_differ_in_depth_are_refused_by_name():
    rng = np.random.default_rng(0)
    deep, flat = (suffice.ReluNetwork(*random_network(rng, hidden=hidden)) for hidden in ((3, 3), (3,)))
    instance = Problem(suffice.AdditiveModel([deep + flat], 1, features=["age"])).instance([0], radius=1)
    with pytest.raises(VerifierError, match="'age' is a sum of networks that differ in depth"):
        BisectionVerifier().ask(instance.sides, PATIENCE)
    assert ExactVerifier().ask(instance.sides, PATIENCE).verdict is not None


def test_several_processes_say_the_same_of_such_a_model():
    world = World(3)
    alone, order = cardinally_minimal(world.instance(), BisectionVerifier())
    with Parallel(BisectionVerifier(), 2) as several:
        together, same = cardinally_minimal(world.instance(), several)
    assert (together.fixed, same.intervals) == (alone.fixed, order.intervals)


@pytest.fixture(scope="module")
def nam():
    """An ensemble of three networks, fitted to a table with a category, whole numbers and missing cells."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    estimators = pytest.importorskip("suffice.nam", reason="PyTorch is not installed")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "purpose": rng.choice(["car", "house", "other"], 300),
            "age": rng.integers(18, 80, 300).astype(float),
            "income": rng.normal(size=300),
            "debt": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300)),
        }
    )
    score = (frame["purpose"] == "car") + frame["age"] / 40 + frame["income"] - frame["debt"].fillna(0.5)
    fitted = estimators.NAMClassifier((6, 6), n_members=3, max_epochs=12, random_state=0).fit(frame, score > 2)
    return fitted.to_additive(), frame


def test_a_fitted_ensemble_with_categories_is_explained_as_by_the_explainer(nam):
    model, frame = nam
    explainer, problem = suffice.Explainer(model), Problem(model)
    sizes = set()
    for row in frame.astype(object).where(frame.notna(), None).head(12).to_dict("records"):
        instance = problem.instance(row, 0.5, unit="std")
        why = explainer.explain(row, 0.5, unit="std")
        for verifier in (ExactVerifier(), BisectionVerifier()):
            result, _ = cardinally_minimal(instance, verifier)
            assert (result.size, result.minimality) == (why.size, Minimality.CARDINAL)
        sizes.add(why.size)
    assert len(sizes) > 1
