"""pyGAM and APLR, trained by the packages themselves."""

import numpy as np
import pytest
from peers import check

import suffice
from suffice import AdapterError, Domain, Explainer
from suffice.numbers.exact import rational


def data(n=400):
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(n, 4)), 2)
    X[:, 2] = random.integers(0, 4, n)
    score = np.abs(X[:, 0]) + np.maximum(X[:, 1], 0) * 2 - (X[:, 2] == 1) - X[:, 3] * 0.3
    return X, score


def numbers(rows):
    return np.array(rows, dtype=np.float64)


# --- pyGAM ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pygam():
    return pytest.importorskip("pygam", reason="pyGAM is not installed")


def terms(pygam, coding="one-hot"):
    s, l, f = pygam.s, pygam.l, pygam.f  # noqa: E741
    curves = s(0, n_splines=7, spline_order=3) + s(3, n_splines=5, spline_order=2)
    return (
        curves
        + s(0, n_splines=8, spline_order=1)
        + s(1, n_splines=6, spline_order=0)
        + f(2, coding=coding)
        + l(3)
        + l(0)
    )


@pytest.mark.parametrize("coding", ["one-hot", "dummy"])
@pytest.mark.parametrize("kind", ["LogisticGAM", "LinearGAM", "PoissonGAM"])
def test_pygam(pygam, kind, coding):
    X, score = data()
    target = {"LogisticGAM": score > 0.8, "LinearGAM": score, "PoissonGAM": np.exp(score / 3).round()}[kind]
    gam = getattr(pygam, kind)(terms(pygam, coding)).fit(X, target)
    model = suffice.from_model(gam)
    check(f"pyGAM {kind} {coding}", model, lambda rows: gam._linear_predictor(numbers(rows)), package="pygam")
    explainer = Explainer(model)
    if kind == "LogisticGAM":
        assert [explainer.predict(row) for row in X[:80]] == gam.predict(X[:80]).tolist()
    if kind == "LinearGAM":
        assert np.allclose([float(explainer.score(row)) for row in X[:80]], gam.predict(X[:80]), atol=1e-9)


def test_pygam_refusals(pygam):
    X, score = data()
    s, te = pygam.s, pygam.te
    cases = [
        (pygam.LinearGAM(s(0, spline_order=4)).fit(X, score), None),
        (pygam.LinearGAM(s(0, spline_order=21, n_splines=24)).fit(X, score), "of order 21"),
        (pygam.LinearGAM(s(0, spline_order=1) + te(1, 3)).fit(X, score), "TensorTerm"),
        (pygam.LinearGAM(s(0, spline_order=1, by=1)).fit(X, score), "a term with by="),
        (pygam.GammaGAM(s(0, spline_order=1)).fit(X, np.exp(score)), None),
        (pygam.LinearGAM(), "has no 'coef_'"),
    ]
    for gam, words in cases:
        if words is None:
            suffice.from_model(gam)
            continue
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(gam)


def test_a_periodic_spline_of_pygam_is_read_over_its_period(pygam):
    """Of all orders, with as few splines as can be: inside, at the seam and next to it; beyond is not in the domain."""
    random = np.random.default_rng(2)
    X = np.round(random.uniform(0, 24, size=(300, 2)), 2)
    y = np.sin(X[:, 0] / 24 * 2 * np.pi) + X[:, 1] / 10
    low, high = X[:, 0].min(), X[:, 0].max()
    for order in range(6):
        for count in (order + 1, order + 5):
            term = pygam.s(0, basis="cp", n_splines=count, spline_order=order)
            gam = pygam.LinearGAM(term + pygam.l(0) + pygam.s(1)).fit(X, y)
            model = suffice.from_model(gam)
            (span,) = model.domains[0].spans
            assert (span.low, span.high) == (rational(low), rational(high))
            cuts = low + (high - low) * np.linspace(0, 1, 2 * count + 1)
            places = np.clip(np.r_[cuts, np.nextafter(cuts, 0), np.nextafter(cuts, 99), X[:50, 0]], low, high)
            rows = np.column_stack([places, np.full(len(places), 3.0)])
            score = Explainer(model).score
            mine = [float(score(row.tolist())) for row in rows]
            np.testing.assert_allclose(mine, gam.predict(rows), rtol=0, atol=1e-12)
            seam = [float(score([end, 3.0])) for end in (low, high)]
            slope = gam.coef_[gam.terms.get_coef_indices(1)][0]
            if order:
                assert seam[1] - seam[0] == pytest.approx(slope * (high - low), abs=1e-12)
            with pytest.raises(suffice.SufficeError, match="x0"):
                score([high + 1, 3.0])


@pytest.mark.parametrize("kind", ["LogisticGAM", "LinearGAM"])
def test_periodic_splines_withstand_the_attack(pygam, kind):
    X, score = data()
    waves = pygam.s(0, basis="cp", n_splines=9) + pygam.s(1, basis="cp", spline_order=1, n_splines=6)
    waves += pygam.s(3, basis="cp", spline_order=0, n_splines=5)
    gam = getattr(pygam, kind)(waves + pygam.f(2)).fit(X, score > 0.8 if kind == "LogisticGAM" else score)
    model = suffice.from_model(gam)
    check(f"pyGAM {kind} periodic", model, lambda rows: gam._linear_predictor(numbers(rows)), package="pygam")


# --- APLR -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def aplr():
    return pytest.importorskip("aplr", reason="APLR is not installed")


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_aplr(aplr, classes, level):
    X, score = data()
    score = score + level * X[:, 0] * X[:, 1]
    options = {"m": 60, "max_interaction_level": level, "n_jobs": 1}
    if classes == 0:
        fitted = aplr.APLRRegressor(**options)
        fitted.fit(X, score)
    else:
        fitted = aplr.APLRClassifier(**options)
        fitted.fit(X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(str))
    # Several classes are compared by their sigmoids, so scores must stay where these differ.
    domains = (
        {f"x{k}": Domain.interval(*((0, 3) if k == 2 else (-1.5, 1.5))) for k in range(4)} if classes > 2 else None
    )
    model = suffice.from_model(fitted, domains=domains)

    def ask(rows):
        if classes == 0:
            return fitted.predict(numbers(rows), False)
        categories = fitted.get_categories()
        models = [fitted.get_logit_model(name) for name in (categories[1:] if classes == 2 else categories)]
        # `predict` gives probabilities, which lose the digits of large scores: the same sum before its link.
        parts = [one.calculate_local_feature_contribution(numbers(rows)).sum(axis=1) for one in models]
        return np.stack([p + one.get_intercept() for p, one in zip(parts, models, strict=True)], axis=1)

    assert bool(model.pairs) == (level == 1)
    if level:  # what two features do together grows without end
        check(f"APLR {classes} with pairs", model, ask, package="aplr", radii=(0.25, 0.5))
    else:
        check(f"APLR {classes}", model, ask, package="aplr")
    if classes:
        explainer = Explainer(model)
        rows = [row for row in X if classes == 2 or (np.abs(row) <= [1.5, 1.5, 3, 1.5]).all()][:80]
        assert [explainer.predict(row) for row in rows] == list(fitted.predict(np.array(rows)))
    if classes > 2:
        with pytest.raises(AdapterError, match=r"compares the sigmoids of its scores.*can pass 16.*give domains="):
            suffice.from_model(fitted)
        with pytest.raises(AdapterError, match="compares the sigmoids"):
            suffice.from_model(fitted, X, domains="model")
        learned = Explainer(fitted, X)  # on the domains that these rows tell, no two scores come so far
        assert [learned.predict(row) for row in X[:80]] == list(fitted.predict(X[:80]))


def test_aplr_refusals(aplr):
    X, score = data()
    triples = aplr.APLRRegressor(m=60, max_interaction_level=2, n_jobs=1)
    triples.fit(X, score + 3 * X[:, 0] * X[:, 1] * X[:, 2])
    with pytest.raises(AdapterError, match=r"a term over 3 features \(.* & .*max_interaction_level=1, or 0"):
        suffice.from_model(triples)
    with pytest.raises(AdapterError, match="has no 'n_features_in_'"):
        suffice.from_model(aplr.APLRRegressor())


def test_aplr_is_asked_far_out_too(aplr):
    """What APLR calls a prediction is cut to the range seen in training; the scores that decide are not."""
    X, score = data()
    fitted = aplr.APLRClassifier(m=60, max_interaction_level=0, n_jobs=1)
    fitted.fit(X, (score > 0.8).astype(str))
    explainer = Explainer(suffice.from_model(fitted, X, domains="model"))
    far = X[:40] * 50
    assert [explainer.predict(row) for row in far] == list(fitted.predict(far))


def test_a_pygam_that_predicts_otherwise_is_refused(pygam):
    X, score = data()

    class Careful(pygam.LogisticGAM):
        def predict(self, X):
            return self.predict_mu(X) > 0.9

    gam = Careful(terms(pygam)).fit(X, score > 0.8)
    for reference in (None, X):
        with pytest.raises(AdapterError, match="decision threshold of its own"):
            suffice.from_model(gam, reference)


def test_what_is_around_aplr_reads_its_clipped_probabilities_and_predictions():
    aplr = pytest.importorskip("aplr", reason="aplr is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, score = data()
    X = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    y = np.where(score > 0.8, "yes", "no")
    inside = aplr.APLRClassifier(max_interaction_level=0, m=30)
    for around in (
        FixedThresholdClassifier(inside, threshold=0.3, pos_label="yes"),
        FixedThresholdClassifier(inside, threshold=1e-7, pos_label="yes"),  # below all probabilities of APLR
        CalibratedClassifierCV(inside, ensemble=False, cv=2, method="isotonic"),
        CalibratedClassifierCV(inside, ensemble=False, cv=2),
    ):
        fitted = around.fit(X, y)
        if getattr(around, "threshold", 1) == 1e-7:
            with pytest.raises(AdapterError, match="decides for 'yes' whatever the score is"):
                suffice.from_model(fitted, X)
            continue
        explainer = Explainer(fitted, X)
        assert explainer.model.names == ("a", "b", "c", "d")
        assert [explainer.predict(X.iloc[k]) for k in range(60)] == fitted.predict(X[:60]).tolist()
        assert explainer.explain(X.iloc[0]).features
    regressor = aplr.APLRRegressor(max_interaction_level=0, m=30)
    for around in (make_pipeline(StandardScaler(), regressor), GridSearchCV(regressor, {"m": [20]}, cv=2)):
        explainer = Explainer(around.fit(X, score), X)
        kept = explainer.model  # what APLR cuts far out is the sum here
        assert kept.names == ("a", "b", "c", "d")
        far = {"a": 50.0, "b": 50.0, "c": 1.0, "d": 0.0}
        wide = Explainer(suffice.from_model(around, X, domains="model"))
        assert float(wide.score(far)) > around.predict(pandas.DataFrame([far]))[0] + 1
    with pytest.raises(AdapterError, match="cuts its predictions as APLR does"):
        suffice.from_model(TransformedTargetRegressor(regressor, transformer=StandardScaler()).fit(X, score))


def test_several_sigmoids_are_compared_where_the_reference_rows_are():
    aplr = pytest.importorskip("aplr", reason="aplr is not installed")
    X, score = data()
    y = np.digitize(score, [0.4, 1.2]).astype(str)
    fitted = aplr.APLRClassifier(max_interaction_level=0, m=30)
    fitted.fit(X, y)
    with pytest.raises(AdapterError, match="several scores can pass 16"):
        suffice.from_model(fitted)
    with pytest.raises(AdapterError, match="several scores can pass 16"):
        suffice.from_model(fitted, X, domains="model")
    explainer = Explainer(fitted, X)  # no score comes so far on the domains that these rows tell
    assert [explainer.predict(row) for row in X[:80]] == list(fitted.predict(X[:80]))


def test_numbered_columns_get_the_names_of_a_table_of_as_many(pygam):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, score = data()
    gam = pygam.LinearGAM(terms(pygam)).fit(X, score)
    table = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    explainer = Explainer(gam, table)
    assert explainer.model.names == ("a", "b", "c", "d")
    assert float(explainer.score(table.iloc[3])) == pytest.approx(gam.predict(X[3:4])[0], abs=1e-9)
    assert suffice.from_model(gam, table, features=["p", "q", "r", "s"]).names == ("p", "q", "r", "s")
    domains = {"x0": Domain.interval(-9, 9)}
    assert suffice.from_model(gam, table, domains=domains).names == ("x0", "x1", "x2", "x3")
    wider = table.assign(more=1.0)
    with pytest.raises(AdapterError, match="needs a value for every feature; 'x0' is missing"):
        suffice.from_model(gam, wider)
