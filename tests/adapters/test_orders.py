"""Orders of categories that users have stated elsewhere: in pandas frames, and to encoders."""

import numpy as np
import pytest

from suffice import Domain, Explainer, from_model

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder  # noqa: E402

SIZES = ["small", "medium", "large", "huge"]  # the alphabet has another order
RANKS = np.arange(120) % 3  # nothing is huge
FRAME = pandas.DataFrame(
    {"size": [SIZES[k] for k in RANKS], "age": np.arange(120) % 50, "kind": [("x", "y")[k % 2] for k in range(120)]}
)
TARGET = (RANKS + FRAME["age"] / 30 + (FRAME["kind"] == "x") > 2).to_numpy()


def in_order(frame, order=SIZES):
    return frame.assign(size=pandas.Categorical(frame["size"], order, ordered=True))


def fitted(encoder, frame=FRAME):
    columns = ColumnTransformer([("names", encoder, ["size", "kind"])], remainder="passthrough")
    return make_pipeline(columns, LogisticRegression()).fit(frame, TARGET)


def domain_and_deviation(model, name="size"):
    k = model.names.index(name)
    return model.domains[k], model.features[k].deviation


def test_an_ordered_column_of_a_frame_moves_by_rank():
    model = from_model(fitted(OneHotEncoder()), in_order(FRAME))
    domain, deviation = domain_and_deviation(model)
    assert domain == Domain.ordered(*SIZES[:3])
    assert float(deviation) == pytest.approx(np.std(RANKS))
    assert domain_and_deviation(model, "kind") == (Domain.categories("x", "y"), None)
    # What a frame does not say of all categories is no order; nor is one learned where nothing is to be.
    for rows, options in [(FRAME, {}), (in_order(FRAME[FRAME["size"] != "large"], SIZES[:2]), {})]:
        assert not domain_and_deviation(from_model(fitted(OneHotEncoder()), rows, **options))[0].is_ordered
    assert not domain_and_deviation(from_model(fitted(OneHotEncoder()), in_order(FRAME), domains="model"))[0].is_ordered


def test_what_a_user_says_counts_first():
    said = Domain.ordered("large", "medium", "small")
    model = from_model(fitted(OneHotEncoder()), in_order(FRAME), domains={"size": said})
    assert domain_and_deviation(model)[0] == said
    assert float(domain_and_deviation(model)[1]) == pytest.approx(np.std(RANKS))
    plain = from_model(fitted(OneHotEncoder()), in_order(FRAME), domains={"size": Domain.categories(*SIZES[:3])})
    assert domain_and_deviation(plain) == (Domain.categories(*SIZES[:3]), None)


def test_the_order_that_an_encoder_was_told_counts_and_the_alphabet_does_not():
    told = fitted(OrdinalEncoder(categories=[SIZES[:3], ["x", "y"]]))
    domain, deviation = domain_and_deviation(from_model(told, FRAME))
    assert domain == Domain.ordered(*SIZES[:3])
    assert float(deviation) == pytest.approx(np.std(RANKS))
    alphabet = fitted(OrdinalEncoder())
    assert not domain_and_deviation(from_model(alphabet, FRAME))[0].is_ordered
    # Without rows nothing says how far a rank is, and categories are as free as before.
    assert not domain_and_deviation(from_model(told))[0].is_ordered


def test_the_radius_of_a_pipeline_is_that_of_ranks():
    explainer = Explainer(fitted(OrdinalEncoder(categories=[SIZES[:3], ["x", "y"]])), FRAME)
    row = {"size": "large", "age": 49, "kind": "x"}
    assert "ordered categories move by rank" in str(explainer.radius(row, ["age"], categories="step"))
    assert explainer.radius(row, ["age"], categories="step").radius > 0
