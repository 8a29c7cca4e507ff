"""Each bad input gets one clear sentence of our own error class: which value, why, what to do."""

import math
import pickle
from decimal import Decimal

import numpy as np
import pytest

import suffice
from suffice import (
    MISSING,
    Activation,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ReluNetwork,
    Steps,
    Table,
)

LINE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
MODEL = AdditiveModel(
    [LINE, Table({"red": 1, "blue": 2})], 0, features=[Feature("age", Domain.interval(0, 120)), "colour"]
)
EXPLAINER = Explainer(MODEL)
ROW = {"age": 40, "colour": "red"}

ROWS = [
    ([40], "needs 2 values, one for each feature, got 1"),
    ([40, "red", 1], "got 3"),
    ({"age": 40}, "'colour' is missing"),
    ({"age": 40, "color": "red", "colour": "red"}, "'color' is not a feature; did you mean 'colour'"),
    ({"age": 121, "colour": "red"}, r"'age' is 121, outside its domain: \[0, 120\]"),
    ({"age": math.nan, "colour": "red"}, r"'age' is nan, outside its domain"),
    ({"age": None, "colour": "red"}, r"'age' is None, outside its domain"),
    ({"age": math.inf, "colour": "red"}, "'age': inf is not a finite number"),
    ({"age": "old", "colour": "red"}, "'age': 'old' is not a number"),
    ({"age": "1e99999999", "colour": "red"}, "digits"),
    ({"age": Decimal("1e99999999"), "colour": "red"}, "digits"),
    ({"age": "1/0", "colour": "red"}, "not a number"),
    ({"age": [1], "colour": "red"}, r"\[1\] is not a number"),
    ({"age": 40, "colour": "green"}, "'colour' is 'green', outside its domain: one of red, blue"),
    ({"age": 40, "colour": 1}, "'colour' is 1, outside its domain"),
    ({"age": 40, "colour": math.nan}, "'colour' is nan, outside its domain"),
    (np.zeros((2, 2)), r"shape \(2, 2\); pass one row"),
    (np.zeros(()), r"shape \(\); pass one row"),
    ({"age": 10**5000, "colour": "red"}, "'age' is a number near inf, outside its domain"),
    ({"age": np.timedelta64(5, "D"), "colour": "red"}, "is not a number"),
    ("40", "a sequence or a mapping"),
    ({40, "red"}, "a sequence or a mapping"),
    (7, "a sequence or a mapping"),
]

RADII = [
    (-1, "is -1; it cannot be negative"),
    (math.nan, "nan is not a finite number"),
    (-math.inf, "-inf is not a finite number"),
    ("wide", "'wide' is not a number"),
    ({"age": 1}, "'colour' is missing.*0 holds a feature fixed"),
    ({"age": 1, "colour": 1, "size": 1}, "'size' is not a feature"),
    ([1, -2], "radius of 'colour' is -2"),
    ([1], "got 1"),
    (-(10**5000), "is a number near -inf; it cannot be negative"),
    (None, "None is not a number"),
]

MODELS = [
    (lambda: AdditiveModel([], 0), "at least one shape"),
    (lambda: AdditiveModel([LINE], math.nan), "the intercept: nan"),
    (lambda: AdditiveModel([LINE], 0, "regresion"), "task must be 'binary', .*, got 'regresion'"),
    (lambda: AdditiveModel([LINE], 0, features=["a", "b"]), "1 shapes need as many features, got 2"),
    (lambda: AdditiveModel([LINE, LINE], 0, features=["a", "a"]), "two features are called 'a'"),
    (lambda: AdditiveModel([LINE], 0, features=[3]), "needs a name, got 3"),
    (lambda: AdditiveModel([[1.0]], 0, features=["a"]), "the shape of 'a' is a list"),
    (lambda: AdditiveModel([Steps([0], [[1, 2], [3, 4]])], 0), "'x0' has 2 outputs, but the model has 1"),
    (lambda: AdditiveModel([LINE], classes=[1, 1]), "2 different classes"),
    (lambda: AdditiveModel([LINE], [0, 1]), "a binary model has one score and one intercept, got 2"),
    (lambda: AdditiveModel([LINE], [0], "multiclass"), "2 or more classes, got 1"),
    (lambda: AdditiveModel([LINE], 0, "regression", classes=[1]), "0 different classes"),
    (lambda: AdditiveModel([LINE], ties="even"), "'positive' or the 'negative' class, got 'even'"),
    (
        lambda: AdditiveModel([Table({"a": 1})], features=[Feature("f", Domain.categories("a", "b"))]),
        "'f' can be one of a, b",
    ),
    (
        lambda: AdditiveModel([Table({1: 1, 2: 2})], features=[Feature("f", Domain.integers(1, 3))]),
        "only has values on",
    ),
    (lambda: AdditiveModel([LINE], features=[Feature("f", Domain.codes(MISSING))]), "can be one of missing"),
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
        lambda: AdditiveModel([LINE], features="a"),
        "in the order of the shapes, got 'a'",
    ),
    (lambda: AdditiveModel([LINE, LINE], features={"a", "b"}), "features must be a list"),
    (lambda: AdditiveModel([LINE], classes={0, 1}), "classes must be a list"),
    (lambda: AdditiveModel(LINE), "shapes must be a list"),
    (lambda: Feature("f", (0, 1)), r"the domain of 'f' must be a Domain, got \(0, 1\)"),
    (lambda: Domain.interval(10**5000, 1), "no number from a number near inf to 1"),
    (lambda: Domain.codes(None), "write suffice.MISSING"),
    (lambda: Domain.integers(0, 3) | Domain.codes("2"), "the label '2' is also a number of the domain"),
    (lambda: Explainer(MODEL, max_pieces=None), "max_pieces must be a whole number from 1 up, got None"),
    (lambda: Explainer("model.pkl"), "takes an AdditiveModel or a fitted NAM, got 'model.pkl'"),
]

SHAPES = [
    (lambda: ReluNetwork([], []), "1 or more layers, got 0 and 0"),
    (lambda: ReluNetwork([[[1.0]]], []), "got 1 and 0"),
    (
        lambda: ReluNetwork([[[1.0, 2.0]]], [None]),
        r"weights\[0\] has shape \(1, 2\).*\(units, 1\); it looks transposed",
    ),
    (lambda: ReluNetwork([[1.0]], [None]), r"weights\[0\] has shape \(1,\)"),
    (
        lambda: ReluNetwork([[[1.0], [1.0]], [[1.0]]], [None, None]),
        r"weights\[1\] has shape \(1, 1\), but layer 1 has 2 units",
    ),
    (lambda: ReluNetwork([[[1.0]]], [[1.0, 2.0]]), r"biases\[0\] has shape \(2,\)"),
    (lambda: ReluNetwork([[[1.0]]], [[math.nan]]), r"biases\[0\]\[0\] is nan"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], "gelu"), "unknown activation 'gelu'"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], ["relu", "relu"]), "2 layers have 1 activations"),
    (
        lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], Activation.leaky_relu([0.1, 0.2])),
        "has 2 slopes, but layer 1",
    ),
    (lambda: ReluNetwork([[[1.0]]], [None], skips={1: 1}), "does not lead forward"),
    (lambda: ReluNetwork([[[1.0], [1.0]]], [None], skips={1: 0}), "adds 1 numbers to 2"),
    (lambda: ReluNetwork([np.array([[200.0]], np.float32)], [None], exu=True), "exp overflows"),
    (lambda: ReluNetwork(None, None), "must be lists"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], None), "activations must be a name"),
    (lambda: ReluNetwork([[[1.0]], [[1.0]]], [None, None], [["relu"]]), "unknown activation"),
    (lambda: ReluNetwork([[[1.0]]], [None], skips={"1": 0}), "two layers by their numbers"),
    (lambda: ReluNetwork([[[1.0]]], [None], skips=5), "skips must be a mapping"),
    (lambda: Activation.relu_n(2**53 + 1), "the n of an activation holds the integer"),
    (lambda: Activation.relu_n("6"), "the n of an activation"),
    (lambda: Steps("12", [1, 2, 3]), "cuts must be a list of numbers, got '12'"),
    (lambda: Steps([0], 5), "values must be a list of numbers, got 5"),
    (lambda: Table([1]), "a table takes a mapping"),
    (lambda: Table({"a": 1}, otherwise="x"), "another shape"),
    (lambda: Activation.relu_n(0), "n = 0"),
    (lambda: Activation.hard_tanh(1, -1), r"\[1, -1\]"),
    (lambda: Activation.leaky_relu(math.nan), "nan"),
    (lambda: Activation.leaky_relu([]), r"shape \(0,\)"),
    (lambda: Steps([1, 1], [0, 0, 0]), r"cuts\[0\] = 1 is followed by 1"),
    (lambda: Steps([1], [0]), "1 cuts make 2 bins, got 1 values"),
    (lambda: Steps([1], [0, math.inf]), r"values\[1\]: inf"),
    (lambda: Steps([1], [0, [1, 2]]), "same number of outputs"),
    (lambda: Steps([1], [[], []]), "empty"),
    (lambda: Steps([1], [0, 1], closed="both"), "'left' or 'right', got 'both'"),
    (lambda: PiecewiseLinear([], []), "got 0 and 0"),
    (lambda: PiecewiseLinear([0], [[1, 2]], left_slope=[1, 2, 3]), "left_slope has 3 entries for 2 outputs"),
    (lambda: Table({}), "no entries"),
    (lambda: Table({"a": 1, "b": [1, 2]}), "same number of outputs"),
    (lambda: Table({math.nan: 1}), "table key: nan"),
    (lambda: Table({None: 1}), "table key: None is not a number"),
    (lambda: LINE + Steps([0], [[1, 2], [3, 4]]), "shapes with 1 and 2 outputs"),
    (lambda: LINE.rescaled(0, 0), "scale of 0"),
]


def sentence(error):
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300
    return text


@pytest.mark.parametrize(("row", "words"), ROWS, ids=lambda v: v if isinstance(v, str) else "given")
def test_rows(row, words):
    with pytest.raises((suffice.RowError, suffice.FeatureNameError), match=words) as error:
        EXPLAINER.explain(row, radius=1)
    sentence(error)


@pytest.mark.parametrize(("radius", "words"), RADII, ids=lambda v: v if isinstance(v, str) else "given")
def test_radii(radius, words):
    with pytest.raises((suffice.RadiusError, suffice.FeatureNameError), match=words) as error:
        EXPLAINER.explain(ROW, radius=radius)
    sentence(error)


def test_units_and_held_features():
    with pytest.raises(suffice.RadiusError, match="unit must be 'raw', 'std' or 'model', got 'sd'"):
        EXPLAINER.explain(ROW, radius=1, unit="sd")
    with pytest.raises(suffice.RadiusError, match="'age' has no standard deviation"):
        EXPLAINER.explain(ROW, radius=1, unit="std")
    with pytest.raises(suffice.FeatureNameError, match="'sex' is not a feature"):
        EXPLAINER.explain(ROW, radius=1, held=["sex"])
    with pytest.raises(suffice.FeatureNameError, match="'age' is not a list of feature names"):
        EXPLAINER.explain(ROW, radius=1, held="age")


def test_feature_lists():
    with pytest.raises(suffice.FeatureNameError, match="'agee' is not a feature; did you mean 'age'"):
        EXPLAINER.is_sufficient(ROW, ["agee"], radius=1)
    with pytest.raises(suffice.FeatureNameError, match="'age' is not a list of feature names"):
        EXPLAINER.is_sufficient(ROW, "age", radius=1)
    why = EXPLAINER.explain(ROW, radius=1)
    with pytest.raises(suffice.FeatureNameError, match="'age' is not a kept feature: there is none"):
        why.counterexample(without="age")


@pytest.mark.parametrize(("build", "words"), MODELS, ids=lambda v: v if isinstance(v, str) else "given")
def test_models(build, words):
    with pytest.raises(suffice.ModelError, match=words) as error:
        build()
    sentence(error)


@pytest.mark.parametrize(("build", "words"), SHAPES, ids=lambda v: v if isinstance(v, str) else "given")
def test_shapes(build, words):
    with pytest.raises(suffice.ShapeError, match=words) as error:
        build()
    sentence(error)


@pytest.mark.parametrize(
    "error", [suffice.PieceBudgetError("age", 7, 2), suffice.FeatureNameError("agee", ["age"]), suffice.RowError("no")]
)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert isinstance(again, suffice.SufficeError)


def test_tables_in_place_of_rows():
    pandas = pytest.importorskip("pandas", reason="tables from pandas")
    frame = pandas.DataFrame({"age": [40, 50], "colour": ["red", "blue"]})
    for wrong in (frame, frame.iloc[[0]], pandas.DataFrame([[40.0, 1.0]])):
        with pytest.raises(suffice.RowError, match=r"pass one row, X\[k\] or X.iloc\[k\]"):
            EXPLAINER.explain(wrong, radius=1)
    assert EXPLAINER.predict(frame.iloc[0]) == 1
    with pytest.raises(suffice.RowError, match="names 'age' twice"):
        EXPLAINER.predict(pandas.Series([1, 2, "red"], index=["age", "age", "colour"]))


def test_messages_about_large_domains_are_short():
    many = AdditiveModel([Table({f"c{k}": k for k in range(10_000)})], features=["code"])
    with pytest.raises(suffice.RowError, match="and 9992 more") as error:
        Explainer(many).predict(["none"])
    sentence(error)
