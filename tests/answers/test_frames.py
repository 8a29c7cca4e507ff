"""Answers as people expect them in Python: tables, dictionaries, pictures, short names."""

import math

import numpy as np
import pytest

from suffice import MISSING, AdditiveModel, Domain, Explainer, Feature, ModelError, ReluNetwork, Steps, Table

pandas = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def explainer():
    features = [Feature("age", Domain.integers(0, 99), deviation=10), Feature("debt", deviation=2), Feature("home")]
    homes = Table({"own": 1, "rent": 0, MISSING: 0})
    model = AdditiveModel([Steps([18, 60], [-1, 2, 0]), Steps([0], [0, -1]), homes], features=features)
    return Explainer(model)


ROW = {"age": 20, "debt": -0.5, "home": None}


def test_an_explanation_is_a_table_of_features(explainer):
    why = explainer.explain(ROW)
    table = why.to_frame()
    assert table["feature"].tolist() == list(why.ranked)
    assert table["is_fixed"].tolist() == [True, False, False]
    assert table["region"].tolist() == ["the integers from 15 to 25", "[-1.5, 0.5]", "one of missing"]
    assert table["drop"].tolist() == [3.0, 1.0, 0.0]
    assert table["value"].tolist()[:2] == [20.0, -0.5]
    assert table["value"].isna().tolist() == [False, False, True]
    assert why.to_dict() == why.document()


def test_changes_and_curves_are_tables_too(explainer):
    table = explainer.counterfactual(ROW).to_frame()
    assert table.to_dict("list") == {"feature": ["age"], "value": [20.0], "new": [17.0]}
    steps = explainer.curve(ROW)
    table = steps.to_frame()
    assert table["size"].tolist() == [len(step.features) for step in steps.steps]
    assert table["radius"].iloc[-1] == math.inf
    assert table["features"].iloc[0] == list(steps.steps[0].features)


def test_a_batch_is_a_data_frame(explainer):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("numba", reason="numba is not installed")
    rows = pandas.DataFrame({"age": [20, 40], "debt": [-0.5, 1.0], "home": ["own", "rent"]})
    found = explainer.explain_batch(rows)
    table = found.to_pandas()
    assert table["size"].tolist() == found.sizes.tolist()
    assert [list(names) for names in table["features"]] == [list(found.features_of(k)) for k in range(2)]


def test_sizes_stay_whole_numbers_beside_rows_that_failed(explainer):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("numba", reason="numba is not installed")
    rows = pandas.DataFrame({"age": [20, None], "debt": [-0.5, 1.0], "home": ["own", "rent"]})
    table = explainer.explain_batch(rows).to_pandas()
    assert table["size"].dtype.kind == "i"
    assert table["size"].isna().tolist() == [False, True]


def test_rows_are_taken_as_people_have_them(explainer):
    rows = pandas.DataFrame([ROW])
    assert explainer.explain(rows).features == explainer.explain(rows.iloc[0]).features == ("age",)
    assert explainer.predict(rows) == 1


def test_probabilities_of_all_classes(explainer):
    assert explainer.predict_proba(ROW) == pytest.approx((1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2))))
    several = AdditiveModel([Steps([0], [[0, 1, 2], [3, 0, 0]])], [0, 0.5, 0], "multiclass", ["x"])
    scores = np.array([0, 1.5, 2])
    assert Explainer(several).predict_proba([-1]) == pytest.approx(tuple(np.exp(scores) / np.exp(scores).sum()))
    for model, words in [
        (AdditiveModel([Steps([0], [0, 1])], 0, "regression"), "a regression predicts a number"),
        (AdditiveModel([Steps([0], [0, 1])], 0, logit_offset=None), "this model's scores give none"),
    ]:
        with pytest.raises(ModelError, match=words):
            Explainer(model).predict_proba([1])


def test_names_of_values_are_short(explainer):
    network = ReluNetwork([np.ones((64, 1)), np.ones((32, 64)), np.ones((1, 32))], [None, None, None])
    assert [repr(one) for one in (network, explainer.model, explainer, explainer.model.features[0])] == [
        "<ReluNetwork: 1-64-32-1>",
        "<AdditiveModel: binary, 3 features>",
        "<Explainer of AdditiveModel: binary, 3 features>",
        "<Feature: 'age', the integers from 0 to 99>",
    ]
    assert repr(explainer.question(immutable=["age"])) == "<Question: radius 1/2, unit std, claim same>"
    assert repr(explainer.curve(ROW)) == "<Curve: 1>"
    assert repr(explainer.model.domains[0]) == "<Domain: the integers from 0 to 99>"


def test_pictures_are_those_of_pyplot(explainer, tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    from matplotlib import pyplot

    for answer in (explainer.explain(ROW), explainer.curve(ROW)):
        ax = answer.plot()
        assert pyplot.gcf() is ax.figure
        pyplot.savefig(tmp_path / "drawn.png")
        assert (np.asarray(pyplot.imread(tmp_path / "drawn.png"))[..., :3] < 1).any()  # not blank
        pyplot.close()
        figure, own = pyplot.subplots()
        assert answer.plot(own) is own
        pyplot.close(figure)
