"""Models: what they must consist of, how they are compiled and what they decide by."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import AGE_AND_COLOUR, RISING, sentence

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    ReluNetwork,
    Steps,
    Table,
)

MODELS = [
    (lambda: AdditiveModel([], 0), "at least one shape"),
    (lambda: AdditiveModel([RISING], math.nan), "the intercept: nan"),
    (lambda: AdditiveModel([RISING], 0, "regresion"), "task must be 'binary', .*, got 'regresion'"),
    (lambda: AdditiveModel([RISING], 0, features=["a", "b"]), "1 shapes need 1 features, got 2"),
    (lambda: AdditiveModel([RISING, RISING], 0, features=["a", "a"]), "two features are called 'a'"),
    (lambda: AdditiveModel([RISING], 0, features=[3]), "needs a name, got 3"),
    (lambda: AdditiveModel([[1.0]], 0, features=["a"]), "the shape of 'a' is a list"),
    (lambda: AdditiveModel([Steps([0], [[1, 2], [3, 4]])], 0), "'x0' has 2 outputs, but the model has 1"),
    (lambda: AdditiveModel([RISING], classes=[1, 1]), "2 different classes"),
    (lambda: AdditiveModel([RISING], [0, 1]), "a binary model has one score and one intercept, got 2"),
    (lambda: AdditiveModel([RISING], [0], "multiclass"), "2 or more classes, got 1"),
    (lambda: AdditiveModel([RISING], 0, "regression", classes=[1]), "0 different classes"),
    (lambda: AdditiveModel([RISING], ties="even"), "'positive' or the 'negative' class, got 'even'"),
    (
        lambda: AdditiveModel([Table({"a": 1})], features=[Feature("f", Domain.categories("a", "b"))]),
        "'f' can be one of a, b",
    ),
    (
        lambda: AdditiveModel([Table({1: 1, 2: 2})], features=[Feature("f", Domain.integers(1, 3))]),
        "only has values on",
    ),
    (lambda: AdditiveModel([RISING], features=[Feature("f", Domain.codes(MISSING))]), "can be one of missing"),
    (lambda: Feature("f", scale=0), "the scale of 'f' is 0"),
    (lambda: Feature("f", deviation=-1), "it cannot be negative"),
    (lambda: Feature("f", center="mid"), "center of 'f': 'mid' is not a number"),
    (lambda: Domain.interval(2, 1), "no number from 2 to 1"),
    (lambda: Domain.integers("0.1", "0.9"), "no integer from '0.1' to '0.9'"),
    (lambda: Domain.interval(math.nan, 1), "in a domain: nan"),
    (lambda: Domain.categories(), "at least one value"),
    (lambda: Domain.categories(math.inf), "in a domain: inf"),
    (lambda: Domain.reals() | Domain.categories(1), r"category 1 also lies in \(-∞, ∞\)"),
    (lambda: Domain.interval(-9, 9) | Domain.codes(-9), r"special code -9 also lies in \[-9, 9\]"),
    (
        lambda: AdditiveModel([RISING], features="a"),
        "in the order of the shapes, got 'a'",
    ),
    (lambda: AdditiveModel([RISING, RISING], features={"a", "b"}), "features must be a list"),
    (lambda: AdditiveModel([RISING], classes={0, 1}), "classes must be a list"),
    (lambda: AdditiveModel(RISING), "shapes must be a list"),
    (lambda: Feature("f", (0, 1)), r"the domain of 'f' must be a Domain, got \(0, 1\)"),
    (lambda: Domain.interval(10**5000, 1), r"no number from a number near 1e\+5000 to 1"),
    (lambda: Domain.codes(None), "write suffice.MISSING"),
    (lambda: Domain.integers(0, 3) | Domain.codes("2"), "the label '2' is also a number of the domain"),
    (lambda: Explainer(AGE_AND_COLOUR, max_pieces=None), "max_pieces must be a whole number, 1 or more, got None"),
]


@pytest.mark.parametrize(("build", "words"), MODELS, ids=lambda v: v if isinstance(v, str) else "given")
def test_models(build, words):
    with pytest.raises(suffice.ModelError, match=words) as error:
        build()
    sentence(error)


def test_a_model_is_compiled_within_its_budget():
    wide = ReluNetwork([np.ones((20, 1)), np.ones((1, 20))], [np.arange(20.0), None])
    model = AdditiveModel([RISING, wide], features=["a", "wide one"])
    assert len(Explainer(model, max_pieces=21).pieces["wide one"][0].knots) == 20
    with pytest.raises(suffice.PieceBudgetError, match=r"'wide one'.*max_pieces = 20"):
        model.compile(max_pieces=20)


def test_models_with_several_scores_or_none_to_decide_by():
    three = AdditiveModel([Steps([0], [[1, 2, 2], [3, 1, 0]])], [0, 0, 0], "multiclass", classes=["a", "b", "c"])
    explainer = Explainer(three)
    assert [explainer.predict([x]) for x in (-1, 1)] == ["b", "a"]  # a tie goes to the first
    assert explainer.score([-1]) == (1, 2, 2)
    assert Explainer(AdditiveModel([RISING], 1, "regression")).predict([0.5]) == Fraction(3, 2)
    assert explainer.explain([1], radius=1, unit="raw").features == ()
    assert explainer.explain([1], radius=2, unit="raw").features == ("x0",)


class Name(str):
    """A name that counts how often any is looked up."""

    looked_up = 0
    __slots__ = ()

    def __hash__(self):
        Name.looked_up += 1
        return str.__hash__(self)


def test_features_are_not_looked_up_each_among_all():
    names = [Name(f"f{k}") for k in range(2000)]
    AdditiveModel([Steps([0], [0, 1])] * len(names), features=names)
    assert Name.looked_up < 20 * len(names)
