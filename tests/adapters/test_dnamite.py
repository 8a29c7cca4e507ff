import numpy as np
import pytest
from peers import check

import suffice
from suffice import MISSING, AdapterError

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
try:
    dnamite = pytest.importorskip("dnamite.models", reason="dnamite is not installed")
except Warning as warning:  # its dependencies warn on import; warnings are errors here
    pytest.skip(f"dnamite warns on import: {warning}", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ["age", "job", "flag", "size"]


def frame(n=600):
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "age": np.where(random.random(n) < 0.1, np.nan, np.round(random.normal(40, 12, n), 0)),
            "job": random.choice(np.array(["cook", "clerk", "nurse"], dtype=object), n),
            "flag": random.integers(0, 2, n).astype(float),
            "size": np.round(random.lognormal(1, 0.5, n), 2),
        }
    )
    table.loc[random.random(n) < 0.1, "job"] = np.nan
    return table


def target(X):
    return np.nan_to_num(X["age"], nan=30) / 20 + (X["job"] == "cook") - X["flag"] * 0.5 - X["size"] / 4


def fitted(kind, **options):
    X = frame()
    y = target(X).to_numpy()
    model = getattr(dnamite, kind)(random_state=0, n_val_splits=2, max_epochs=4, learning_rate=5e-3, **options)
    model.fit(X, (y > 1.2).astype(float) if "Classifier" in kind else y)
    return model


def asking(model):
    def ask(rows):
        table = pandas.DataFrame(rows, columns=NAMES)
        for name in ("age", "flag", "size"):
            table[name] = table[name].astype(float)
        table["job"] = table["job"].astype(object).where(table["job"].notna(), np.nan)
        return model.predict(table)

    return ask


@pytest.mark.parametrize("kind", ["DNAMiteBinaryClassifier", "DNAMiteRegressor"])
def test_dnamite(kind):
    own = fitted(kind)
    model = suffice.from_model(own)
    assert MISSING in model.domains[0].codes_
    assert "(unseen)" in model.domains[1]
    check(f"dnamite {kind}", model, asking(own), package="dnamite", precision=1e-5, radii=(2.0, np.inf))


def test_without_smoothing():
    own = fitted("DNAMiteRegressor", kernel_size=0)
    check("dnamite without smoothing", suffice.from_model(own), asking(own), package="dnamite", precision=1e-5)


def test_refusals():
    with pytest.raises(AdapterError, match="num_pairs=0"):
        suffice.from_model(fitted("DNAMiteRegressor", num_pairs=1))
    with pytest.raises(AdapterError, match="has no 'models'"):
        suffice.from_model(dnamite.DNAMiteRegressor())


def test_probabilities_that_are_not_those_of_the_score_are_refused():
    own = fitted("DNAMiteBinaryClassifier")

    class CalibratedClassifier(type(own)):
        def predict_proba(self, X_test):
            return super().predict_proba(X_test) ** 1.1

    own.__class__ = CalibratedClassifier
    with pytest.raises(AdapterError, match="the probabilities of the CalibratedClassifier say"):
        suffice.from_model(own)
