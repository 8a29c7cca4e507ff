"""How likely a class is, and between what its probability stays: against all inputs of small models, in floats."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from suffice import AdditiveModel, Domain, Explainer, Feature, PairSteps, PiecewisePolynomial, Smooth, Steps, Table
from suffice.core.outlook import probability


def small_model(seed, task="binary", classes=2, **options):
    """Three features, two of few integers and one of three names, with random steps."""
    random = np.random.default_rng(seed)
    outputs = classes if task == "multiclass" else 1

    def steps():
        values = random.integers(-8, 9, (4, outputs)) / 4
        return Steps([1, 2, 3], values.tolist() if outputs > 1 else values[:, 0].tolist())

    names = {name: (random.integers(-4, 5, outputs) / 4).tolist() for name in "abc"}
    table = Table(names if outputs > 1 else {name: value[0] for name, value in names.items()})
    intercept = (random.integers(-4, 5, outputs) / 8).tolist()
    features = [Feature(n, Domain.integers(0, 4), deviation=1) for n in ("x", "y")] + [Feature("z")]
    return AdditiveModel(
        [steps(), steps(), table], intercept if outputs > 1 else intercept[0], task, features, **options
    )


def likelihood(explainer, row, winner):
    """The probability of a class by the textbook, in floats."""
    score, offset = explainer.score(row), explainer.model.logit_offset
    if isinstance(score, tuple):
        each = [math.exp(float(one - score[winner])) for one in score]
        return 1 / sum(each)
    logit = (float(score) + float(Fraction(str(offset)))) * (1 if winner else -1)
    return 1 / (1 + math.exp(-logit))


def everywhere(why, radius):
    """All inputs of the region in which the fixed features keep the row's values."""
    cells = []
    for name, value in zip(("x", "y", "z"), why.row, strict=True):
        if name in why.features:
            cells.append([value])
        elif name == "z":
            cells.append(list("abc") if radius else [value])
        else:
            cells.append([v for v in range(5) if abs(v - int(value)) <= radius])
    return product(*cells)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("offset", [0, 1.5])
def test_the_range_of_a_probability_is_that_of_all_inputs(seed, offset):
    explainer, row = Explainer(small_model(seed, logit_offset=offset)), {"x": 2, "y": 1, "z": "b"}
    why = explainer.explain(row, radius=1)
    winner = why.model.classes.index(why.prediction)
    seen = [likelihood(explainer, point, winner) for point in everywhere(why, 1)]
    assert why.probability == pytest.approx(likelihood(explainer, row, winner), rel=1e-12)
    low, high = why.probability_range
    assert (low, high) == (pytest.approx(min(seen), rel=1e-12), pytest.approx(max(seen), rel=1e-12))
    assert low <= why.probability <= high
    assert why.document()["probability_range"] == [low, high]


@pytest.mark.parametrize("seed", range(20))
def test_of_several_classes_the_low_end_is_proven(seed):
    explainer, row = Explainer(small_model(seed, "multiclass", 3)), {"x": 2, "y": 1, "z": "b"}
    why = explainer.explain(row, radius=1)
    winner = why.model.classes.index(why.prediction)
    seen = [likelihood(explainer, point, winner) for point in everywhere(why, 1)]
    assert why.probability == pytest.approx(likelihood(explainer, row, winner), rel=1e-12)
    low, high = why.probability_range
    assert low <= min(seen)
    assert low > 0
    assert high == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_regression_stays_between_what_it_can_be(seed):
    explainer, row = Explainer(small_model(seed, "regression")), {"x": 2, "y": 1, "z": "b"}
    from suffice import Within

    why = explainer.explain(row, radius=1, claim=Within(1))
    seen = [float(explainer.score(point)) for point in everywhere(why, 1)]
    low, high = why.prediction_range
    assert (low, high) == (pytest.approx(min(seen), abs=1e-12), pytest.approx(max(seen), abs=1e-12))
    assert low <= min(seen)
    assert high >= max(seen)
    assert (why.probability, why.probability_range) == (None, None)


def test_pairs_have_a_proven_low_end():
    pair = {("x", "y"): PairSteps([2], [1], [[0, 3], [-2, 1]])}
    features = [Feature(name, Domain.integers(0, 4), deviation=1) for name in ("x", "y")]
    model = AdditiveModel([Steps([1], [0, 1]), Steps([3], [2, 0])], features=features, pairs=pair)
    explainer = Explainer(model)
    why = explainer.explain([1, 1], radius=1)
    free = [[1] if name in why.features else [0, 1, 2] for name in ("x", "y")]
    winner = why.model.classes.index(why.prediction)
    seen = [likelihood(explainer, point, winner) for point in product(*free)]
    assert why.probability_range[0] == pytest.approx(min(seen), rel=1e-12)


def test_models_without_a_probability_show_none():
    svm = small_model(0, logit_offset=None)
    why = Explainer(svm).explain({"x": 2, "y": 1, "z": "b"}, radius=1)
    assert (why.probability, why.probability_range) == (None, None)
    assert "robability" not in str(why)
    assert f"{float(why.margin):g} of the score)" in str(why)
    several = small_model(0, "multiclass", 3, logit_offset=None)
    assert not several.has_probability
    assert "robability" not in str(Explainer(several).explain({"x": 2, "y": 1, "z": "b"}, radius=1))


@pytest.mark.parametrize(("score", "words"), [(9, "above 0.999"), (0, "0.500"), (10_000, "above 0.999"), (2, "0.881")])
def test_probabilities_in_words(score, words):
    why = Explainer(AdditiveModel([Steps([0], [0, 0])], score, features=[Feature("x", deviation=1)])).explain([1])
    assert f"(probability {words}, margin" in str(why)


def test_extreme_scores_have_sound_bounds():
    for score in (600, 10**6):
        explainer = Explainer(AdditiveModel([Steps([0], [0, -2 * score])], score, features=[Feature("x", deviation=1)]))
        found = probability(explainer.explain([-9]).case)
        assert 0 < float(Fraction(str(1 - found.low))) < 1e-200
        assert found.high <= 1
        why = explainer.explain([-9], radius=20, fix=[])
        assert why.features == ("x",)


def test_without_bounds_nothing_is_said():
    line = AdditiveModel([Steps([0], [0, 1])], 1, "regression", [Feature("x", Domain.interval(0), deviation=1)])
    from suffice import AtLeast

    assert Explainer(line).explain([1], claim=AtLeast(0)).prediction_range == pytest.approx((2.0, 2.0))
    curve = PiecewisePolynomial([0], [[0, 0, 1], [0, 0, 1]])
    why = Explainer(AdditiveModel([curve], 1, features=[Feature("x", deviation=1)])).explain([1])
    assert why.probability == pytest.approx(1 / (1 + math.exp(-2)))
    assert why.probability_range == pytest.approx([1 / (1 + math.exp(-score)) for score in (1.25, 3.25)])
    why = Explainer(AdditiveModel([Smooth("tanh")], 1, features=[Feature("x", deviation=1)])).explain([1])
    assert why.probability == pytest.approx(1 / (1 + math.exp(-1 - math.tanh(1))))
    assert why.probability_range is None  # where a smooth shape goes is only enclosed
