"""Attacks that need a model, or a statement, of their own: each says a little more than is true, or is no statement."""

import copy
import json
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from test_corpus import VALID, model_of, said

import suffice_check
from suffice import AdditiveModel, AtLeast, Domain, Explainer, Feature, PiecewiseLinear, Steps, Table, Within
from suffice.model.writing import to_bytes
from suffice_check import claims
from suffice_check.claims import Inequality
from suffice_check.core import Part
from suffice_check.domain import Span
from suffice_check.exponential import exp_bounds
from suffice_check.model import read_model
from suffice_check.ordered import Number
from suffice_check.words import show_interval

RAW = {"unit": "raw"}
PRECISE = Context(prec=60)


def line(slope):
    return PiecewiseLinear([0], [0], slope, slope)


def step(fall):
    """Falls by so much below 1."""
    return Steps([1], [-Fraction(fall), 0])


def forged(document, question=(), result=(), evidence=()):
    found = copy.deepcopy(document)
    found["question"] |= dict(question)
    found["result"] |= dict(result)
    found["evidence"] |= dict(evidence)
    return found


def check(model, document):
    return suffice_check.check(to_bytes(model), json.dumps(document).encode())


def rejected(model, document):
    """The step at which a statement is rejected."""
    with pytest.raises(suffice_check.RejectedError) as caught:
        check(model, document)
    return caught.value.step


def test_in_a_ball_too_several_features_change_at_once():
    model = AdditiveModel([line("4/5"), line("4/5")], 0, "regression")
    explainer = Explainer(model)
    document = explainer.sufficiency([0, 0], ["x0", "x1"], 1, claim=AtLeast(-1), norm=2, **RAW).certificate().document
    assert rejected(model, forged(document, result={"fixed": []})) == "sufficiency"
    check(model, forged(document, result={"fixed": [0]}))


def test_the_least_change_is_counted_in_finite_radii():
    model = AdditiveModel([step(2), Steps([], [0])], 1)
    radius = {"x0": 4, "x1": 4}
    document = Explainer(model).counterfactual([2, 0], radius, **RAW).certificate().document
    assert document["result"]["kind"] == "counterfactual"
    assert rejected(model, forged(document, question={"radius": {"x0": "4", "x1": "inf"}})) == "radius"


def test_a_proof_that_nothing_is_smaller_is_none_that_nothing_is_as_small():
    model = AdditiveModel([step(2), step(2), step(2)], 3)
    every = Explainer(model).explanations([2, 2, 2], 4, minimal="size", **RAW)
    document = every.listing(1).certificate().document
    assert document["result"]["is_complete"] is False
    assert rejected(model, forged(document, result={"is_complete": True})) == "tree"


def test_a_set_that_shows_a_relevant_feature_must_suffice():
    model = AdditiveModel([step(5), step(5), step("1/2")], 6)
    document = Explainer(model).relevance([2, 2, 2], 4, **RAW).certificate().document
    assert document["result"]["irrelevant"] == [2]
    sets = {"sets": [*document["evidence"]["sets"], [2]], "trees": []}
    assert rejected(model, forged(document, result={"relevant": [0, 1, 2], "irrelevant": []}, evidence=sets)) == (
        "sufficiency"
    )


def test_only_of_what_lowers_nothing_there_is_nothing_to_show():
    """A feature that can only raise the score needs no tree; one that lowers it by little, or without end, does."""
    model = AdditiveModel([step(5), step(5), -step(5), step("1/2"), line(1)], 6)
    explainer, row = Explainer(model), [2, 2, 2, 2, 0]
    document = explainer.relevance(row, 4, immutable=["x4"], **RAW).certificate().document
    assert document["result"]["irrelevant"] == [2, 3, 4]
    assert [bool(tree) for tree in document["evidence"]["trees"]] == [False, True, False]
    check(model, document)
    assert rejected(model, forged(document, evidence={"trees": [[], [], []]})) == "tree"
    said_of_all = {"relevant": [], "irrelevant": [0, 1, 2, 3, 4]}
    assert rejected(model, forged(document, result=said_of_all, evidence={"sets": [], "trees": [[]] * 5})) == "tree"
    model = AdditiveModel([step(5), line(1)], 1)
    document = Explainer(model).relevance([2, 0], "inf", immutable=["x1"], **RAW).certificate().document
    assert document["evidence"]["trees"] == [[]]
    check(model, document)
    assert rejected(model, forged(document, question={"immutable": []})) == "tree"


def test_stretches_of_a_curve_come_in_order_and_begin_on_the_right_side():
    path = VALID["curve_of_all"]
    document, model = json.loads(path.read_bytes()), model_of(path).read_bytes()

    def verdict(changed):
        with pytest.raises(suffice_check.RejectedError) as caught:
            suffice_check.check(model, json.dumps(changed).encode())
        return caught.value.step

    first, second, third, fourth = document["result"]["steps"]
    proofs = [document["evidence"]["proofs"][k] for k in (0, 2, 1, 3)]
    swapped = {"steps": [first, third, second, fourth]}
    assert verdict(forged(document, result=swapped, evidence={"proofs": proofs})) == "steps"
    below = [first, second | {"holds_at": "1/10"}, third | {"from": f"{third['from']}-e"}, fourth]
    assert verdict(forged(document, result={"steps": below})) == "radius"


def ranges_of_two():
    """The score is the sum of two features, and must stay from 0 up; a third does nothing."""
    model = AdditiveModel([line(1), line(1), Steps([], [0])], 0, "regression")
    found = Explainer(model).inflate([2, 2, 0], 1, features=["x0", "x1"], claim=AtLeast(0), **RAW)
    return model, found.certificate().document


def test_a_range_is_widest_with_later_features_at_the_row():
    model, document = ranges_of_two()
    assert [one["low"] for one in document["result"]["ranges"]] == ["-2", "2"]
    check(model, document)  # the second range ends where the first one, which goes beyond the region, leaves no room
    ranges = [one | {"low": low} for one, low in zip(document["result"]["ranges"], ["-1", "1"], strict=True)]
    places = [["-1-e", "1", "0"], ["-1", "1-e", "0"]]
    inputs = [[{"number": place} for place in one] for one in places]
    assert rejected(model, forged(document, result={"ranges": ranges}, evidence={"inputs": inputs})) == "input"
    check(model, forged(document, result={"ranges": ranges, "is_widest": False}, evidence={"inputs": []}))


def test_features_with_ranges_are_an_allowed_set():
    model, document = ranges_of_two()
    assert rejected(model, forged(document, question={"fix": ["x2"]})) == "choices"
    assert rejected(model, forged(document, question={"free": ["x0"]})) == "choices"


def test_only_bounds_of_the_exponential_on_the_right_side_show_an_enclosure(monkeypatch):
    path = VALID["probability_of_a_half"]
    suffice_check.check(model_of(path).read_bytes(), path.read_bytes())
    monkeypatch.setattr(claims, "exp_bounds", lambda exponent, bits: (Fraction(1, 2), Fraction(2)))
    with pytest.raises(suffice_check.RejectedError, match="enclosure"):
        suffice_check.check(model_of(path).read_bytes(), path.read_bytes())


def test_immutable_features_stay_even_on_the_whole_domain():
    model = AdditiveModel([step(2)], 1)
    document = Explainer(model).radius([2], [], immutable=["x0"], **RAW).certificate().document
    assert document["result"]["holds_at"] == "inf"
    check(model, document)
    inf = Explainer(model).sufficiency([2], [], "inf", immutable=["x0"], **RAW).certificate().document
    check(model, inf)


def test_no_item_is_both_fixed_and_free():
    model = AdditiveModel([step(2), Steps([], [0])], 1)
    document = Explainer(model).contrast([2, 0], 4, **RAW).certificate().document
    assert rejected(model, forged(document, question={"fix": ["x1"], "free": ["x1"]})) == "choices"


def test_a_number_does_not_become_a_category():
    domain = Domain.interval(0, 1) | Domain.categories("a")
    model = AdditiveModel([Table({"a": -5}, otherwise=Steps([], [1]))], 0, features=[Feature("x", domain)])
    document = Explainer(model).sufficiency([0], [], 1, **RAW).certificate().document
    check(model, document)
    said_otherwise = document | {
        "result": {"kind": "insufficient", "fixed": []},
        "evidence": {"input": [{"label": "a"}]},
    }
    assert rejected(model, said_otherwise) == "input"


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_a_tie_goes_to_the_class_of_the_lower_index(first, second):
    """The winner may tie with a class after it, and loses a tie with one before it."""
    values = {first: [3, 0], second: [1, 1]}
    model = AdditiveModel([Steps([1], [[1, 1], [values[0][0], values[1][0]]])], [0, 0], "multiclass")
    explainer = Explainer(model)
    stays = explainer.is_sufficient([2], [], 4, **RAW)
    assert stays == (first < second)
    check(model, explainer.sufficiency([2], [], 4, **RAW).certificate().document)
    fixed = explainer.sufficiency([2], ["x0"], 4, **RAW).certificate().document
    if not stays:
        assert rejected(model, forged(fixed, result={"fixed": []})) == "sufficiency"


@pytest.mark.parametrize(("ties", "winner"), [("positive", "yes"), ("negative", "no")])
def test_a_score_of_0_belongs_to_the_class_that_ties_go_to(ties, winner):
    model = AdditiveModel([Steps([], [0])], 0, classes=["no", "yes"], ties=ties)
    assert f"stays '{winner}'" in check(model, Explainer(model).explain([0], 1, **RAW).certificate().document)


def test_one_that_goes_beyond_makes_up_for_all_that_only_come_close():
    """Just beyond the radius one feature falls on, while two others come as close to their limits as one likes."""
    jump = Steps([0], [2, 0], "right") + line(1)  # above 0 it comes close to 0
    positive = Domain.interval(0, 9)
    features = [Feature("a"), Feature("b", positive), Feature("c", positive)]
    model = AdditiveModel([line(1), jump, jump], 0, "regression", features)
    claim = AtLeast(-1)
    found = Explainer(model).radius([0, 0, 0], [], claim=claim, **RAW)
    document = found.certificate().document
    check(model, document)


def test_a_radius_that_is_not_the_largest_is_not_said_to_be():
    text = said("radius_attained", lambda document: document["result"].update(holds_at="1/4"))
    assert "at every radius up to and including 1/4, but not above 21/52" in text
    assert "no larger" not in text


def test_intervals_are_rounded_inwards():
    long = Fraction(1, 3) + Fraction(1, 10**13)
    assert show_interval(Number(long, 1), Number(long + 1), is_exact=False) == "(0.333334, 1.33333]"
    assert show_interval(Number(long), Number(long + 1, -1), is_exact=False) == "[0.333334, 1.33333)"
    assert show_interval(None, None) == "(-inf, inf)"


@pytest.mark.parametrize(("field", "value"), [("is_complete", 1), ("is_complete", "true")])
def test_what_is_no_truth_value_is_not_taken_for_one(field, value):
    path = VALID["all_smallest"]
    document = json.loads(path.read_bytes())
    document["result"][field] = value
    with pytest.raises(suffice_check.UnreadableError):
        suffice_check.check(model_of(path).read_bytes(), json.dumps(document).encode())


def test_a_factor_scales_labels_too():
    model = AdditiveModel([Table({"u": 1, "v": -1}) * 3], 0, "regression")
    explainer = Explainer(model)
    check(model, explainer.sufficiency(["u"], [], 1, claim=AtLeast(-3), **RAW).certificate().document)
    document = explainer.sufficiency(["u"], ["x0"], 1, claim=AtLeast("-5/2"), **RAW).certificate().document
    assert rejected(model, forged(document, result={"fixed": []})) == "sufficiency"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nearest", "the largest change must exceed 21/22 of its radius"),
        ("nearest_attained", "the largest change must be at least 1/2000 of its radius"),
        ("curve_of_all", "fixing nothing is enough at every radius up to and including 0; fixing 'colour' is enough"),
        ("curve_of_all", "at every radius below 311/410, and no smaller set above 0; fixing 'colour' and 'jump' is"),
        ("curve_of_all", "at every radius below 1, and no smaller set from 311/410 on; fixing 'colour', 'jump' and"),
        ("all_minimal", "; no set with a feature less is; no other set is minimal. Region"),
        ("some_minimal", "; no set with a feature less is. Region"),
        ("ranges_of_all", "; each range is as wide as those before it allow. Region"),
    ],
)
def test_the_sentence_says_from_where_to_where_and_whether_that_is_all(name, part):
    assert part in said(name)


def test_ranges_that_may_be_wider_are_not_said_to_be_widest():
    text = said(
        "ranges_of_all",
        lambda document: (document["result"].update(is_widest=False), document["evidence"].update(inputs=[])),
    )
    assert "as wide as" not in text


def test_the_region_of_what_is_fixed_is_told_where_smaller_sets_are_ruled_out():
    """What no smaller set means depends on how far the fixed features could move."""
    model = AdditiveModel([step(2), step("1/2")], 1)
    document = Explainer(model).explain([2, 2], {"x0": 4, "x1": 3}, **RAW).certificate().document
    assert document["result"]["fixed"] == [0]
    assert "Region: 'x1' within 3 of the row (in its own units) and 'x0' within 4 of the row" in check(model, document)


def test_the_smallest_charge_is_said_to_be_spare():
    model = AdditiveModel([line(1)], 0, "regression")
    document = Explainer(model).sufficiency([0], ["x0"], 1, claim=Within(1), **RAW).certificate().document
    charged = forged(document, question={"arithmetic": "float32"}) | {"charges": ["1/500", "1/1000"]}
    assert "with at least 1/1000 of score to spare" in check(model, charged)
    document = Explainer(model).radius([0], [], claim=Within(1), **RAW).certificate().document
    charged = forged(document, question={"arithmetic": "float32"}, result={"holds_at": "1/2", "fails_at": "2"})
    charged = forged(charged, evidence={"input": [{"number": "2"}]})
    text = check(model, charged | {"charges": ["1/500", "1/1000"]})
    assert "own, with at least 1/1000 of score to spare, at every radius up to and including 1/2, but is false" in text
    assert "false by at least 1/1000 of score at some input from 2 on." in text


def test_what_cannot_move_at_any_finite_radius_is_told():
    """The row is held there by a deviation of 0, not by its shape."""
    model = AdditiveModel([line(1), Steps([], [0])], 1, features=[Feature("x", deviation=0), Feature("y", deviation=1)])
    document = Explainer(model).radius([0, 0], []).certificate().document
    assert document["result"]["holds_at"] == "finite"
    text = check(model, document)
    assert "at every finite radius, but not on the whole domain. Region: 'x' held at its value and 'y' within" in text


def test_a_score_that_is_a_logit_is_said_to_be_one():
    claim = {"claim": AtLeast("1/2"), **RAW}
    for offset, words in (
        ("0", "the score (the log-odds of 'yes') stays at least 1/2"),
        ("1", "the score stays at least"),
    ):
        model = AdditiveModel([line(1)], 1, classes=["no", "yes"], logit_offset=offset)
        assert words in check(model, Explainer(model).explain([0], 1, **claim).certificate().document)


def test_a_place_just_beyond_an_end_does_not_hide_the_end_itself():
    """At the end of a region that reaches just beyond it, the value there counts as well as the limits beside it."""
    dip = Table({2: -5}, otherwise=Steps([], [0]))
    feature = read_model(to_bytes(AdditiveModel([dip], 0, "regression"))).features[0]
    part = Part(feature, (Fraction(0),), [Inequality((1,), Fraction(0), False)], 1)
    for low, high in (((2, -1), (4, 0)), ((0, 0), (2, 1))):
        span = Span(Number(Fraction(low[0]), low[1]), Number(Fraction(high[0]), high[1]), is_integers=False)
        assert part.over(span) == [Number(Fraction(5))]


@pytest.mark.parametrize(("end", "side"), [("low", "-e"), ("high", "+e")])
def test_ends_of_ranges_leave_numbers_out_and_never_add_some(end, side):
    model = AdditiveModel([Steps([0], [0, 1])], 0, "regression", [Feature("x", Domain.interval(-9, 9))])
    document = Explainer(model).inflate([3], 1, features=["x"], claim=AtLeast(0), **RAW).certificate().document
    ranges = [{"feature": 0, "low": "-1", "high": "5"}]
    inner = forged(document, result={"ranges": ranges, "is_widest": False}, evidence={"inputs": []})
    check(model, inner)
    ranges[0][end] += side
    assert rejected(model, forged(inner, result={"ranges": ranges})) == "ranges"


@pytest.mark.parametrize("bits", range(1, 16))
def test_the_exponential_function_lies_between_its_bounds_however_coarse(bits):
    """With few digits, what is left of a series matters."""
    for k in range(1, 200):
        low, high = exp_bounds(Fraction(k, 97), bits)
        assert low <= Fraction(PRECISE.exp(PRECISE.divide(Decimal(k), Decimal(97)))) <= high
