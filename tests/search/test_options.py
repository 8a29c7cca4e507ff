"""Every search and every option: honoured, or refused with the reason; without effect at its default."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import sentence

import suffice
from suffice import AdditiveModel, AtLeast, Explainer, Feature, ReluNetwork, Same, Table
from suffice.question.question import OPTIONS
from suffice.search.registry import SEARCHES

# Three features that can lower a margin of 5 by 1, 2 and 4, within half a standard deviation.
EXPLAINER = Explainer(
    AdditiveModel(
        [ReluNetwork([np.array([[weight]], np.float32)], [np.zeros(1, np.float32)]) for weight in (1, 2, 4)],
        5,
        features=[Feature(name, deviation=2) for name in "abc"],
    )
)
ROW = [0, 0, 0]
# One feature of two names, at the one that the claim needs.
NAMED = Explainer(AdditiveModel([Table({"x": 1, "y": -1})], 0, features=["kind"]))


def asks(explainer):
    """How each search is asked."""
    return {
        "explain": explainer.explain,
        "sufficiency": lambda row, *radius, **options: explainer.sufficiency(row, [], *radius, **options),
        "contrast": explainer.contrast,
        "counterfactual": explainer.counterfactual,
        "relevance": explainer.relevance,
        "explanations": lambda row, *radius, **options: explainer.explanations(row, *radius, **options).listing(),
        "radius": lambda row, *question, **options: explainer.radius(row, [], *question, **options),
        "curve": lambda row, *question, **options: explainer.curve(row, *question, until=3, **options),
        "inflate": explainer.inflate,
    }


ASK = asks(EXPLAINER)
DEFAULTS = {
    "unit": ["std"],
    "categories": ["free"],
    "immutable": [(), []],
    "claim": [Same()],
    "fix": [(), []],
    "free": [(), []],
    "cost": [None, {}, {"a": 1, "b": "1.0"}],
    "groups": [(), {}, []],
    "max_changed": [None],
    "norm": [math.inf],
    "arithmetic": ["exact"],
    "max_nodes": [None],
    "max_seconds": [60.0, 60],
}
GIVEN = {
    "unit": "raw",
    "categories": "step",
    "immutable": ["c"],
    "claim": AtLeast(-1),
    "fix": ["a", "b"],
    "free": ["c"],
    "cost": {"c": 10},
    "groups": {"bc": ["b", "c"]},
    "max_changed": 1,
    "norm": 1,
    "arithmetic": "float32",
    "max_nodes": 10**6,
    "max_seconds": 59.0,
}
EVERY = [(search, option) for search in SEARCHES for option in OPTIONS]


def outcome(search, **options):
    """What is answered, without what repeats the question; or why it is not."""
    try:
        document = ASK[search](ROW, **options).document()
    except suffice.PreferenceError as error:
        return type(error)
    return {name: value for name, value in document.items() if name not in ("facts", "claim")}


def test_the_tables_above_are_complete():
    assert set(ASK) == set(SEARCHES)
    assert set(DEFAULTS) == set(GIVEN) == set(OPTIONS)
    for search in SEARCHES.values():
        assert search.honours | set(search.refuses) == set(OPTIONS)
        assert not search.honours & set(search.refuses)
        assert all(reason and "\n" not in reason for reason in search.refuses.values())


@pytest.mark.parametrize(("search", "option"), EVERY)
def test_at_its_default_an_option_changes_nothing(search, option):
    for value in DEFAULTS[option]:
        assert outcome(search, **{option: value}) == outcome(search)


HONOURED = [(search, option) for search, option in EVERY if option in SEARCHES[search].honours]


@pytest.mark.parametrize(("search", "option"), HONOURED)
def test_what_a_search_honours_counts(search, option):
    answer = outcome(search, **{option: GIVEN[option]})
    if option in ("max_nodes", "max_seconds"):  # more than enough
        assert answer == outcome(search)
    elif option == "categories":  # of which there are none above
        free, step = (asks(NAMED)[search](["x"], categories=one).document() for one in ("free", "step"))
        assert any(free.get(name) != step.get(name) for name in free.keys() - {"facts", "question", "claim"})
    elif option == "arithmetic":
        assert all(charge > 0 for charge in ASK[search](ROW, arithmetic="float32").case.charges)
        assert not any(ASK[search](ROW).case.charges)
    else:
        assert answer != outcome(search)


REFUSED = [(search, option) for search, option in EVERY if option not in SEARCHES[search].honours]


@pytest.mark.parametrize(("search", "option"), REFUSED)
def test_what_a_search_does_not_honour_is_refused_with_the_reason(search, option):
    expected = f"{search!r} does not take the option {option!r}: {SEARCHES[search].refuses[option]}"
    with pytest.raises(suffice.OptionError) as error:
        ASK[search](ROW, **{option: GIVEN[option]})
    assert sentence(error) == expected
    question = EXPLAINER.question(**{option: GIVEN[option]})
    with pytest.raises(suffice.OptionError) as error:
        ASK[search](ROW, question)
    assert sentence(error) == expected


@pytest.mark.parametrize("search", SEARCHES)
def test_a_question_asks_what_its_options_ask(search):
    options = {name: GIVEN[name] for name in ("unit", "immutable", "claim", "max_changed")}
    question = EXPLAINER.question(**options)
    assert ASK[search](ROW, question).document() == ASK[search](ROW, **options).document()


@pytest.mark.parametrize("search", [name for name, one in SEARCHES.items() if not one.takes_radius])
def test_where_the_radius_is_looked_for_that_of_a_question_does_not_matter(search):
    found = [ASK[search](ROW, EXPLAINER.question(radius)).document() for radius in (1, Fraction(1, 7), [0, 3, 5])]
    assert found[0] == found[1] == found[2] == ASK[search](ROW).document()


@pytest.mark.parametrize("option", ["fix", "free", "cost", "groups", "max_nodes"])
def test_ranges_of_named_features_take_no_preferences(option):
    with pytest.raises(
        suffice.OptionError, match=f"'inflate' does not take the option '{option}' together with"
    ) as error:
        EXPLAINER.inflate(ROW, features=["c"], **{option: GIVEN[option]})
    sentence(error)
