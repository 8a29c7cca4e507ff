"""A question: read once, written down, read back."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from builders import RISING, drop_model, sentence
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import wishes

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.numbers.enclosure import logit_bounds
from suffice.numbers.exact import rational
from suffice.question.question import Question


def test_other_words_are_refused():
    explainer = drop_model(1, margin=4)
    with pytest.raises(suffice.OptionError, match="minimal must be 'size' or 'subset'"):
        explainer.explanations(["a"], 1, minimal="all", unit="raw")
    with pytest.raises(suffice.RadiusError, match="norm must be 1, 2 or"):
        explainer.explain(["a"], 1, norm=3, unit="raw")
    with pytest.raises(
        suffice.OptionError, match="arithmetic must be one of 'exact', 'float32', 'float64', got 'float16'"
    ):
        explainer.explain(["a"], 1, arithmetic="float16", unit="raw")


NONSENSE = [
    ({"max_nodes": "x"}, suffice.BudgetError, "max_nodes must be a whole number"),
    ({"max_seconds": 10**400}, suffice.BudgetError, "max_seconds must be a number of seconds"),
    ({"arithmetic": []}, suffice.OptionError, "arithmetic must be one of"),
    ({"norm": "x"}, suffice.RadiusError, "norm must be"),
    ({"cost": {"x0": "1e-400"}}, suffice.PreferenceError, "the costs have no common unit"),
    ({"cost": {"x0": "1e400"}}, suffice.PreferenceError, "the costs have no common unit"),
]


@pytest.mark.parametrize(("given", "kind", "words"), NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_gets_one_sentence(given, kind, words):
    with pytest.raises(kind, match=words):
        drop_model(1, 2, margin=2).explain(["a", "a"], 1, unit="raw", **given)


# --- written down and read back ---------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "d")
KINDS = ("binary", "multiclass", "regression")


def model_of(task):
    """A model of two numbers, a category and integers with a code, with deviations."""
    outputs = 3 if task == "multiclass" else 1
    line = PiecewiseLinear([0], [[0] * outputs], left_slope=[1] * outputs, right_slope=[2] * outputs)
    shapes = [line, line, Table({"u": [0] * outputs, "v": [1] * outputs}), line]
    features = [
        Feature("a", deviation=2),
        Feature("b", deviation="1/3", scale=5),
        Feature("c"),
        Feature("d", Domain.integers(0, 9), deviation=1),
    ]
    classes = {"binary": ["no", "yes"], "multiclass": [1, "two", 3.5], "regression": None}[task]
    return AdditiveModel(shapes, [1] * outputs, task, features, classes=classes)


MODELS = {task: model_of(task) for task in KINDS}
radii = st.one_of(
    st.sampled_from([0, 1, 0.1, "1/3", "0.25", math.inf, "inf", Fraction(7, 3)]),
    st.lists(st.sampled_from([0, 1, 0.1, "1/3", math.inf]), min_size=4, max_size=4),
    st.fixed_dictionaries({name: st.sampled_from([0, 1, 0.1, "1/3", "inf"]) for name in NAMES}),
)
numbers = st.fractions(-5, 5, max_denominator=9)
claims = {
    "binary": st.one_of(
        st.just(Same()),
        st.sampled_from([Beats("no"), Beats("yes"), ProbabilityAtLeast("0.9")]),
        st.builds(AtLeast, numbers),
        st.builds(AtMost, numbers),
    ),
    "multiclass": st.sampled_from([Same(), Beats(1), Beats("two"), Beats(3.5)]),
    "regression": st.one_of(st.builds(AtLeast, numbers), st.builds(Within, numbers.map(abs))),
}


@st.composite
def options_of(draw, task):
    """Options as a user may write them, each given or left out."""
    wished = draw(wishes(4))
    given = {
        "unit": draw(st.sampled_from(["std", "raw", "model"])),
        "categories": draw(st.sampled_from(["free", "step"])),
        "immutable": draw(st.lists(st.sampled_from(NAMES), unique=True)),
        "claim": draw(claims[task]),
        "max_changed": draw(st.sampled_from([None, 1, 3])),
        "norm": draw(st.sampled_from([math.inf, 1, 2])),
        "arithmetic": draw(st.sampled_from(["exact", "float32", "float64"])),
        "max_nodes": draw(st.sampled_from([None, 0, 7])),
        "max_seconds": draw(st.sampled_from([60.0, 0, 2.5])),
        **wished.options(NAMES),
    }
    needed = {"claim"} if task == "regression" else set()
    left_out = draw(st.sets(st.sampled_from(sorted(given)))) - needed
    if left_out & {"groups", "cost"}:  # the cost of a group means nothing without it
        left_out |= {"groups", "cost"}
    return {name: value for name, value in given.items() if name not in left_out}


@st.composite
def questions(draw):
    task = draw(st.sampled_from(KINDS))
    return MODELS[task], draw(radii), draw(options_of(task))


@settings(max_examples=300)
@given(questions())
def test_a_question_comes_back_from_its_document(asked):
    model, radius, options = asked
    question = Question.read(model, radius, **options)
    text = json.dumps(question.document(), allow_nan=False)
    again = Question.from_document(model, json.loads(text))
    assert again == question
    assert hash(again) == hash(question)
    assert again.document() == question.document()
    assert again.given == question.given
    without = question.document(has_budgets=False)
    usual = {"categories"} if question.categories == "free" else set()  # certificates had no such field
    assert set(question.document()) - set(without) == {"max_nodes", "max_seconds", *usual}
    assert Question.from_document(model, without) == question.with_budget(max_nodes=None, max_seconds=60.0)


@settings(max_examples=150)
@given(questions(), questions())
def test_questions_are_equal_if_they_are_written_alike(first, second):
    one, other = (Question.read(model, radius, **options) for model, radius, options in (first, second))
    assert (one == other) == (one.document() == other.document() and first[0].names == second[0].names)
    assert len({one, other}) == 1 + (one != other)


@settings(max_examples=100)
@given(questions(), st.data())
def test_what_is_left_out_has_its_default(asked, data):
    """And `given` tells what is not at its default, from the options as they were written."""
    model, radius, options = asked
    question = Question.read(model, radius, **options)
    plain = {"immutable": [], "fix": [], "free": [], "cost": {}, "groups": {}, "max_changed": None, "norm": math.inf}
    plain |= {"categories": "free"} | {"arithmetic": "exact", "max_nodes": None, "max_seconds": 60.0, "unit": "std"}
    assert Question.read(model, radius, **(plain | options)) == question
    given_ = {
        name
        for name, value in options.items()
        if name in plain
        and name != "unit"
        and value != plain[name]
        and not (name == "cost" and set(value.values()) == {1})
    }
    assert question.given == given_


def test_a_question_cannot_be_changed():
    question = Question.read(MODELS["binary"], 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.max_changed = 3
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        question.surprise = 3


UNKNOWN = ["held", "keep", "at_most", "semantics", "Unit", "radius_"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_options_and_fields_are_refused_in_one_sentence(name):
    model = MODELS["binary"]
    with pytest.raises(
        suffice.OptionError, match=f"'{name}' is not an option of a question; choose from unit, "
    ) as error:
        Question.read(model, 1, **{name: 1})
    sentence(error)
    with pytest.raises(
        suffice.OptionError, match=f"'{name}' is not a field of a question; choose from radius, "
    ) as error:
        Question.from_document(model, {"radius": 1, name: 1})
    sentence(error)


DOCUMENTS = [
    (7, suffice.OptionError, "a question is an object with the fields radius, "),
    ([1], suffice.OptionError, "a question is an object"),
    ({"claim": {"kind": "at_leest", "value": 1}}, suffice.ClaimError, "a claim is "),
    ({"claim": {"kind": "at_least"}}, suffice.ClaimError, "the claim 'at_least' needs the field 'value'"),
    ({"claim": {"kind": "same", "value": 1}}, suffice.ClaimError, "the claim 'same' has no field 'value'"),
    ({"norm": "3"}, suffice.RadiusError, "norm must be 1, 2 or infinity, got '3'"),
    ({"cost": [1]}, suffice.PreferenceError, "cost must be an object whose keys are names"),
    ({"groups": [["a", "b"]]}, suffice.PreferenceError, "groups must be an object whose keys are names"),
    ({"radius": {"a": 1}}, suffice.RadiusError, "'b' is missing"),
    ({"immutable": "a"}, suffice.FeatureNameError, "'a' is one name; give a list of names"),
    ({"max_changed": True}, suffice.PreferenceError, "max_changed must be a whole number"),
    ({"max_changed": "2"}, suffice.PreferenceError, "max_changed must be a whole number"),
    ({"max_nodes": 1.5}, suffice.BudgetError, "max_nodes must be a whole number"),
]


@pytest.mark.parametrize(("document", "kind", "words"), DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_documents_that_ask_nothing(document, kind, words):
    with pytest.raises(kind, match=words) as error:
        Question.from_document(MODELS["binary"], document)
    sentence(error)


def test_a_question_is_for_one_model_and_taken_as_it_is():
    explainer, other = Explainer(MODELS["binary"]), drop_model(1, 2, margin=2)
    question = explainer.question(1, unit="raw")
    assert explainer.question(question) is question
    with pytest.raises(suffice.OptionError, match="made for a model with other features; make a new one") as error:
        other.explain(["a", "a"], question)
    sentence(error)
    with pytest.raises(suffice.OptionError, match="already has its options; set 'unit' when you make it") as error:
        explainer.explain([1, 1, "u", 1], question, unit="std")
    sentence(error)


# --- generators are read once -----------------------------------------------------------------------------------------


def once(*names):
    return (name for name in names)


def test_generators_are_read_once():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3, RISING], 0, features=["a", "b", "c"]))
    row, raw = [1, 1, 1], {"unit": "raw"}
    assert explainer.radius(row, once("b"), immutable=once("c"), **raw).limit == suffice.Limit(Fraction(5), True)
    assert explainer.radius(row, once("b"), **raw).limit == suffice.Limit(Fraction(5, 2), True)
    assert (
        explainer.explain(row, 4, fix=once("a"), free=once("c"), **raw).features
        == explainer.explain(row, 4, fix=["a"], free=["c"], **raw).features
    )
    asked = Question.read(explainer.model, 4, immutable=once("a"), fix=once("b"), free=once("c"), groups=once(), **raw)
    assert asked == Question.read(explainer.model, 4, immutable=["a"], fix=["b"], free=["c"], **raw)
    groups = (once(*pair) for pair in (("a", "b"),))
    assert (
        explainer.explain(row, 4, groups=groups, **raw).cost
        == explainer.explain(row, 4, groups=[["a", "b"]], **raw).cost
    )
    assert set(explainer.inflate(row, 4, features=once("b", "a"), **raw).ranges) == {"a", "b"}


def test_generators_are_read_once_where_a_threshold_is_enclosed_twice():
    """The score is within 2^-200 of the logit of 0.8: a second round of bits decides, with the same features."""
    low, _ = logit_bounds(rational("0.8"), 600)
    near = Fraction(int(low.p), int(low.q))
    for step, is_enough in ((Fraction(1, 2**200), False), (Fraction(-1, 2**200), True)):
        explainer = drop_model(2, 3, 1, margin=near + 2 - step)
        row, claim = ["a"] * 3, ProbabilityAtLeast("0.8")
        asked = {"radius": 1, "claim": claim, "unit": "raw"}
        assert explainer.is_sufficient(row, once("x1"), immutable=once("x2"), **asked) is is_enough
        assert explainer.sufficiency(row, once("x1"), immutable=once("x2"), **asked).features == ("x1",)
        assert explainer.explain(row, fix=once("x1"), immutable=once("x2"), **asked).size == 2 - is_enough
        found = explainer.contrast(row, fix=once("x1"), immutable=once("x2"), **asked)
        assert found.is_possible is not is_enough
        certificate = explainer.sufficiency(row, once("x1"), immutable=once("x2"), **asked).certificate()
        assert ("insufficient" in certificate.text) is not is_enough


def test_a_question_is_not_asked_of_a_model_that_it_does_not_fit():
    number = AdditiveModel([Steps([0], [0, 9])], task="regression", features=["a"])
    classes = AdditiveModel([Steps([0], [0, 9])], features=["a"])
    asked = Explainer(classes).question(5, unit="raw")
    with pytest.raises(suffice.ClaimError, match="a regression has no class"):
        Explainer(number).is_sufficient([1], [], asked)
    one, other = (
        Explainer(AdditiveModel([Steps([0], [0, 9])], features=[suffice.Feature("a", deviation=deviation)]))
        for deviation in (2, 100)
    )
    with pytest.raises(suffice.OptionError, match="made for a model with other scales"):
        other.explain([1], one.question(1))


@pytest.mark.parametrize("kind", [[], {}, 5, None, "no such claim"])
def test_a_claim_of_no_known_kind_is_refused(kind):
    model = AdditiveModel([Steps([0], [0, 9])], features=["a"])
    with pytest.raises(suffice.ClaimError, match="an object whose kind is one of"):
        Question.from_document(model, {"claim": {"kind": kind}})


@pytest.mark.parametrize("cost", [[], 0, "a", {"a"}])
def test_costs_that_are_no_mapping_are_refused(cost):
    explainer = Explainer(AdditiveModel([Steps([0], [0, 9])], features=["a"]))
    with pytest.raises(suffice.PreferenceError, match="cost must be a mapping"):
        explainer.question(1, cost=cost, unit="raw")


def test_numbers_of_numpy_count_as_numbers():
    model = AdditiveModel([Steps([0], [0, 9])], features=["a"])
    given = {"max_changed": np.int64(2), "norm": np.float32(2), "max_nodes": np.int32(5), "max_seconds": np.float64(1)}
    plain = {"max_changed": 2, "norm": 2, "max_nodes": 5, "max_seconds": 1.0}
    asked = Question.read(model, 1, unit="raw", **given)
    assert asked == Question.read(model, 1, unit="raw", **plain)
    assert json.loads(json.dumps(asked.document())) == asked.document()
