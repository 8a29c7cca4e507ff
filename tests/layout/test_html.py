from present.models import HOSTILE, HOSTILE_ROW, MIXED_ROW, hostile, mixed
from present.pages import assert_harmless

from suffice import MISSING, AdditiveModel, Explainer, PiecewiseLinear, Steps
from suffice.layout.facts import Fact

MIXED = mixed()
LINE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)


def test_a_notebook_shows_what_print_says():
    why = MIXED.explain(MIXED_ROW, radius=2, unit="raw")
    shown = " ".join("".join(assert_harmless(why._repr_html_()).text).split())
    for line in str(why).splitlines():
        if not line.startswith(" "):
            assert " ".join(line.split()) in shown
    for row in why.fixed_grid().rows:
        assert "".join(row.cells) in shown
    assert [line for line in str(why).splitlines() if line.startswith("If ")] == [
        f"{fact.label}: {fact.text}" for fact in why.facts() if isinstance(fact, Fact) and fact.label.startswith("If ")
    ]
    assert sum(line.startswith("If ") for line in str(why).splitlines()) == why.size > 0


def test_every_result_has_a_notebook_form():
    results = [
        MIXED.contrast(MIXED_ROW, radius=9, unit="raw"),
        MIXED.counterfactual(MIXED_ROW, radius=9, unit="raw"),
        MIXED.relevance(MIXED_ROW, radius=2, unit="raw"),
        MIXED.curve(MIXED_ROW, until=3, unit="raw"),
        MIXED.inflate(MIXED_ROW, radius=2, unit="raw"),
    ]
    more = [
        MIXED.explain(MIXED_ROW, radius=2, unit="raw"),
        MIXED.sufficiency(MIXED_ROW, [], radius=9, unit="raw"),
        MIXED.radius(MIXED_ROW, [], unit="raw"),
        MIXED.explanations(MIXED_ROW, radius=2, unit="raw").listing(),
        MIXED.explanations(MIXED_ROW, radius=2, unit="raw").counted(),
    ]
    for result in (*results, *more):
        shown = "".join(assert_harmless(result._repr_html_()).text)
        for fact in result.facts():
            if isinstance(fact, Fact):
                assert f"{fact.label}: {fact.text}" in shown
            else:
                assert all(cell in shown for row in fact.rows for cell in (*fact.heads, *row.cells))


def test_names_stay_text():
    explainer = hostile()
    why = explainer.explain(HOSTILE_ROW, radius=3, unit="raw")
    for result in (
        why,
        explainer.contrast(HOSTILE_ROW, radius=3, unit="raw"),
        explainer.curve(HOSTILE_ROW, until=3, unit="raw"),
    ):
        seen = assert_harmless(result._repr_html_())
        assert any(name in "".join(seen.text) for name in HOSTILE)


def test_many_fixed_features_are_cut_short():
    why = Explainer(AdditiveModel([LINE] * 30, 0)).explain([0] * 30, radius=1, unit="raw")
    seen = assert_harmless(why._repr_html_())
    assert "... and 18 more" in "".join(seen.text)


def test_text_names_the_strongest_free_features_and_what_would_break_each_fixed_one():
    model = AdditiveModel([LINE, LINE, LINE, Steps([1], [0, 5])], 1, features=["a", "b", "c", "d"])
    why = Explainer(model).explain([2, 2, 2, 3], radius={"a": 1, "b": 2, "c": 6, "d": 5}, unit="raw")
    lines = str(why).splitlines()
    assert "Strongest free: d (5), b (2), a (1)." in lines
    (told,) = [line for line in lines if line.startswith("If ")]
    broken = why.counterexample(without="c")
    assert told.startswith("If c could also change: 2 -> ")
    assert all(f"{name} 2 -> {float(broken[name]):g}" in told or broken[name] == 2 for name in "ab")
    still = Explainer(model).explain([2, 2, 2, 3], radius=0.1, unit="raw")
    assert not [line for line in str(still).splitlines() if line.startswith("If ")]


def test_missing_values_are_shown():
    why = MIXED.explain({**MIXED_ROW, "months": MISSING}, radius=2, unit="raw")
    assert_harmless(why._repr_html_())
