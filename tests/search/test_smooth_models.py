"""Questions about models with smooth shapes, against sampled minima and evaluation in another library."""

import copy
import json
import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from builders import sentence
from oracles.smooth import CLOSE, FUNCTIONS, PlainNetwork, exactly, samples

import suffice_check
from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    CertificateError,
    ClaimError,
    Domain,
    Enclosure,
    Explainer,
    Feature,
    ModelError,
    PiecewiseLinear,
    PiecewisePolynomial,
    PreferenceError,
    ProbabilityAtLeast,
    Smooth,
    SmoothNetwork,
    Status,
    Steps,
    Table,
    UnsettledError,
    Within,
    load,
)
from suffice.model.writing import to_bytes

KINDS = ["tanh", "gelu", "silu", "elu", "softplus", "sine", "selu", "mish"]


def network(activation, seed, outputs=1):
    rng = np.random.default_rng(seed)
    sizes = [1, 5, 4, outputs]
    weights = [(rng.normal(size=(b, a)) * 1.5 / np.sqrt(a)).astype(np.float32) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
    return SmoothNetwork(weights, biases, activation), PlainNetwork(weights, biases, [activation] * 2)


class Scene:
    """A model of smooth networks, its plain twin, and a row."""

    def __init__(self, seed, margin=0.6):
        rng = np.random.default_rng(seed)
        pairs = [network(kind, 10 * seed + k) for k, kind in enumerate(rng.permutation(KINDS)[:5].tolist())]
        self.plains = [plain for _, plain in pairs]
        self.row = [Fraction(x).limit_denominator(64) for x in rng.uniform(-1.5, 1.5, size=5).tolist()]
        here = sum(exactly(plain, x) for plain, x in zip(self.plains, self.row, strict=True))
        self.intercept = Fraction(float(margin - here)).limit_denominator(2**20)
        features = [Feature(f"x{k}", domain=Domain.interval(-3, 3)) for k in range(5)]
        self.model = AdditiveModel([shape for shape, _ in pairs], self.intercept, features=features)
        self.explainer = Explainer(self.model)

    def score(self, point):
        return self.intercept + sum(exactly(plain, Fraction(x)) for plain, x in zip(self.plains, point, strict=True))

    def drops(self, radius, count=400):
        """At least so much each feature lowers the score: the lowest of many samples."""
        ends = [(max(x - radius, Fraction(-3)), min(x + radius, Fraction(3))) for x in self.row]
        lowest = [
            min(exactly(plain, place) for place in samples(*span, count))
            for plain, span in zip(self.plains, ends, strict=True)
        ]
        return [exactly(plain, x) - low for plain, x, low in zip(self.plains, self.row, lowest, strict=True)]


def fewest_fixed(drops, margin):
    """How many features must be fixed if these are their drops."""
    free, total = 0, Fraction(0)
    for drop in sorted(drops):
        total += drop
        free += total <= margin
    return len(drops) - free


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("radius", [Fraction(1, 4), Fraction(1)])
def test_explanations_are_smallest(seed, radius):
    scene = Scene(seed)
    drops, margin = scene.drops(radius), scene.score(scene.row)
    why = scene.explainer.explain(scene.row, radius=radius, unit="raw")
    assert why.status is Status.PROVEN
    assert 0 <= margin - why.margin <= Fraction(1, 2**38)
    # Samples miss a minimum by little: drops are a little larger than theirs, and the sizes agree off ties.
    for told, sampled in zip(why.drops.values(), drops, strict=True):
        assert 0 <= told - sampled + CLOSE <= Fraction(1, 10**4)
    assert why.size == fewest_fixed(drops, margin)
    for name in why.features:
        point = list(why.counterexample(name).values())
        assert scene.score(point) < 0
        assert all(abs(a - b) <= radius for a, b in zip(point, scene.row, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_in_the_region_breaks_an_explanation(seed):
    scene = Scene(seed)
    why = scene.explainer.explain(scene.row, radius=1, unit="raw")
    rng = np.random.default_rng(seed)
    for _ in range(200):
        point = [
            x if f"x{k}" in why.features else min(max(x + Fraction(float(move)), Fraction(-3)), Fraction(3))
            for k, (x, move) in enumerate(zip(scene.row, rng.uniform(-1, 1, size=5), strict=True))
        ]
        assert scene.score(point) >= 0


@pytest.mark.parametrize("seed", range(4))
def test_contrasts_and_counterfactuals_break_the_claim(seed):
    scene = Scene(seed)
    radius = Fraction(1)
    drops, margin = sorted(scene.drops(radius), reverse=True), scene.score(scene.row)
    fewest = next((k for k in range(6) if sum(drops[:k]) > margin), None)
    contrast = scene.explainer.contrast(scene.row, radius=radius, unit="raw")
    assert contrast.is_possible == (fewest is not None)
    if fewest is not None:
        assert (contrast.size, contrast.status) == (fewest, Status.PROVEN)
        assert scene.score(list(contrast.counterexample.values())) < 0
        nearest = scene.explainer.counterfactual(scene.row, radius=radius, unit="raw")
        assert nearest.size == fewest
        assert scene.score(list(nearest.counterexample.values())) < 0
        farthest = max(abs(a - b) for a, b in zip(nearest.counterexample.values(), scene.row, strict=True))
        assert nearest.least_change <= farthest <= nearest.least_change + Fraction(1, 500)
        below = sorted(scene.drops(radius * nearest.least_change * Fraction(999, 1000)), reverse=True)
        assert sum(below[:fewest]) <= margin


@pytest.mark.parametrize("seed", range(3))
def test_a_radius_is_enclosed(seed):
    scene = Scene(seed)
    margin = scene.score(scene.row)
    largest = scene.explainer.radius(scene.row, ["x0"], unit="raw")
    if largest.radius == float("inf"):
        assert sum(scene.drops(Fraction(6))[1:]) <= margin
        return
    assert "lies less than" in largest.caveat
    assert sum(scene.drops(largest.radius)[1:]) <= margin
    assert sum(scene.drops(largest.radius + Fraction(1, 100))[1:]) > margin
    assert scene.explainer.sufficiency(scene.row, ["x0"], radius=largest.radius, unit="raw")
    beyond = largest.radius + Fraction(1, 10**6)
    broken = scene.explainer.sufficiency(scene.row, ["x0"], radius=beyond, unit="raw")
    assert not broken
    assert scene.score(list(broken.counterexample.values())) < 0


@pytest.mark.parametrize("seed", range(2))
def test_a_curve_agrees_with_explanations_inside_its_stretches(seed):
    scene = Scene(seed)
    curve = scene.explainer.curve(scene.row, until=1, unit="raw")
    start = Fraction(0)
    for step in curve.steps:
        end = Fraction(step.limit.radius)
        inside = scene.explainer.explain(scene.row, radius=(start + end) / 2, unit="raw")
        assert inside.size == step.cost
        start = end
    assert start == 1


def minimal_sets(drops, margin):
    """All sets of fixed features that suffice while none of their proper subsets does, by trying every set."""
    names = [f"x{k}" for k in range(len(drops))]
    every = [frozenset(some) for count in range(len(drops) + 1) for some in combinations(range(len(drops)), count)]
    enough = [one for one in every if sum(drop for k, drop in enumerate(drops) if k not in one) <= margin]
    least = [one for one in enough if not any(other < one for other in enough)]
    return {tuple(names[k] for k in sorted(one)) for one in least}


@pytest.mark.parametrize("seed", range(5))
def test_all_minimal_explanations_and_what_features_matter(seed):
    scene = Scene(seed)
    radius = Fraction(1)
    least = minimal_sets(scene.drops(radius), scene.score(scene.row))
    found = scene.explainer.explanations(scene.row, radius=radius, unit="raw", minimal="subset")
    assert set(found) == least
    assert found.count() == (len(least), len(least))
    smallest = {one for one in least if len(one) == min(map(len, least))}
    found = scene.explainer.explanations(scene.row, radius=radius, unit="raw", minimal="size")
    assert set(found) == smallest
    assert found.count() == (len(smallest), len(smallest))
    matter = scene.explainer.relevance(scene.row, radius=radius, unit="raw")
    assert set(matter.necessary) == set.intersection(*map(set, least))
    assert set(matter.necessary) | set(matter.relevant) == set().union(*least)
    assert matter.undecided == ()
    assert matter.status is Status.PROVEN


def test_a_tie_leaves_a_role_open():
    matter = Explainer(TIE).relevance([1, 0], radius={"a": 1, "b": 0}, unit="raw")
    assert (matter.undecided, matter.irrelevant, matter.status) == (("a",), ("b",), Status.BOUNDED)
    assert "a tie, as far as 512 bits" in str(matter)


def test_sets_come_once_though_numbers_are_enclosed_more_closely():
    # Freeing a leaves 10^-30 of the score: floats do not tell that it is enough, 128 bits do.
    near = Fraction(1) - Fraction(1, 10**30)
    explainer, radius = Explainer(TIE), {"a": near, "b": 0}
    for minimal in ("size", "subset"):
        found = explainer.explanations([1, 0], radius=radius, unit="raw", minimal=minimal)
        assert list(found) == [()]
        assert found.count() == (1, 1)
    beyond = explainer.explanations([1, 0], radius={"a": 2 - near, "b": 0}, unit="raw", minimal="subset")
    assert list(beyond) == [("a",)]
    assert explainer.relevance([1, 0], radius={"a": 2 - near, "b": 0}, unit="raw").necessary == ("a",)


def test_roles_and_lists_of_explanations_are_certified():
    scene = Scene(4)
    for minimal in ("size", "subset"):
        found = scene.explainer.explanations(scene.row, radius=1, unit="raw", minimal=minimal)
        assert "explanations" in found.certificate().text
    assert "relevance" in scene.explainer.relevance(scene.row, radius=1, unit="raw").certificate().text


@pytest.mark.parametrize("seed", range(3))
def test_ranges_hold_and_end_where_the_claim_breaks(seed):
    scene = Scene(seed)
    radius = Fraction(1)
    fixed = scene.explainer.explain(scene.row, radius=radius, unit="raw").features[::-1]
    drops, here = scene.drops(radius), [exactly(p, x) for p, x in zip(scene.plains, scene.row, strict=True)]
    found = scene.explainer.inflate(scene.row, radius=radius, unit="raw", features=fixed)
    room = scene.score(scene.row) - sum(drop for k, drop in enumerate(drops) if f"x{k}" not in fixed)
    for name in fixed:
        k = int(name[1])
        low, high = found.ranges[name].low, found.ranges[name].high
        inside = min(exactly(scene.plains[k], at) for at in samples(low, high, 120))
        assert here[k] - inside <= room
        for end, far in ((low, Fraction(-3)), (high, Fraction(3))):
            if end != far:  # just beyond, it is too low
                beyond = end + (1 if far > 0 else -1) * Fraction(1, 10**6)
                assert here[k] - exactly(scene.plains[k], beyond) > room - Fraction(1, 10**4)
        room -= here[k] - inside
    assert found.status is (Status.BOUNDED if found.caveat else Status.PROVEN)
    certificate, content = found.certificate(), to_bytes(scene.model)
    assert suffice_check.check(content, certificate.text.encode()).startswith("Proven: ")
    assert certificate.document["result"]["is_widest"] is False
    for k, one in enumerate(certificate.document["result"]["ranges"]):  # a little wider, it is no longer true
        for side, end, step in (("low", "-3", -1), ("high", "3", 1)):
            if one[side] != end:
                forged = copy.deepcopy(certificate.document)
                forged["result"]["ranges"][k][side] = str(Fraction(one[side]) + step * Fraction(1, 10**4))
                with pytest.raises(suffice_check.RejectedError):
                    suffice_check.check(content, json.dumps(forged).encode())


def test_ranges_of_integers_and_categories():
    smooth = Feature("n", domain=Domain.integers(-5, 5))
    model = AdditiveModel([Smooth("tanh"), Steps([0], [-1, 1])], Fraction(1, 2), features=[smooth, Feature("s")])
    found = Explainer(model).inflate([2, 1], radius=1, unit="raw", features=["n", "s"])
    # tanh(-5) stays above -1, so that all is well as long as s is not below 0; then s is where n leaves it.
    assert str(found.ranges["n"]) == "the integers from -5 to 5"
    assert (found.ranges["s"].low, found.ranges["s"].high) == (0, None)
    assert "the true end lies less than" in found.caveat  # of s: ends of such models are looked for by halving


def test_equal_drops_are_no_obstacle():
    shape, _ = network("tanh", 1)
    model = AdditiveModel(
        [shape, shape, shape], 1, features=[Feature(f"x{k}", domain=Domain.interval(-2, 2)) for k in "abc"]
    )
    why = Explainer(model).explain([1, 1, 1], radius=1, unit="raw")
    assert why.status is Status.PROVEN


TIE = AdditiveModel(
    [Smooth("tanh"), -1 * Smooth("tanh")], features=[Feature(name, domain=Domain.interval(-2, 2)) for name in "ab"]
)


def test_a_tie_is_bounded_and_said():
    # At a = 1, b = 0 the score is tanh(1), which a uses up exactly; b at 1 does as well.
    why = Explainer(TIE).explain([1, 0], radius={"a": 1, "b": 0}, unit="raw")
    assert (why.status, why.size, why.lower_bound) == (Status.BOUNDED, 1, 0)
    assert "a tie, as far as 512 bits" in why.caveat
    assert "a tie, as far as 512 bits" in str(why)
    contrast = Explainer(TIE).contrast([1, 0], radius={"a": 1, "b": 0}, unit="raw")
    assert contrast.status is Status.BOUNDED
    found = Explainer(TIE).sufficiency([1, 0], ["b"], radius={"a": 1, "b": 0}, unit="raw")
    assert (found.status, found.counterexample, found.document()["is_sufficient"]) == (Status.BOUNDED, None, None)
    assert "Open: that fixing b is enough is neither proven nor refuted: it is a tie" in str(found)
    with pytest.raises(UnsettledError) as error:
        bool(found)
    assert "a tie" in sentence(error)
    with pytest.raises(CertificateError) as error:
        found.certificate()
    assert "nothing to certify" in sentence(error)


def test_all_sets_at_a_tie_are_those_that_are_known_to_be_enough():
    # The empty set is enough: a uses up the score exactly, and at 0 the class stays. Balls cannot tell.
    for minimal in ("size", "subset"):
        every = Explainer(TIE).explanations([1, 0], radius={"a": 1, "b": 0}, unit="raw", minimal=minimal)
        assert list(every) == [("a",)]
        assert every.count() == (1, 2)
        for told in (every.listing(), every.counted()):
            assert (told.status, told.document()["status"]) == (Status.BOUNDED, "bounded")
            assert "a tie, as far as 512 bits" in str(told)
        assert "Proven: each of these sets is enough.\n" in str(every.listing())
        with pytest.raises(CertificateError) as error:
            every.certificate()
        assert "`sufficiency` certifies each" in sentence(error)
    by_size = Explainer(TIE).explanations([1, 0], radius={"a": 1, "b": 0}, unit="raw", minimal="size")
    assert "whether a set of a size below 1 is enough, down to 0, is a tie" in str(by_size.listing())


def waves(*others):
    """1 + sin(a) is lowest at exactly 0, where the class stays: a tie at every radius from π/2 on."""
    features = [Feature(name, domain=Domain.interval(-20, 20)) for name in "abcd"[: 1 + len(others)]]
    return Explainer(AdditiveModel([Smooth("sine"), *others], 1, features=features))


def test_lists_and_counts_hold_the_true_ones_at_a_tie():
    # The score is 2; a, b, c and d lower it by 1, 1 - 1/e, 1 and 3. So two of a, b and c can be free, not all
    # three, and never d. That a and c together use it up exactly, which is allowed, balls cannot tell.
    explainer = waves(Smooth("exp"), PiecewiseLinear([0], [0], 1, 1), PiecewiseLinear([0], [0], 3, 3))
    asked = {"radius": [4, 1, 1, 1], "unit": "raw"}
    every = explainer.explanations([0, 0, 0, 0], minimal="subset", **asked)
    assert set(every) == {("a", "d"), ("c", "d")}  # and ("b", "d"), which is tied
    assert every.count() == (2, 6)
    by_size = explainer.explanations([0, 0, 0, 0], minimal="size", **asked)
    assert set(by_size) == {("a", "d"), ("c", "d")}
    assert by_size.count() == (2, 3)
    assert "and none smaller is" in str(by_size.listing())
    assert "whether more sets of this size are enough is a tie" in str(by_size.listing())


def test_radii_curves_and_ranges_at_a_tie_have_proven_ends():
    explainer, asked = waves(Smooth("tanh")), {"unit": "raw", "immutable": ["b"]}
    found = explainer.radius([0, 0], [], **asked)
    assert found.status is Status.BOUNDED
    assert Fraction(157079, 100000) < found.radius <= Fraction(math.pi / 2)
    assert "how much further is a tie, as far as 512 bits" in str(found)
    assert found.certificate().document["result"]["fails_at"] is None
    curve = explainer.curve([0, 0], until=10, **asked)
    assert [(step.lower_bound, step.cost) for step in curve.steps] == [(0, 0), (0, 1)]
    assert curve.steps[0].limit.radius <= Fraction(math.pi / 2)
    assert "0 to 1 feature  a" in str(curve)
    assert "the true end lies less than" not in str(curve)  # for that is open, too
    with pytest.raises(CertificateError) as error:
        curve.certificate()
    assert "a tie" in sentence(error)
    ranges = explainer.inflate([0, 0], radius=0, features=["a"], unit="raw")
    assert ranges.status is Status.BOUNDED
    low, high = ranges.ranges["a"].low, ranges.ranges["a"].high
    assert -Fraction(math.pi / 2) <= low < Fraction(-157079, 100000)
    assert Fraction(471238, 100000) < high <= Fraction(3 * math.pi / 2)
    assert "whether 'a' may go further is a tie" in str(ranges)


def test_what_a_tie_keeps_from_being_free_is_said():
    explainer = waves(Smooth("tanh"))
    for ask in (
        lambda: explainer.explain([0, 0], radius=[10, 0], unit="raw", free=["a"]),
        lambda: explainer.curve([0, 0], unit="raw", free=["a"]),
    ):
        with pytest.raises(PreferenceError) as error:
            ask()
        assert "a tie, as far as 512 bits" in sentence(error)
        assert "free fewer" in sentence(error)
    with pytest.raises(ClaimError) as error:
        explainer.inflate([0, 0], radius=[10, 0], features=["b"], unit="raw")
    assert "that 'b' suffices at this radius is a tie" in sentence(error)


def test_next_to_a_tie_all_is_proven():
    near = Fraction(1) + Fraction(1, 10**40)
    why = Explainer(TIE).explain([1, 0], radius={"a": near, "b": 0}, unit="raw")
    assert (why.status, why.size) == (Status.PROVEN, 1)
    why = Explainer(TIE).explain([1, 0], radius={"a": 2 - near, "b": 0}, unit="raw")
    assert (why.status, why.size) == (Status.PROVEN, 0)


def test_immutable_and_constant_features_have_no_drop():
    dead = SmoothNetwork([[[0.0]], [[1.0]]], [[0.5], [0.0]], "gelu")
    model = AdditiveModel([Smooth("tanh"), dead], 1)
    why = Explainer(model).explain([1, 1], radius=3, unit="raw", immutable=["x0"])
    assert why.drops["x0"] == 0
    assert why.drops["x1"] < Fraction(1, 2**38)
    assert why.size == 0


def test_several_classes():
    shapes = [network(kind, k, outputs=3)[0] for k, kind in enumerate(["tanh", "silu", "gelu"])]
    features = [Feature(f"x{k}", domain=Domain.interval(-2, 2)) for k in range(3)]
    model = AdditiveModel(shapes, [0, 0, 0], "multiclass", features, classes=["a", "b", "c"])
    explainer = Explainer(model)
    row = [Fraction(1, 2), 0, -1]
    why = explainer.explain(row, radius=Fraction(1, 4), unit="raw")
    assert why.status is Status.PROVEN
    for name in why.features:
        point = why.counterexample(name)
        assert explainer.predict(point) != why.prediction


def test_claims_about_scores_and_probabilities():
    scene = Scene(1, margin=2.5)
    row, explainer = scene.row, scene.explainer
    for claim in (Within(1), AtLeast(1), ProbabilityAtLeast("0.6")):
        why = explainer.explain(row, radius=1, unit="raw", claim=claim)
        assert why.status is Status.PROVEN
        for name in why.features:
            point = list(why.counterexample(name).values())
            score = scene.score(point)
            if isinstance(claim, Within):
                assert abs(score - scene.score(row)) > 1
            elif isinstance(claim, AtLeast):
                assert score < 1
            else:
                assert 1 / (1 + np.exp(-float(score))) < 0.6


def test_a_regression_predicts_an_enclosure():
    model = AdditiveModel([Smooth("exp")], 0, "regression", ["x"])
    explainer = Explainer(model)
    predicted = explainer.predict([1])
    assert isinstance(predicted, Enclosure)
    true = exactly(FUNCTIONS["exp"], 1)
    assert Fraction(str(predicted.low)) <= true + CLOSE
    assert true - CLOSE <= Fraction(str(predicted.high))
    why = explainer.explain([1], radius=1, unit="raw", claim=AtLeast(0))
    assert "Prediction: 2.71828" in str(why)
    assert why.document()["prediction"]["float"] == pytest.approx(2.718281828459045)


def test_smooth_beside_exact_shapes():
    cubic = PiecewisePolynomial([], [[0, -2, 0, 1]])
    model = AdditiveModel(
        [Smooth("tanh"), cubic, Steps([0], [-1, 1])],
        1,
        features=[Feature(n, domain=Domain.interval(-2, 2)) for n in "abc"],
    )
    why = Explainer(model).explain([1, 1, 1], radius=2, unit="raw")
    assert why.status is Status.PROVEN
    assert why.drops["c"] == 2


def test_preferences_groups_and_few_changes():
    scene = Scene(2)
    free = scene.explainer.explain(scene.row, radius=1, unit="raw", cost={"x0": 5})
    assert free.status is Status.PROVEN
    grouped = scene.explainer.explain(scene.row, radius=1, unit="raw", groups=[["x0", "x1"], ["x2", "x3"]])
    assert grouped.status is Status.PROVEN
    few = scene.explainer.explain(scene.row, radius=1, unit="raw", max_changed=1)
    assert few.status is Status.PROVEN
    assert few.size == sum(drop > scene.score(scene.row) for drop in scene.drops(Fraction(1)))


def test_a_batch_answers_each_row_alone():
    scene = Scene(3)
    rows = np.array([[float(x) for x in scene.row], [0.5] * 5, [-1.25] * 5])
    batch = scene.explainer.explain_batch(rows, radius=0.5, unit="raw")
    for k, row in enumerate(rows.tolist()):
        assert batch.sizes[k] == scene.explainer.explain(row, radius=0.5, unit="raw").size


def test_a_model_is_written_and_read(tmp_path):
    scene = Scene(4)
    scene.model.save(tmp_path / "model.safetensors")
    again = Explainer(load(tmp_path / "model.safetensors"))
    one, other = (each.explain(scene.row, radius=1, unit="raw") for each in (scene.explainer, again))
    assert one.document() == other.document()


def test_what_cannot_be_asked_yet_is_refused():
    explainer = Explainer(AdditiveModel([Smooth("tanh")], 1))
    assert explainer.monotone("x0", 1)
    with pytest.raises(ModelError) as error:
        explainer.explain([1], radius=1, unit="raw", arithmetic="float32")
    assert "smooth shapes" in sentence(error)


def test_a_domain_needs_ends_or_the_question_a_radius():
    explainer = Explainer(AdditiveModel([-1 * Smooth("box_cox", -0.5)], 3))  # falls, and nears a limit
    assert explainer.explain([1], radius="1/2", unit="raw").status is Status.PROVEN
    with pytest.raises(ModelError) as error:
        explainer.explain([1], radius="inf", unit="raw")
    assert "give the feature a domain" in sentence(error)


def test_domains_without_ends_are_answered():
    """Networks are near lines far out: what rises there, or has a limit, is bounded; what falls, has no bound."""
    pairs = [network(kind, seed) for kind, seed in (("tanh", 3), ("gelu", 4), ("elu", 5), ("sigmoid", 6))]
    shapes, plains = zip(*pairs, strict=True)
    row = [Fraction(1, 2), Fraction(1, 10), Fraction(-1, 5), Fraction(3, 10)]
    here = [exactly(plain, x) for plain, x in zip(plains, row, strict=True)]
    explainer = Explainer(AdditiveModel(shapes, Fraction(round(2 - sum(here))), features=list("abcd")))
    steps = [*(Fraction(k, 16) for k in range(1, 160)), *(Fraction(k**4, 1000) for k in range(10, 60))]
    far = [side * step for step in steps for side in (-1, 1)]
    why = explainer.explain(row, "inf")
    assert why.status is Status.PROVEN
    for name, plain, x, own in zip("abcd", plains, row, here, strict=True):
        lowest = min(exactly(plain, x + step) for step in far)
        assert own - lowest <= why.drops[name] + CLOSE
        if why.drops[name] != math.inf:
            assert why.drops[name] <= own - lowest + Fraction(1, 1000)
    for fixed in ([], ["a"], ["b", "c"]):
        found = explainer.radius(row, fixed, unit="raw")
        if found.radius == math.inf:
            assert bool(explainer.sufficiency(row, fixed, "inf")) == found.is_attained
        else:
            assert explainer.is_sufficient(row, fixed, found.radius, unit="raw")
            assert not explainer.is_sufficient(row, fixed, found.radius + Fraction(1, 100), unit="raw")
    with pytest.raises(CertificateError) as error:
        why.certificate()
    assert "over regions with ends only" in sentence(error)


@pytest.mark.parametrize(("intercept", "least", "most"), [
    (Fraction(1, 2), math.atanh(0.5), math.atanh(0.5)),  # it falls to -1/2, where tanh is
    (1, 100, math.inf),  # towards 0, which it never reaches: no enclosure tells
    (Fraction(3, 2), math.inf, math.inf),
])  # fmt: skip
def test_how_far_a_function_may_go_that_nears_its_limit(intercept, least, most):
    found = Explainer(AdditiveModel([Smooth("tanh")], intercept, features=["a"])).radius([1], [], unit="raw")
    assert least + 1 - 1e-6 <= found.radius <= most + 1
    assert found.status is (Status.PROVEN if least == math.inf else Status.BOUNDED)
    assert ("a tie" in str(found)) == (intercept == 1)


def test_special_codes_are_reached_on_the_whole_domain_only():
    features = [Feature("a", domain=Domain.reals() | Domain.codes(MISSING)), Feature("b")]
    for code, intercept, row in ((-9, 2, [1, 0]), (9, -1, [MISSING, 0])):
        shapes = [Table({MISSING: code}, Smooth("tanh")), Smooth("sigmoid")]
        explainer = Explainer(AdditiveModel(shapes, intercept, features=features))
        found = explainer.radius(row, [], unit="raw")
        assert (found.radius, found.is_attained, found.status) == (math.inf, False, Status.PROVEN)
        assert explainer.explain(row, "inf").features == ("a",)
