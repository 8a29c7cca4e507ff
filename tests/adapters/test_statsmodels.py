"""Formulas of statsmodels: functions of one variable at their places, in the package's own linear predictor."""

import math

import numpy as np
import pytest

import suffice
from suffice import AdapterError

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
formulas = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")

ROWS = 200
shift, job = 3, 7  # a constant that formulas may use, and one that a column of the table hides


def table():
    random = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "age": random.integers(20, 70, ROWS),
            "income": random.lognormal(3, 0.5, ROWS),
            "job": random.choice(["a", "b", "c"], ROWS),
            "y": random.normal(size=ROWS),
        }
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text",
    [
        "np.log(income + shift) + I(-(age - shift) / 2)",
        "np.power(age, 3) + np.square(income) + np.sqrt(income)",
        "np.clip(age, 30, 50) + np.maximum(10, income) + np.abs(age - 40)",
        "I(30 < age) + C(income >= 20) + I(age == 40)",
        "standardize(age, ddof=1) + center(income) + scale(income, rescale=False)",
        "bs(2 * age + 1, df=5) + bs(income, df=4, degree=2, include_intercept=True) - 1",
        "Q('age') * C(job, Sum)",
        "C(job):income + C(job) - 1",
        "cr(income, df=4) + cc(2 * age + 1, df=5)",
        "cr(income, knots=[15, 20, 40], constraints='center') + cc(age, df=3, constraints='center')",
    ],
)
def test_a_formula_is_read_as_statsmodels_computes_it(text):
    rows = table()
    fitted = formulas.ols(f"y ~ {text}", rows).fit()
    explainer = suffice.Explainer(suffice.from_model(fitted, rows))
    mine = [float(explainer.score(rows.iloc[k])) for k in range(50)]
    np.testing.assert_allclose(mine, fitted.predict(rows.iloc[:50]), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_comparison_jumps_where_it_is_written():
    rows = table()
    fitted = formulas.ols("y ~ I(age > 40)", rows).fit()
    score = suffice.Explainer(suffice.from_model(fitted)).score
    assert score({"age": 40}) == score({"age": 20}) != score({"age": math.nextafter(40, 41)})


@pytest.mark.filterwarnings("ignore")
def test_splines_end_at_their_outermost_knots():
    rows = table()
    model = suffice.from_model(formulas.ols("y ~ bs(age, df=4) + income", rows).fit())
    (span,) = model.domains[0].spans
    assert (span.low, span.high) == (rows.age.min(), rows.age.max())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I(age + income)", r"I\(age \+ income\) in its formula, which is made of age and income"),
        ("age:income:C(job)", "multiplies 3 factors"),
        ("age:np.log(age)", "multiplies two functions of one variable"),
        ("np.sin(age)", "calls np.sin in a way that is not known here"),
        ("I(1 / age)", "divides by a variable"),
        ("cc(age, df=2)", "has splines with 3 knots, of which some are equal or too few"),
    ],
)
def test_what_a_formula_has_else_is_refused_by_name(text, words):
    fitted = formulas.ols(f"y ~ {text}", table()).fit()
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(fitted)


@pytest.mark.filterwarnings("ignore")
def test_natural_splines_go_on_along_their_tangents():
    rows = table()
    fitted = formulas.ols("y ~ cr(age, df=5)", rows).fit()
    score = suffice.Explainer(suffice.from_model(fitted)).score
    far = pandas.DataFrame({"age": [-1000.0, 0.0, 19.999, 70.001, 100.0, 1e6]})
    np.testing.assert_allclose([float(score({"age": age})) for age in far.age], fitted.predict(far), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraints", [None, "center"])
def test_cyclic_splines_are_read_over_one_period(constraints):
    """Inside, at the seam and next to it; the package begins anew beyond, which is not in the domain."""
    gam = pytest.importorskip("statsmodels.gam.api", reason="statsmodels is not installed")
    rows = table()
    smoother = gam.CyclicCubicSplines(rows[["age", "income"]], df=[6, 9], constraints=constraints)
    fitted = gam.GLMGam(rows.y, smoother=smoother).fit()
    model = suffice.from_model(fitted)
    score = suffice.Explainer(model).score
    low, high = float(rows.age.min()), float(rows.age.max())
    (span,) = model.domains[0].spans
    assert (span.low, span.high) == (int(low), int(high))
    ages = np.r_[np.linspace(low, high, 200), math.nextafter(low, high), math.nextafter(high, low)]
    asked = np.column_stack([ages, np.full(len(ages), 20.0)])
    mine = [float(score({"age": age, "income": 20.0})) for age in ages]
    np.testing.assert_allclose(mine, fitted.predict(exog_smooth=asked), rtol=0, atol=1e-12)
    assert score({"age": low, "income": 20.0}) == score({"age": high, "income": 20.0})
    theirs = fitted.predict(exog_smooth=np.array([[low + 5, 20.0], [high + 5, 20.0]]))
    assert theirs[0] == pytest.approx(theirs[1], abs=1e-12)
    with pytest.raises(suffice.SufficeError, match="age"):
        score({"age": high + 5, "income": 20.0})


@pytest.mark.filterwarnings("ignore")
def test_other_smoothers_are_refused_by_name():
    gam = pytest.importorskip("statsmodels.gam.smooth_basis", reason="statsmodels is not installed")
    api = pytest.importorskip("statsmodels.gam.api", reason="statsmodels is not installed")
    rows = table()
    smoother = gam.CubicSplines(rows[["age"]], df=[5])
    with pytest.raises(
        AdapterError, match="has CubicSplines; of its smoothers BSplines and CyclicCubicSplines are read"
    ):
        suffice.from_model(api.GLMGam(rows.y, smoother=smoother).fit())
