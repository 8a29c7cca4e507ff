import json
import warnings
from itertools import chain, combinations, pairwise, product

import numpy as np
import pytest
from peers import check

import suffice
from suffice import MISSING, AdapterError, AdditiveModel, Domain, Explainer, Feature
from suffice.model.writing import to_bytes

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
glassbox = pytest.importorskip("interpret.glassbox", reason="interpret-core is not installed")
load_breast_cancer = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed").load_breast_cancer

TYPES = {"number": "continuous", "count": "continuous", "colour": "nominal", "grade": "nominal", "rate": "ordinal",
         "flag": "nominal", "never": "continuous"}  # fmt: skip


def frame(n=500):
    random = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "number": np.where(random.random(n) < 0.1, np.nan, np.round(random.normal(size=n), 1)),
            "count": random.integers(0, 9, n),
            "colour": random.choice(np.array(["red", "green", "blue", None], dtype=object), n),
            "grade": random.choice([1.5, 2, 3], n),
            "rate": random.choice(["low", "mid", "high"], n),
            "flag": random.random(n) < 0.4,
            "never": 1.0,
        }
    )


def fit(kind, target, **options):
    X = frame()
    types = [["low", "mid", "high"] if name == "rate" else type_ for name, type_ in TYPES.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(glassbox, kind)(
            interactions=options.pop("interactions", 0),
            max_rounds=60,
            outer_bags=2,
            n_jobs=1,
            feature_types=types,
            **options,
        ).fit(X, target(X))


def asking(ebm):
    def ask(rows):
        table = pandas.DataFrame(rows, columns=list(TYPES)).astype(object)
        return ebm.decision_function(table) if hasattr(ebm, "classes_") else ebm.predict(table)

    return ask


def sum_of(X):
    return np.nan_to_num(X["number"]) + (X["colour"] == "red") + 0.2 * X["count"] - (X["grade"] == 2) * 0.7


TARGETS = {
    "binary": lambda X: np.where(sum_of(X) > 0.8, "yes", "no"),
    "multiclass": lambda X: np.digitize(sum_of(X), [0.3, 1.2]),
    "regression": sum_of,
}
KINDS = dict.fromkeys(TARGETS, "ExplainableBoostingRegressor") | dict.fromkeys(
    ("binary", "multiclass"), "ExplainableBoostingClassifier"
)


@pytest.fixture(scope="module")
def ebms():
    return {task: fit(KINDS[task], target) for task, target in TARGETS.items()}


@pytest.fixture(scope="module")
def paired():
    """Machines with as many interactions as the package adds by default, in bins of their own."""
    names = {"binary": "3x", "multiclass": 6, "regression": "5x"}
    return {
        task: fit(KINDS[task], lambda X, t=target: t(product_of(X)), interactions=names[task], max_interaction_bins=5)
        for task, target in TARGETS.items()
    }


def product_of(X):
    """The table with a column changed, so that features matter together."""
    return X.assign(number=np.nan_to_num(X["number"]) * (X["count"] - 4) / 2 + (X["rate"] == "low") * X["flag"])


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("has_pairs", [False, True], ids=["alone", "pairs"])
def test_a_fitted_machine_is_taken_over(ebms, paired, task, has_pairs):
    ebm = (paired if has_pairs else ebms)[task]
    model = suffice.from_model(ebm)
    assert (model.task, model.ties) == (task, "negative")
    pairs = [features for features in ebm.term_features_ if len(features) == 2]
    assert [tuple(term.features) for term in model.pairs] == pairs
    assert bool(pairs) == has_pairs
    check(
        f"EBM {task}{' with pairs' if has_pairs else ''}",
        model,
        asking(ebm),
        package="interpret-core",
        decide=None if task == "regression" else labels(ebm),
    )


def labels(ebm):
    """The rule by which `predict` turns its own scores into classes (a test below compares it with `predict`)."""

    def decide(scores):
        return ebm.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)].tolist()

    return decide


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_predictions_are_those_of_the_package(ebms, task):
    explainer, X = Explainer(suffice.from_model(ebms[task])), frame(100)
    assert [explainer.predict(X.iloc[k]) for k in range(100)] == ebms[task].predict(X).tolist()


@pytest.mark.filterwarnings("ignore:JSON formats are in beta")
@pytest.mark.parametrize("detail", ["minimal", "interpretable", "mergeable", "all"])
@pytest.mark.parametrize("has_pairs", [False, True], ids=["alone", "pairs"])
@pytest.mark.parametrize("task", TARGETS)
def test_every_export_is_the_same_model(ebms, paired, task, has_pairs, detail, tmp_path):
    path, ebm = tmp_path / "ebm.json", (paired if has_pairs else ebms)[task]
    ebm.to_json(str(path), detail=detail)
    X = frame(200)
    own = ebm.predict(X) if task == "regression" else ebm.predict_proba(X)
    model = suffice.from_model(json.loads(path.read_text()), (X, own), domains="model")
    live = suffice.from_model(ebm)
    assert to_bytes(model_without_deviations(model)) == to_bytes(live)
    assert (model.intercept, model.domains, model.names) == (live.intercept, live.domains, live.names)


def test_a_log_link_is_explained_on_its_own_scale():
    ebm = fit("ExplainableBoostingRegressor", lambda X: np.exp(sum_of(X) / 3), objective="poisson_deviance")
    model = suffice.from_model(ebm)
    row = frame(3).iloc[1]
    own = ebm.predict(frame(3))[1]
    assert float(Explainer(model).score(row)) == pytest.approx(np.log(own), abs=1e-12)


def test_missing_and_unseen_are_values_of_their_own(ebms):
    model = suffice.from_model(ebms["binary"])
    assert MISSING in model.domains[0].codes_
    assert "(unseen)" in model.domains[2]
    assert "(unseen)" not in model.domains[0]
    assert [value in model.domains[3] for value in (1.5, "2", 7)] == [True, True, False]
    explainer, row = Explainer(model), dict(zip(TYPES, [0.5, 3, "(unseen)", 2, "low", 1, None], strict=True))
    table = pandas.DataFrame([{**row, "colour": "mauve"}]).astype(object)
    assert float(explainer.score(row)) == pytest.approx(float(ebms["binary"].decision_function(table)[0]), abs=1e-12)


def test_a_domain_can_be_narrowed(ebms):
    model = suffice.from_model(ebms["binary"], domains={"count": Domain.integers(0, 8)})
    assert str(model.domains[1]) == "the integers from 0 to 8"


def test_reference_rows_give_standard_deviations(ebms):
    X = frame(200)
    model = suffice.from_model(ebms["binary"], X)
    assert float(model.features[1].deviation) == pytest.approx(X["count"].std(ddof=0))
    assert model.features[2].deviation is None
    assert Explainer(model).explain(X.iloc[0], dict.fromkeys(TYPES, 1), unit="raw").status is suffice.Status.PROVEN


def model_without_deviations(model):
    features = [
        Feature(f.name, domain, f.center, f.scale) for f, domain in zip(model.features, model.domains, strict=True)
    ]
    rest = (model.intercept, model.task, features, model.classes or None, model.ties)
    return AdditiveModel.of_terms(model.terms, *rest)


def test_terms_over_three_features_are_refused_by_name():
    ebm = fit("ExplainableBoostingClassifier", TARGETS["binary"], interactions=[("number", "count", "colour")])
    with pytest.raises(AdapterError, match=r"a term over 3 features \(number & count & colour\).*remove_terms"):
        suffice.from_model(ebm)
    ebm.remove_terms([k for k, features in enumerate(ebm.term_features_) if len(features) > 2])
    suffice.from_model(ebm)


def test_monotone_terms_stay_what_they_are():
    ebm = fit("ExplainableBoostingRegressor", TARGETS["regression"], interactions=3, monotone_constraints=[1, *[0] * 6])
    ebm.monotonize(1, increasing=True)
    X = frame(100)
    explainer, own = Explainer(suffice.from_model(ebm)), ebm.predict(X)
    assert explainer.pairs
    assert [float(explainer.score(X.iloc[k])) for k in range(100)] == pytest.approx(own, abs=1e-12)


def test_a_pair_may_know_fewer_categories_than_a_feature():
    """In bins of its own a pair may group categories, or not know one: that is its slot for what it never saw."""
    document = {
        "outputs": [{"link": "identity"}],
        "intercept": [0.0],
        "features": [
            {"name": "x", "type": "continuous", "cuts": [[0.0, 1.0], [0.5]]},
            {"name": "c", "type": "nominal", "categories": [["a", "b", "d"], [["a", "b"], "e"]]},
        ],
        "terms": [
            {"term_features": ["x"], "scores": [0.0] * 5},
            {"term_features": ["c"], "scores": [0.0, 1.0, 2.0, 3.0, 4.0]},
            {"term_features": ["x", "c"], "scores": [[100.0 * i + 10 * j for j in range(4)] for i in range(4)]},
        ],
    }
    model = suffice.from_model({"ebm": document})
    explainer = Explainer(model)
    scores = {c: float(explainer.score([0.5, c])) for c in ("a", "b", "d", "e", None, "(unseen)")}
    assert scores == {"a": 211, "b": 212, "d": 233, "e": 224, None: 200, "(unseen)": 234}
    assert float(explainer.score([None, "a"])) == 11
    assert float(explainer.score([0.25, "a"])) == 111
    own = [[0.5, "a"], [0.4, "d"], [None, None]]
    suffice.from_model({"ebm": document}, (own, [211, 133, 0]))
    with pytest.raises(AdapterError, match="reference predictions say"):
        suffice.from_model({"ebm": document}, (own, [211, 134, 0]))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([[0.0] * 4] * 5, "the scores of 'x' & 'c' have 5 × 4 slots, not 4 × 4"),
        ([[0.0] * 4] * 3 + [[0.0] * 3], "slots, not 4 × 4"),
        ([0.0] * 4, "have 4 slots, not 4 × 4"),
        ([[[0.0, 1.0]] * 4] * 4, "have 4 × 4 × 2 slots"),
        ([[0.0] * 4] * 3 + [[0.0, 0.0, "nan", 0.0]], "nan is not a finite number"),
    ],
)
def test_damaged_tables_of_pairs_are_refused(scores, words):
    document = {
        "outputs": [{"link": "identity"}],
        "intercept": [0.0],
        "features": [
            {"name": "x", "type": "continuous", "cuts": [[0.5]]},
            {"name": "c", "type": "nominal", "categories": [["a", "b"]]},
        ],
        "terms": [{"term_features": ["x", "c"], "scores": scores}],
    }
    with pytest.raises(AdapterError, match=words):
        suffice.from_model({"ebm": document})


def test_a_removed_term_leaves_a_feature_that_does_nothing(ebms):
    import copy

    ebm = copy.deepcopy(ebms["binary"])
    ebm.remove_terms([1])
    model = suffice.from_model(ebm)
    assert model.names == tuple(TYPES)
    assert model.compile()[1][0].knots == ()


@pytest.mark.filterwarnings("ignore:JSON formats are in beta")
@pytest.mark.parametrize("excluded", [["a"], ["b"]])
def test_a_feature_that_no_term_may_use_does_nothing(excluded, tmp_path):
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {"a": random.normal(size=200), "b": random.choice(["u", "v"], 200), "c": random.random(200)}
    )
    rounds = {"interactions": 0, "max_rounds": 5, "outer_bags": 1}
    ebm = glassbox.ExplainableBoostingClassifier(exclude=excluded, **rounds).fit(table, table.c > 0.5)
    ebm.to_json(str(tmp_path / "ebm.json"))
    scores = ebm.decision_function(table)
    for model in (suffice.from_model(ebm, table), suffice.from_model(tmp_path / "ebm.json", (table, scores))):
        found = [float(Explainer(model).score(row)) for _, row in table[:20].iterrows()]
        assert found == pytest.approx(scores[:20].tolist())


def test_unfitted_and_lying_objects_are_refused(ebms):
    import copy

    with pytest.raises(AdapterError, match="has no 'bins_'"):
        suffice.from_model(glassbox.ExplainableBoostingClassifier())
    liar = copy.deepcopy(ebms["binary"])
    liar.term_scores_ = [scores * 2 for scores in liar.term_scores_]
    bent = suffice.from_model(liar)  # an edited model is a model
    assert bent.names == tuple(TYPES)
    liar.term_scores_ = [scores[:-1] for scores in liar.term_scores_]
    with pytest.raises(AdapterError, match="slots"):
        suffice.from_model(liar)
    liar.term_scores_ = "nothing of the kind"
    with pytest.raises(AdapterError, match="is incomplete or inconsistent"):
        suffice.from_model(liar)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda ebm: ebm.pop("features"), "'features'"),
        (lambda ebm: ebm["outputs"][0].update(link="probit"), "link 'probit'"),
        (lambda ebm: ebm["terms"][0]["scores"].__setitem__(2, "nan"), "nan is not a finite number"),
        (lambda ebm: ebm["terms"][0].update(term_features=["nobody"]), "'nobody', which is not a feature"),
    ],
)
def test_damaged_exports_are_refused(ebms, damage, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = json.loads(json.dumps(ebms["binary"].to_jsonable("minimal"), default=float))
    damage(document["ebm"])
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(document)


def test_a_category_that_is_no_binary_fraction_is_what_tables_hold():
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"rate": random.choice([0.1, 0.3, 2.5], 300), "size": random.normal(size=300)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm = glassbox.ExplainableBoostingClassifier(
            interactions=0, max_rounds=30, outer_bags=1, n_jobs=1, feature_types=["nominal", "continuous"]
        ).fit(X, (X["rate"] == 0.3) ^ (X["size"] > 1))
        document = json.loads(json.dumps(ebm.to_jsonable("minimal"), default=lambda value: value.item()))
    own = ebm.decision_function(X)
    for model in (suffice.from_model(ebm, X), suffice.from_model(document, (X, own))):
        explainer = Explainer(model)
        for k in range(20):
            rate, size = X.iloc[k]
            for cell in (float(rate), str(rate)):
                assert float(explainer.score([cell, size])) == pytest.approx(own[k], abs=1e-12)


def test_a_large_row_hides_no_error_in_another():
    terms = [{"term_features": ["x"], "scores": [0.0, 1.0, 1e12, 0.0]}, {"term_features": ["y"], "scores": [0.0] * 4}]
    document = {
        "outputs": [{"classes": ["no", "yes"], "link": "logit"}],
        "intercept": [0.5],
        "features": [{"name": name, "type": "continuous", "cuts": [[0.0]]} for name in "xy"],
        "terms": terms,
    }
    rows = [[-1.0, 0.0], [1.0, 0.0], [-2.0, 0.0]]
    suffice.from_model({"ebm": document}, (rows, [1.5, 1e12 + 0.5, 1.5]))
    with pytest.raises(AdapterError, match=r"gives 1.5 in row 2"):
        suffice.from_model({"ebm": document}, (rows, [1.5, 1e12 + 0.5, 1.75]))


def test_an_export_without_a_term_needs_a_reference(ebms):
    import copy

    ebm = copy.deepcopy(ebms["binary"])
    ebm.remove_terms([1])
    X = frame(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = json.loads(json.dumps(ebm.to_jsonable("minimal"), default=float))
    with pytest.raises(AdapterError, match=r"no term over 'count'.*removed or is lost; give reference rows"):
        suffice.from_model(document)
    suffice.from_model(document, (X, ebm.decision_function(X)))
    with pytest.raises(AdapterError, match="reference predictions say"):
        suffice.from_model(document, (X, ebms["binary"].decision_function(X)))


def test_other_predictions_are_refused(ebms):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = json.loads(json.dumps(ebms["binary"].to_jsonable("minimal"), default=float))
    X = frame(50)
    scores = ebms["binary"].decision_function(X)
    scores[7] += 1e-6
    with pytest.raises(AdapterError, match=r"in row 7 \(number="):
        suffice.from_model(document, (X, scores))


def test_smallest_sets_of_a_cut_down_model_are_those_of_all_inputs_and_all_sets():
    """Five columns of a real table: every cell of every feature is tried through the EBM's own decision function."""
    table, target = load_breast_cancer(return_X_y=True, as_frame=True)
    table = table.iloc[:, [1, 7, 20, 21, 27]]
    options = {"outer_bags": 2, "max_bins": 24, "max_interaction_bins": 10, "random_state": 0, "n_jobs": 1}
    ebm = glassbox.ExplainableBoostingClassifier(**options).fit(table, target)
    explainer = Explainer(suffice.from_model(ebm, reference=table))
    assert len(explainer.model.pairs) == 10
    every = list(chain.from_iterable(combinations(range(5), size) for size in range(6)))
    radii = dict(0.3 * table.std())
    sizes = set()
    for k in range(0, 120, 20):
        row, places = table.iloc[k], []
        for i, name in enumerate(table.columns):
            low, high = row[name] - radii[name], row[name] + radii[name]
            cuts = sorted({low, high, *(cut for level in ebm.bins_[i] for cut in level if low < cut < high)})
            places.append([row[name], low, high, *((a + b) / 2 for a, b in pairwise(cuts))])
        inputs = pandas.DataFrame(list(product(*places)), columns=table.columns)
        scores = ebm.decision_function(inputs).reshape([len(some) for some in places])
        sign = 1 if scores[(0,) * 5] > 0 else -1
        worst = {
            freed: (sign * scores[tuple(slice(None) if i in freed else 0 for i in range(5))]).min() for freed in every
        }
        assert all(abs(value) > 1e-9 for value in worst.values())  # nothing that floats could tell wrongly
        why = explainer.explain(row, radii, unit="raw")
        assert why.size == min(5 - len(freed) for freed, value in worst.items() if value > 0)
        assert worst[tuple(i for i in range(5) if i not in why.fixed)] > 0
        sizes.add(why.size)
    assert len(sizes) > 2
