"""What answers say, for no, one and two features, several parts, limits and very large numbers."""

import math
import re
from fractions import Fraction

import pytest

import suffice
from suffice import AdditiveModel, AtLeast, Domain, Explainer, Feature, PiecewiseLinear, Steps, Table, Within
from suffice.model.domain import format_value
from suffice.numbers.exact import rational

ASKED = {"unit": "raw"}


def colours(count):
    names = ["colour", "hue"][:count]
    return Explainer(AdditiveModel([Table({"r": 1, "g": -3})] * count, features=names)), ["r"] * count, names


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "'colour' cannot be free: it can"), (2, "'colour', 'hue' cannot all be free: together they can")],
)
def test_features_that_cannot_be_free_are_counted(count, words):
    explainer, row, names = colours(count)
    for ask in (explainer.explain, explainer.inflate, explainer.relevance):
        with pytest.raises(suffice.PreferenceError, match=words):
            ask(row, 1, free=names, **ASKED)
    with pytest.raises(suffice.PreferenceError, match="cannot be free at" if count == 1 else "cannot all be free at"):
        explainer.curve(row, free=names, **ASKED)


@pytest.mark.parametrize(("fixed", "words"), [([], "fixing nothing does"), (["colour"], "'colour' does")])
def test_a_set_that_does_not_suffice_is_counted(fixed, words):
    explainer, row, _ = colours(2)
    with pytest.raises(suffice.ClaimError, match=f"{words} not suffice at this radius"):
        explainer.inflate(row, 1, features=fixed, **ASKED)


@pytest.mark.parametrize(("count", "words"), [(1, "with the one feature fixed"), (2, "with all 2 features fixed")])
def test_all_features_are_counted(count, words):
    explainer, row, names = colours(count)
    assert words in str(explainer.explain(row, 1, fix=names, **ASKED))


def test_what_is_said_under_a_limit_of_changes_names_the_limit():
    explainer = Explainer(AdditiveModel([Table({"a": 1, "b": -1}), Steps([0], [1, -1])], intercept=0.5))
    row = ["a", -1]
    assert explainer.predict(["b", 0]) != explainer.predict(row)
    text = str(explainer.contrast(row, 1, max_changed=1, **ASKED))
    assert "no change of at most 1 feature within the region can change the prediction" in text
    text = str(explainer.explain(row, 1, max_changed=1, **ASKED))
    assert "in the worst case 1 of the free features uses 2 of the margin; 0.5 is left." in text


def test_every_answer_names_its_claim():
    price = AdditiveModel([PiecewiseLinear([0, 100], [0, 300]), Steps([1950], [0, 20])], 50, "regression")
    explainer, row, asked = Explainer(price), [80, 1990], {"claim": AtLeast(250), "unit": "raw"}
    answers = [
        explainer.explain(row, 5, **asked),
        explainer.contrast(row, 50, **asked),
        explainer.counterfactual(row, 50, **asked),
        explainer.inflate(row, 5, features=["x0"], **asked),
        explainer.relevance(row, 5, **asked),
        explainer.curve(row, until=5, **asked),
        explainer.radius(row, [], **asked),
        explainer.sufficiency(row, [], 5, **asked),
        explainer.explanations(row, 5, **asked).listing(),
        explainer.explanations(row, 5, **asked).counted(),
    ]
    for answer in answers:
        assert "Claim: the prediction stays at or above 250" in str(answer)
        assert "the prediction stays the same" not in str(answer)


def test_one_stretch_is_not_larger_than_another():
    explainer, row, names = colours(1)
    assert "any radius, and the whole domain:" in str(explainer.curve(row, fix=names, **ASKED))


def test_numbers_beyond_all_floats_are_shown():
    why = Explainer(AdditiveModel([Steps([0], [Fraction(10) ** 400, -(Fraction(10) ** 450)])])).explain(
        [-1], 2, **ASKED
    )
    assert "margin a number near 1e+400" in str(why)
    assert "1e+400" in why._repr_html_()
    assert "inf" not in str(why)


TINY = Fraction(25, 10**401)


def test_a_number_that_is_not_0_is_never_written_as_0():
    step = Steps([0], [-1, TINY])
    explainer = Explainer(AdditiveModel([step, Steps([0], [0, 3 * TINY])], 0, features=["a", "b"]))
    texts = [
        str(explainer.explain([1, 1], 2, unit="raw")),
        str(explainer.explain([1, 1], TINY, unit="raw")),
        str(explainer.explain([1, 1], 2, unit="raw", claim=AtLeast(TINY))),
        str(explainer.contrast([1, 1], 2, unit="raw", claim=AtLeast(2 * TINY))),
        str(explainer.sufficiency([1, 1], ["a"], TINY, unit="raw", claim=Within(TINY))),
        str(explainer.radius([TINY, 1], [], unit="raw")),
        str(explainer.inflate([TINY, 1], TINY, unit="raw")),
    ]
    assert "2.5e-400" in texts[1]
    assert "the score stays at or above 2.5e-400" in texts[2]
    assert "the score stays within 2.5e-400" in texts[4]
    assert "up to about 2.5e-400" in texts[5]
    for text in texts:
        assert not re.search(r"(margin|about|within|above|below|up to|lower\w* by|than) 0(?![.\d])", text), text
    for sign in ("", "-"):
        assert format_value(rational(f"{sign}1e-400")) == f"{sign}1e-400"
        assert format_value(rational(f"{sign}9.9999996e-310")) == f"{sign}1e-309"
    assert format_value(rational("12345678e-330")) == "1.23457e-323"
    assert format_value(rational(0)) == "0"


def test_the_slack_in_a_ball_is_only_bounded():
    """In the ball of the 1-norm the two features together use 2.4 of the margin, in its box 4.8."""
    line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    why = Explainer(AdditiveModel([line, line], 0)).explain([3, 2], "2.4", unit="raw", norm=1)
    assert "Slack: the free features use at most 4.8 of the margin; at least 0.2 is left." in str(why)


def test_ends_of_ranges_are_rounded_inward():
    line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    explainer = Explainer(AdditiveModel([line], 0, task="regression", features=["a"]))
    for low, high in [("2/3", "10/3"), ("-2/3", "1/3"), ("1.234564", "1234568"), ("-1e400/3", "2e-400/3")]:
        first, last = (
            Fraction(top) / Fraction(bottom or 1) for top, _, bottom in (low.partition("/"), high.partition("/"))
        )
        middle = (first + last) / 2
        within = Within((last - first) / 2)
        found = explainer.inflate([middle], 0, unit="raw", features=["a"], claim=within)
        assert (found.ranges["a"].low, found.ranges["a"].high) == (first, last)
        shown = re.search(r"in \[(.*), (.*)\]", str(found)).groups()
        told = [Fraction(text.removeprefix("a number near ")) for text in shown]
        assert first <= told[0] <= told[1] <= last


@pytest.mark.parametrize(("step", "row"), [("0.6666666", "0.6666667"), ("0.3333333", "0.3333334")])
def test_inputs_that_break_a_claim_are_written_in_full(step, row):
    """Six digits may lie on the other side of the step; so may a decimal whose float does not."""
    explainer = Explainer(AdditiveModel([Steps([step], [-1, 1])], 0, features=["a"]))
    for ask in (explainer.contrast, explainer.counterfactual):
        text = re.search(r"-> (?:about )?(\S+)$", str(ask([row], "2e-7", unit="raw")), re.MULTILINE)[1]
        assert explainer.predict([text]) == explainer.predict([float(text)]) == 0 != explainer.predict([row])
    why = explainer.explain([row], "2e-7", unit="raw")
    text = re.search(r"If a could also change: \S+ -> (\S+) would", str(why))[1]
    assert explainer.predict([text]) == explainer.predict([float(text)]) == 0


def test_ranges_of_nothing_say_so():
    explainer = Explainer(AdditiveModel([Steps([0], [0, 1])] * 2, 1))
    assert "nothing is fixed, and the prediction stays the same whatever changes" in str(
        explainer.inflate([1, 1], 2, unit="raw")
    )


@pytest.mark.parametrize(
    ("domains", "question", "told"),
    [
        ([Domain.reals(), Domain.reals()], {"radius": 1}, "within one standard deviation"),
        ([Domain.reals(), Domain.interval(0, 9)], {"radius": 1}, "within one standard deviation, inside the domain"),
        ([Domain.reals(), Domain.integers()], {"radius": 1}, "within one standard deviation, inside the domain"),
        (
            [Domain.reals(), Domain.interval(0, 9)],
            {"radius": [1, 0]},
            "each feature within its own radius (in standard",
        ),
        ([Domain.reals(), Domain.interval(0, 9)], {"radius": "inf"}, "anywhere in the domain"),
        (
            [Domain.interval(0, math.inf), Domain.reals()],
            {"radius": 1, "immutable": ["x0"]},
            "within one standard deviation; x0 cannot change",
        ),
    ],
)
def test_the_region_ends_where_domains_end(domains, question, told):
    features = [Feature(f"x{i}", domain, deviation=1) for i, domain in enumerate(domains)]
    model = AdditiveModel([PiecewiseLinear([0, 1], [0, 1])] * 2, features=features)
    (region,) = [fact.text for fact in Explainer(model).explain([1, 1], **question).facts() if fact.label == "Region"]
    assert region.startswith(told)
    assert region.endswith("inside the domain") == told.endswith("inside the domain")
