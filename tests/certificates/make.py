"""Writes the corpus: `python tests/certificates/make.py`. Models, certificates that hold, attacks on them, and no-ones.

Each attack changes one thing of a certificate that holds, and says at which step the checker must reject it. The files
in `malformed/` are no certificates at all.
"""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from plain import models  # noqa: E402

from suffice import AtLeast, AtMost, Beats, Explainer, ProbabilityAtLeast, Within  # noqa: E402
from suffice.model.writing import to_bytes  # noqa: E402

ROW = {"net": "5/2", "bins": 5, "months": 3, "colour": "red", "jump": "1/4"}
TINY = Fraction(1, 2**120)
TIE = {"net": 0, "bins": 0, "months": 0, "colour": 0, "jump": "311/320"}  # the drop of `jump` is the whole margin
PAIR = {"net": 2, "bins": 2, "months": 1, "colour": 0, "jump": "1/8"}  # two features are needed to break the claim
SECOND = {**ROW, "jump": -1}
ZERO = [0] * 9
POINTS = {"age": 40, "income": 2000, "years": 6}  # exactly as many as are needed
CARD = {"age": 28, "income": 900, "years": 1}  # refused; with an income of more than 1000 exactly as many as are needed
BOTH = {"age": 28, "income": 998, "years": 6}  # refused; more than 2 more of age and income are exactly enough


class Raw:
    """An explainer that counts in the features' own units, if nothing else is said."""

    def __init__(self, model):
        self.explainer = Explainer(model)

    def __getattr__(self, name):
        asked = getattr(self.explainer, name)
        return lambda *args, **options: asked(*args, **({"unit": "raw"} | options))


# --- certificates that hold -------------------------------------------------------------------------------------------


def valid():
    """Return the name of the model and the document of each."""
    by = {name: Raw(model) for name, model in models().items()}
    yes, no, number, classes, corners, card = by.values()
    score = number.explainer.score
    tight = score(ROW) - number.explain(ROW, 1, claim=AtLeast(-10)).drops["net"]
    higher, within = AtMost(score(SECOND) + Fraction(1, 2)), {"claim": Within(21)}
    net = AtLeast(score(ROW) - Fraction(1, 16))
    made = {
        "one_inequality": ("positive", yes.explain(ROW, 2)),
        "strict_inequality": ("negative", no.explain(ROW, 2)),
        "whole_domain": ("positive", yes.explain({**ROW, "months": None}, "inf")),
        "rays": ("regression", number.explain(ROW, {**TIE, "net": "inf", "jump": "inf"}, claim=AtLeast(-9))),
        "nothing_to_fix": ("positive", yes.explain(ROW, "1/8", immutable=["colour"])),
        "tie_that_is_kept": ("positive", yes.explain(ROW, TIE)),
        "tie_that_is_lost": ("negative", no.explain(ROW, TIE)),
        "approached_drop": ("regression", number.explain(SECOND, "5/4", claim=higher)),
        "approached_alone": ("regression", number.explain(SECOND, {**TIE, "jump": "5/4"}, claim=higher)),
        "pair": ("positive", yes.explain(ROW, PAIR)),
        "two_sides": ("regression", number.explain(ROW, 1, claim=Within("1/4"))),
        "no_slack": ("regression", number.explain(ROW, {**TIE, "net": 1, "jump": 0}, claim=AtLeast(tight))),
        "against_all_classes": ("classes", classes.explain(ROW, 3)),
        "against_one_class": ("classes", classes.explain(ROW, 3, claim=Beats("c"))),
        "branches": ("corners", corners.explain(ZERO, 1, **within)),
        "costs": ("corners", corners.explain(ZERO, 1, **within, cost={"x1": 3, "x6": "1/2", "x8": 2})),
        "costs_of_a_third": ("positive", yes.explain(ROW, 2, cost=dict.fromkeys(ROW, "2/3"))),
        "groups": ("corners", corners.explain(ZERO, 1, **within, groups=[["x0", "x1"], ["x7", "x8"]])),
        "dear_group": (
            "corners",
            corners.explain(ZERO, 1, **within, groups={"both": ["x5", "x1"]}, cost={"both": "5/2", "x8": "1/2"}),
        ),
        "wishes": ("corners", corners.explain(ZERO, 1, **within, fix=["x0"], free=["x7"])),
        "dear_to_fix": ("corners", corners.explain(ZERO, 1, **within, fix=["x0", "x4", "x5"])),
        "dear_to_free": ("corners", corners.explain(ZERO, 1, claim=Within(13), free=["x1"])),
        "few_at_once": ("corners", corners.explain(ZERO, 1, **within, max_changed=2)),
        "standard_deviations": ("positive", yes.explain(ROW, 1, unit="std", immutable=["jump"])),
        "deviations_of_corners": ("corners", corners.explain(ZERO, "1/2", unit="std", **within)),
        "scaled_units": ("positive", yes.explain(ROW, 1, unit="model")),
        "immutable": ("positive", yes.explain(ROW, "inf", immutable=["net", "colour"])),
        "ball": ("positive", yes.explain(ROW, PAIR, norm=2)),
        "ball_that_is_best": ("positive", yes.explain(ROW, 2, norm=1)),
        "probability": ("positive", yes.explain(ROW, PAIR, claim=ProbabilityAtLeast("11/20"))),
        "probability_of_a_half": ("positive", yes.explain(ROW, PAIR, claim=ProbabilityAtLeast("1/2"))),
        "improbable": ("negative", no.explain(ROW, 2, claim=ProbabilityAtLeast("1/20"))),
        "contrast": ("positive", yes.contrast(ROW, PAIR)),
        "contrast_of_few": ("corners", corners.contrast(ZERO, 1, **within, max_changed=3)),
        "contrast_of_one": ("positive", yes.contrast(ROW, 2)),
        "contrast_with_fixed": ("corners", corners.contrast(ZERO, 1, **within, fix=["x1"])),
        "contrast_is_impossible": ("positive", yes.contrast(ROW, "1/8", immutable=["colour"])),
        "contrast_with_fixed_is_impossible": ("positive", yes.contrast(ROW, "1/8", fix=["colour"])),
        "radius_attained": ("corners", corners.radius(ZERO, ["x1", "x6"], **within)),
        "radius_not_attained": ("negative", no.radius(ROW, ["colour", "net"])),
        "radius_at_a_jump": ("positive", yes.radius(ROW, ["colour", "net", "months"])),
        "radius_of_a_network": ("regression", number.radius(ROW, ["bins", "months", "colour", "jump"], claim=net)),
        "radius_of_0": ("positive", yes.radius(ROW, ["net"])),
        "radius_of_integers": ("positive", yes.radius(ROW, ["colour", "net", "jump"])),
        "radius_without_end": ("positive", yes.radius({**ROW, "months": None}, ["net", "bins", "jump", "colour"])),
        "radius_in_deviations": ("corners", corners.radius(ZERO, ["x1", "x6"], unit="std", **within)),
        "radius_with_immutable": ("negative", no.radius(ROW, ["net"], unit="model", immutable=["colour"])),
        "radius_up_to_a_plateau": ("card", card.radius(CARD, ["years"])),
        "radius_up_to_two_plateaus": ("card", card.radius(BOTH, ["years"])),
        "radius_of_steps": ("card", card.radius(POINTS, ["income"], unit="std")),
        "sufficient": ("classes", classes.sufficiency(ROW, ["net", "bins", "jump"], "1/2").certificate()),
        "insufficient": ("classes", classes.sufficiency(ROW, ["months"], 2).certificate()),
        "insufficient_by_two": ("positive", yes.sufficiency(ROW, ["jump"], PAIR).certificate()),
        "contrast_with_costs": (
            "corners",
            corners.contrast(ZERO, 1, **within, cost={"x1": 3, "x2": 3, "x3": "5/2", "x8": 2}, fix=["x6"]),
        ),
        "contrast_with_groups": (
            "corners",
            corners.contrast(ZERO, 1, **within, groups=[["x1", "x2"], ["x6", "x7"]], free=["x0"], max_changed=4),
        ),
        "nearest": ("corners", corners.counterfactual(ZERO, 1, **within)),
        "nearest_with_costs": ("corners", corners.counterfactual(ZERO, 2, **within, cost={"x1": 3, "x2": "5/2"})),
        "nearest_at_a_jump": ("card", card.counterfactual(CARD, 2000)),
        "nearest_attained": ("card", card.counterfactual(POINTS, 2000)),
        "nearest_label": ("positive", yes.counterfactual(ROW, 2)),
        "radius_of_few": ("corners", corners.radius(ZERO, ["x1"], **within, max_changed=3)),
        "radius_of_a_probability": ("positive", yes.radius(ROW, ["colour", "jump"], claim=ProbabilityAtLeast("11/20"))),
        "all_smallest": ("corners", corners.explanations(ZERO, 1, **within).listing(100)),
        "some_smallest": ("corners", corners.explanations(ZERO, 1, **within).listing(1)),
        "all_cheapest": (
            "corners",
            corners.explanations(ZERO, 1, **within, cost={"x1": 2, "x4": "1/2"}, groups=[["x6", "x7"]]).listing(100),
        ),
        "all_minimal": ("positive", yes.explanations(ROW, 2, minimal="subset").listing(100)),
        "all_minimal_of_corners": (
            "corners",
            corners.explanations(ZERO, 1, claim=Within(30), minimal="subset", fix=["x1"], free=["x0", "x4"]).listing(
                500
            ),
        ),
        "some_minimal": ("corners", corners.explanations(ZERO, 1, **within, minimal="subset").listing(3)),
        "minimal_of_few": (
            "corners",
            corners.explanations(ZERO, 1, claim=Within(14), minimal="subset", max_changed=2).listing(500),
        ),
        "roles": ("positive", yes.relevance(ROW, 2)),
        "roles_of_corners": ("corners", corners.relevance(ZERO, 1, claim=Within(10), groups=[["x1", "x5"]])),
        "roles_with_irrelevant": ("card", card.relevance(POINTS, 15)),
        "curve_of_corners": ("corners", corners.curve(ZERO, until=2, claim=Within(60), fix=["x8"])),
        "curve_of_a_card": ("card", card.curve(POINTS)),
        "curve_in_deviations": ("corners", corners.curve(ZERO, until=1, unit="std", claim=Within(60), cost={"x1": 2})),
        "curve_of_all": ("negative", no.curve(ROW)),
        "ranges": ("corners", corners.inflate(ZERO, 1, claim=Within(30))),
        "ranges_of_a_card": ("card", card.inflate(POINTS, 15)),
        "ranges_of_all": ("positive", yes.inflate(ROW, 2)),
        "ranges_given": ("negative", no.inflate(ROW, "1/8", features=["bins", "colour", "months", "net"])),
        "insufficient_in_a_ball": ("positive", yes.sufficiency(ROW, ["months", "jump"], 2, norm=2).certificate()),
    }
    documents = {
        name: (model, json.loads((result.certificate() if hasattr(result, "certificate") else result).text))
        for name, (model, result) in made.items()
    }

    def more(name, base, change):
        model, document = documents[base]
        documents[name] = model, _changed(document, change)

    more("charged", "one_inequality", lambda d: _charge(d, "1/1000"))
    more("contrast_charged", "contrast", lambda d: _charge(d, "1/1000"))
    more("insufficient_charged", "insufficient", lambda d: _charge(d, "1/100", "1/1000"))
    more("contrast_of_many", "contrast_of_few", _many)
    more("radius_of_what_never_moves", "radius_of_steps", _still)
    more("bounded", "branches", lambda d: _set(d["result"], "lower_bound", "5"))
    return documents


def _many(document):
    document["question"]["max_changed"] = None
    document["result"] |= {"changed": [1, 2, 3, 8]}
    document["evidence"]["input"] = [{"number": str(int(i in (1, 2, 3, 8)))} for i in range(9)]


def _still(document):
    """The third feature has a standard deviation of 0: it moves at no finite radius, but it can on the whole domain."""
    document["result"] = {"kind": "radius", "fixed": [0, 1], "holds_at": "finite", "fails_at": "inf"}
    document["evidence"] = {"input": [*document["row"][:2], {"number": "0"}]}


def _charge(document, *charges):
    document["charges"], document["question"]["arithmetic"] = list(charges), "float32"


# --- attacks ----------------------------------------------------------------------------------------------------------


def _set(container, key, value):
    container[key] = value


def _changed(document, change):
    fresh = copy.deepcopy(document)
    change(fresh)
    return fresh


def _swap(container, key, change):
    container[key] = change(container[key])


def _nudge(text, by=Fraction(1, 2**200)):
    return str(Fraction(text) + by)


def _hash(name):
    return hashlib.sha256(to_bytes(models()[name])).hexdigest()


def _ask(**changes):
    return lambda document: document["question"].update(changes)


def _reach(name, radius):
    def change(document):
        question, names = document["question"], list(models()["positive"].names)
        shared = question["radius"]
        by_name = dict(shared) if isinstance(shared, dict) else dict.fromkeys(names, shared)
        question["radius"] = {**by_name, name: radius}

    return change


# name of the attack: (certificate that holds, step that must fail, change)
ATTACKS = {
    "another_models_hash": ("one_inequality", "model", lambda d: _set(d, "model", _hash("classes"))),
    "row_outside_domain": ("one_inequality", "row", lambda d: _set(d["row"], 1, {"number": "11"})),
    "row_between_integers": ("one_inequality", "row", lambda d: _set(d["row"], 2, {"number": "7/2"})),
    "row_of_an_unknown_label": ("one_inequality", "row", lambda d: _set(d["row"], 3, {"label": "mauve"})),
    "row_too_short": ("one_inequality", "row", lambda d: d["row"].pop()),
    "row_of_more_features": ("one_inequality", "row", lambda d: d["row"].append({"number": "1"})),
    "radius_negative": ("one_inequality", "radius", _reach("jump", "-2")),
    "radius_enlarged": ("nothing_to_fix", "sufficiency", _reach("net", "9")),
    "radius_infinite": ("nothing_to_fix", "sufficiency", _reach("net", "inf")),
    "row_changed": ("one_inequality", "tree", lambda d: _set(d["row"], 3, {"label": "blue"})),
    "claim_of_several_scores": ("two_sides", "claim", lambda d: d["question"].update(claim={"kind": "same"})),
    "claim_of_one_score": (
        "against_all_classes",
        "claim",
        lambda d: d["question"].update(claim={"kind": "at_least", "value": "0"}),
    ),
    "class_beats_itself": (
        "against_all_classes",
        "claim",
        lambda d: d["question"].update(claim={"kind": "beats", "other": "b"}),
    ),
    "class_that_does_not_exist": (
        "against_all_classes",
        "claim",
        lambda d: d["question"].update(claim={"kind": "beats", "other": "d"}),
    ),
    "claim_tightened_by_a_hair": ("no_slack", "sufficiency", lambda d: _swap(d["question"]["claim"], "value", _nudge)),
    "strict_taken_for_not_strict": ("tie_that_is_kept", "sufficiency", lambda d: _set(d, "model", _hash("negative"))),
    "not_strict_taken_for_strict": ("tie_that_is_lost", "tree", lambda d: _set(d, "model", _hash("positive"))),
    "fixed_feature_listed_twice": ("one_inequality", "features", lambda d: d["result"]["fixed"].append(3)),
    "fixed_feature_that_does_not_exist": ("one_inequality", "features", lambda d: d["result"]["fixed"].append(5)),
    "fixed_feature_left_out": ("one_inequality", "sufficiency", lambda d: d["result"]["fixed"].remove(3)),
    "fixed_feature_replaced": ("one_inequality", "sufficiency", lambda d: _set(d["result"], "fixed", [3, 4, 0])),
    "fixed_too_many": ("one_inequality", "tree", lambda d: d["result"].update(fixed=[0, 2, 3, 4], lower_bound="4")),
    "lower_bound_above_the_set": ("one_inequality", "lower bound", lambda d: _set(d["result"], "lower_bound", "4")),
    "lower_bound_without_a_proof": ("sufficient", "witnesses", lambda d: _set(d["result"], "lower_bound", "1")),
    "proof_without_a_lower_bound": ("one_inequality", "lower bound", lambda d: _set(d["result"], "lower_bound", "0")),
    "witness_outside_region": (
        "one_inequality",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "-2"}),
    ),
    "witness_of_a_category_held": ("contrast_of_one", "input", _reach("colour", "0")),
    "witness_at_the_row": ("one_inequality", "tree", lambda d: _set(d["evidence"]["witnesses"][0], 2, d["row"][2])),
    "witness_short_by_a_hair": (
        "tie_that_is_lost",
        "tree",
        lambda d: _swap(d["evidence"]["witnesses"][0][4], "number", _nudge),
    ),
    "witness_left_out": ("one_inequality", "tree", lambda d: _set(d["evidence"]["witnesses"][0], 2, None)),
    "witnesses_of_an_inequality_left_out": ("two_sides", "witnesses", lambda d: d["evidence"]["witnesses"].pop()),
    "witness_beside_the_region": (
        "approached_drop",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "1/4+e"}),
    ),
    "witness_beside_an_integer": (
        "approached_drop",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0], 2, {"number": "4-e"}),
    ),
    "witness_on_the_wrong_side": (
        "approached_alone",
        "tree",
        lambda d: _swap(d["evidence"]["witnesses"][0][4], "number", lambda text: text.replace("-e", "+e")),
    ),
    "limit_taken_for_a_value": ("approached_alone", "tree", lambda d: _no_edges(d["evidence"]["witnesses"])),
    "limit_that_ties": (
        "tie_that_is_lost",
        "tree",
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "-231/320+e"}),
    ),
    "multiplier_negative": ("branches", "tree", lambda d: _set(d["evidence"]["tree"][-1]["bound"], 0, "-1")),
    "multiplier_left_out": ("branches", "tree", lambda d: d["evidence"]["tree"][-1]["bound"].pop()),
    "multiplier_of_another_inequality": (
        "two_sides",
        "tree",
        lambda d: _set(d["evidence"]["tree"][-1], "bound", ["0", "0"]),
    ),
    "subtree_missing": ("branches", "tree", lambda d: d["evidence"]["tree"].pop()),
    "tree_missing": ("branches", "tree", lambda d: d["evidence"]["tree"].clear()),
    "tree_cut_short": ("branches", "tree", lambda d: _set(d["evidence"], "tree", d["evidence"]["tree"][-1:])),
    "nodes_after_the_tree": ("branches", "tree", lambda d: d["evidence"]["tree"].append({"bound": ["1", "1"]})),
    "branch_taken_for_a_fix": (
        "branches",
        "tree",
        lambda d: _set(d["evidence"]["tree"], _branch(d), {"fix": _item(d)}),
    ),
    "item_decided_twice": (
        "branches",
        "tree",
        lambda d: d["evidence"]["tree"].insert(_branch(d), {"branch": _item(d)}),
    ),
    "item_that_does_not_exist": ("branches", "tree", lambda d: _set(d["evidence"]["tree"], 0, {"branch": 9})),
    "input_where_the_claim_holds": ("contrast", "input", lambda d: _set(d["evidence"], "input", d["row"])),
    "input_outside_region": ("contrast", "input", lambda d: _set(d["evidence"]["input"], 2, {"number": "1"})),
    "input_changes_another_feature": (
        "contrast",
        "input",
        lambda d: _set(d["evidence"]["input"], 4, {"number": "1/8"}),
    ),
    "input_changes_a_fixed_feature": (
        "insufficient",
        "input",
        lambda d: _set(d["evidence"]["input"], 2, {"number": "4"}),
    ),
    "input_too_short": ("insufficient", "input", lambda d: d["evidence"]["input"].pop()),
    "input_is_a_special_code": ("insufficient", "input", lambda d: _set(d["evidence"]["input"], 2, {"missing": True})),
    "changed_feature_listed_twice": ("contrast", "features", lambda d: _set(d["result"], "changed", [0, 2, 2])),
    "changed_too_many": ("contrast", "lower bound", lambda d: d["result"].update(changed=[0, 2, 3], lower_bound="3")),
    "contrast_bound_above_the_set": ("contrast", "lower bound", lambda d: _set(d["result"], "lower_bound", "3")),
    "fewer_changes_at_once": ("pair", "tree", lambda d: _set(d["question"], "max_changed", 1)),
    "input_changes_more_than_allowed": ("contrast", "input", lambda d: _set(d["question"], "max_changed", 1)),
    "item_without_a_cost": ("branches", "cost", _ask(cost={"x9": "1"})),
    "item_that_costs_nothing": ("branches", "cost", _ask(cost={"x0": "0"})),
    "feature_in_two_items": ("branches", "groups", _ask(groups={"a": ["x0", "x1"], "b": ["x1", "x2"]})),
    "item_fixed_in_part": ("branches", "choices", _ask(groups={"a": ["x0", "x1"]})),
    "must_be_fixed_and_is_free": ("branches", "choices", _ask(fix=["x0"])),
    "must_be_free_and_is_fixed": ("branches", "choices", _ask(free=["x1"])),
    "must_be_free_twice": ("wishes", "choices", _ask(free=["x7", "x7"])),
    "must_be_both": ("branches", "choices", _ask(fix=["x1"], free=["x1"])),
    "cheap_items_called_dear": (
        "branches",
        "tree",
        lambda d: (d["question"].update(cost={"x1": "9"}), _set(d["result"], "lower_bound", "14")),
    ),
}


ATTACKS |= {
    "choices_of_a_contrast": ("contrast", "lower bound", _ask(free=["jump"])),
    "norm_of_a_contrast": ("contrast", "question", _ask(norm="2")),
    "charge_negative": ("charged", "charges", lambda d: _charge(d, "-1/1000")),
    "charge_left_out": ("two_sides", "charges", lambda d: _charge(d, "0")),
    "charge_beyond_the_margin": ("charged", "sufficiency", lambda d: _charge(d, "1")),
    "charge_beyond_the_bound": ("tie_that_is_lost", "tree", lambda d: _charge(d, "1/1000")),
    "probability_of_one": ("probability", "claim", lambda d: _set(d["question"]["claim"], "p", "1")),
    "probability_raised_by_a_hair": (
        "probability",
        "enclosure",
        lambda d: _swap(d["question"]["claim"], "p", lambda t: _nudge(t, Fraction(1, 2**100))),
    ),
    "logarithm_too_low": ("probability", "enclosure", lambda d: _swap(d["enclosure"], 1, lambda t: _nudge(t, -TINY))),
    "logarithm_too_high": ("probability", "enclosure", lambda d: _swap(d["enclosure"], 0, lambda t: _nudge(t, TINY))),
    "logarithm_out_of_reach": ("probability", "enclosure", lambda d: _set(d["enclosure"], 1, "1" + "0" * 3000)),
    "logarithm_loose": ("probability", "sufficiency", lambda d: _set(d["enclosure"], 1, "1/4")),
    "ball_taken_for_a_box": ("pair", "tree", _ask(norm="1")),
    "dear_item_called_cheap": ("costs", "lower bound", _ask(cost={})),
    "group_torn_apart": ("groups", "choices", _ask(groups={"a": ["x0", "x2"], "b": ["x7", "x8"]})),
    "radius_too_large": ("radius_attained", "sufficiency", lambda d: _swap(d["result"], "holds_at", _nudge)),
    "radius_too_small": (
        "radius_attained",
        "input",
        lambda d: _set(d["result"], "fails_at", _nudge(d["result"]["holds_at"], -TINY)),
    ),
    "radius_just_too_large": ("radius_attained", "radius", lambda d: _swap(d["result"], "holds_at", _plus_e)),
    "radius_just_too_small": ("radius_attained", "input", lambda d: _swap(d["result"], "fails_at", _without_e)),
    "radius_that_fails_just_below": (
        "radius_not_attained",
        "radius",
        lambda d: _swap(d["result"], "fails_at", lambda t: f"{t}-e"),
    ),
    "radius_called_attained": (
        "radius_not_attained",
        "sufficiency",
        lambda d: _swap(d["result"], "holds_at", _without_e),
    ),
    "radius_called_endless": ("radius_attained", "sufficiency", lambda d: _set(d["result"], "holds_at", "inf")),
    "radius_called_finite": ("radius_attained", "sufficiency", lambda d: _set(d["result"], "holds_at", "finite")),
    "radius_that_fails_at_all_finite_ones": (
        "radius_without_end",
        "radius",
        lambda d: _set(d["result"], "fails_at", "finite"),
    ),
    "radius_below_0": ("radius_of_0", "radius", lambda d: _set(d["result"], "holds_at", "-1")),
    "radius_just_below_0": ("radius_of_0", "radius", lambda d: _set(d["result"], "holds_at", "0-e")),
    "radius_in_endless_units": ("radius_attained", "radius", _ask(radius="inf")),
    "nothing_beyond": ("radius_attained", "input", lambda d: _set(d["evidence"], "input", d["row"])),
    "beyond_does_not_fall": ("radius_attained", "input", lambda d: _no_edges([d["evidence"]["input"]])),
    "beyond_by_a_fixed_feature": (
        "radius_attained",
        "input",
        lambda d: _set(d["evidence"]["input"], 1, {"number": "1/8"}),
    ),
    "beyond_by_far": ("radius_of_a_network", "input", lambda d: _further(d["evidence"]["input"], 40)),
    "beyond_of_what_is_not_claimed": ("radius_not_attained", "input", lambda d: _set(d["result"], "fails_at", None)),
    "beyond_without_an_input": ("radius_not_attained", "input", lambda d: _set(d["evidence"], "input", None)),
}


# What is asked, changed while everything else stays.
ATTACKS |= {
    "unit_raw_taken_for_deviations": ("one_inequality", "radius", _ask(unit="std")),
    "unit_of_corners_doubled": ("branches", "sufficiency", _ask(unit="std")),
    "unit_of_corners_halved": ("deviations_of_corners", "witnesses", _ask(unit="raw")),
    "deviations_taken_for_raw": ("standard_deviations", "witnesses", _ask(unit="raw")),
    "scaled_taken_for_raw": ("scaled_units", "witnesses", _ask(unit="raw")),
    "radius_in_another_unit": ("radius_in_deviations", "input", _ask(unit="raw")),
    "deviation_missing": ("standard_deviations", "radius", _ask(immutable=[])),
    "immutable_dropped": ("immutable", "sufficiency", _ask(immutable=["net"])),
    "immutable_category_dropped": ("nothing_to_fix", "sufficiency", _ask(immutable=[])),
    "immutable_added": ("one_inequality", "witnesses", _ask(immutable=["net"])),
    "immutable_category_added": ("one_inequality", "witnesses", _ask(immutable=["colour"])),
    "immutable_of_a_contrast": ("contrast_of_one", "input", _ask(immutable=["colour"])),
    "immutable_of_a_radius_dropped": ("radius_with_immutable", "sufficiency", _ask(immutable=[])),
    "immutable_twice": ("nothing_to_fix", "immutable", _ask(immutable=["colour", "colour"])),
    "immutable_unknown": ("nothing_to_fix", "immutable", _ask(immutable=["color"])),
    "radius_of_a_feature_left_out": ("pair", "radius", lambda d: d["question"]["radius"].pop("net")),
    "radius_of_an_unknown_feature": ("pair", "radius", lambda d: d["question"]["radius"].update(age="1")),
    "radius_of_the_question": ("radius_attained", "radius", _ask(radius="2")),
    "fix_dropped": ("dear_to_fix", "tree", _ask(fix=[])),
    "free_dropped": ("dear_to_free", "tree", _ask(free=[])),
    "free_items_counted": ("wishes", "tree", lambda d: (_fix_more(d, 4), _raise(d, 1))),
    "fix_unknown": ("wishes", "choices", _ask(fix=["x9"])),
    "fix_of_a_contrast_dropped": ("contrast_with_fixed", "lower bound", _ask(fix=[])),
    "fix_of_what_is_changed": ("contrast_with_fixed", "features", _ask(fix=["x1", "x8"])),
    "fix_of_what_is_insufficient": ("insufficient", "question", _ask(fix=["months"])),
    "fix_of_a_radius": ("radius_attained", "question", _ask(fix=["x1"])),
    "cost_of_a_contrast": ("contrast", "tree", _ask(cost={"net": "2"})),
    "groups_of_a_contrast": ("contrast", "lower bound", _ask(groups={"a": ["net", "months"]})),
    "group_split": ("dear_group", "tree", _ask(groups={}, cost={"x8": "1/2"})),
    "group_dropped_with_its_cost_left": ("dear_group", "cost", _ask(groups={})),
    "group_empty": ("groups", "groups", lambda d: d["question"]["groups"].update(more=[])),
    "group_of_an_unknown_feature": ("groups", "groups", lambda d: d["question"]["groups"].update(more=["x9"])),
    "group_with_a_feature_twice": ("groups", "groups", lambda d: d["question"]["groups"].update(more=["x3", "x3"])),
    "group_named_like_a_feature": ("groups", "groups", lambda d: d["question"]["groups"].update(x3=["x4"])),
    "group_named_like_its_feature": ("groups", "groups", lambda d: d["question"]["groups"].update(x3=["x3", "x4"])),
    "cost_lowered": ("costs", "tree", lambda d: d["question"]["cost"].update(x1="1/2")),
    "cost_raised": ("costs", "tree", lambda d: (d["question"]["cost"].update(x2="9"), _raise(d, 8))),
    "cost_negative": ("costs", "cost", lambda d: d["question"]["cost"].update(x1="-3")),
    "cost_of_a_member": ("dear_group", "cost", lambda d: d["question"]["cost"].update(x5="2")),
    "costs_without_a_common_unit": ("costs", "cost", _ask(cost={"x1": "1/1000000000001"})),
    "lower_bound_in_units": (
        "costs",
        "lower bound",
        lambda d: _swap(d["result"], "lower_bound", lambda t: _times(t, 2)),
    ),
    "lower_bound_between_costs": ("costs", "lower bound", lambda d: _set(d["result"], "lower_bound", "1/3")),
    "lower_bound_of_another_unit": ("costs_of_a_third", "lower bound", lambda d: _set(d["result"], "lower_bound", "1")),
    "lower_bound_negative": ("costs", "lower bound", lambda d: _set(d["result"], "lower_bound", "-1/2")),
    "norm_of_a_pair": ("insufficient_by_two", "input", _ask(norm="2")),
    "norm_of_a_radius": ("radius_attained", "question", _ask(norm="2")),
    "max_changed_dropped": ("few_at_once", "sufficiency", _ask(max_changed=None)),
    "max_changed_raised": ("few_at_once", "sufficiency", _ask(max_changed=3)),
    "max_changed_lowered": ("contrast_of_few", "input", _ask(max_changed=1)),
    "max_changed_of_a_radius": ("radius_attained", "input", _ask(max_changed=2)),
    "class_swapped": ("against_one_class", "sufficiency", _ask(claim={"kind": "beats", "other": "a"})),
    "class_by_its_index": ("against_one_class", "claim", _ask(claim={"kind": "beats", "other": 2})),
    "claim_false_at_the_row": ("insufficient_in_a_ball", "claim", _ask(claim={"kind": "at_least", "value": "9"})),
    "claim_against_one_for_all": ("against_one_class", "sufficiency", _ask(claim={"kind": "same"})),
    "enclosure_shifted": (
        "probability",
        "enclosure",
        lambda d: _set(d, "enclosure", [_nudge(t, 1) for t in d["enclosure"]]),
    ),
    "enclosure_too_narrow": ("probability", "enclosure", lambda d: _set(d["enclosure"], 0, d["enclosure"][1])),
    "enclosure_reversed": ("probability", "enclosure", lambda d: d["enclosure"].reverse()),
    "enclosure_left_out": ("probability", "enclosure", lambda d: _set(d, "enclosure", None)),
    "enclosure_of_a_class": ("one_inequality", "enclosure", lambda d: _set(d, "enclosure", ["0", "1"])),
    "enclosure_that_hides_a_break": ("probability", "tree", lambda d: _set(d["enclosure"], 0, "-2")),
    "charges_in_exact_arithmetic": ("charged", "charges", _ask(arithmetic="exact")),
    "charges_of_a_radius": ("radius_attained", "sufficiency", lambda d: _charge(d, "1", "1")),
    "charge_of_a_contrast_beyond_the_input": ("contrast_charged", "input", lambda d: _charge(d, "9")),
    "charge_of_a_contrast_beyond_the_bound": ("contrast_of_many", "lower bound", lambda d: _charge(d, "10", "10")),
    "charge_of_an_input_beyond_it": ("insufficient_charged", "input", lambda d: _charge(d, "9", "9")),
    "plateau_left_out": ("radius_up_to_a_plateau", "input", lambda d: _no_edges([d["evidence"]["input"]])),
    "plateau_over_a_cut": ("radius_up_to_a_plateau", "input", lambda d: _further(d["evidence"]["input"], 5000)),
    "plateau_that_a_tie_keeps": ("radius_up_to_a_plateau", "input", _ask(claim={"kind": "at_most", "value": "0"})),
    "two_plateaus_taken_for_one": (
        "radius_up_to_two_plateaus",
        "input",
        lambda d: _set(d["evidence"]["input"], 0, d["row"][0]),
    ),
    "still_feature_taken_for_immutable": (
        "radius_of_what_never_moves",
        "sufficiency",
        lambda d: (d["result"].update(holds_at="inf", fails_at=None), _set(d["evidence"], "input", None)),
    ),
    "way_backwards": (
        "radius_up_to_a_plateau",
        "input",
        lambda d: [_swap(one, "number", lambda t: t.replace("+e", "-e")) for one in d["evidence"]["input"]],
    ),
}


# What is said by the kinds of results that are put together from others.
ATTACKS |= {
    "limit_left_out": (
        "approached_alone",
        "sufficiency",
        lambda d: (_set(d, "result", {"kind": "explanation", "fixed": [], "lower_bound": "0"}), _no_proof(d)),
    ),
    "input_beside_a_fixed_value": (
        "insufficient_by_two",
        "input",
        lambda d: _set(d["evidence"]["input"], 4, {"number": "1/4+e"}),
    ),
    "input_beside_the_row_is_a_change": (
        "insufficient_by_two",
        "input",
        lambda d: (_ask(max_changed=2)(d), _set(d["evidence"]["input"], 1, {"number": "5+e"})),
    ),
    "change_cheaper_than_said": ("contrast_with_costs", "tree", lambda d: d["question"]["cost"].update(x8="1/2")),
    "change_bound_raised": ("contrast_with_costs", "lower bound", lambda d: _raise(d, "1/2")),
    "change_tree_left_out": ("contrast_with_costs", "tree", lambda d: d["evidence"]["fewer"].pop()),
    "change_tree_that_is_not_needed": (
        "contrast",
        "tree",
        lambda d: d["evidence"]["fewer"].append([{"bound": ["0", "0"]}]),
    ),
    "change_priced_below_0": ("contrast_with_costs", "tree", lambda d: _first_bound(d, ["0", "-1"])),
    "change_priced_at_nothing": ("contrast_with_costs", "tree", lambda d: _first_bound(d, ["0", "0"])),
    "change_counted_though_any_number_is_allowed": (
        "contrast_with_costs",
        "tree",
        lambda d: _first_bound(d, ["1", "0"]),
    ),
    "change_with_three_prices": ("contrast_with_costs", "tree", lambda d: _first_bound(d, ["0", "0", "0"])),
    "change_of_what_is_free_counted": ("contrast_with_groups", "lower bound", lambda d: _raise(d, 1)),
    "change_of_fewer_at_once": ("contrast_with_groups", "input", _ask(max_changed=1)),
    "nearer_than_said": ("nearest", "lower bound", lambda d: _swap(d["result"], "least", _more)),
    "nearer_by_a_hair": (
        "nearest",
        "lower bound",
        lambda d: _swap(d["result"], "least", lambda t: _nudge(_without_e(t))),
    ),
    "nearest_on_the_wrong_side": (
        "nearest",
        "radius",
        lambda d: _swap(d["result"], "least", lambda t: _without_e(t) + "+e"),
    ),
    "nearest_beyond_the_radius": ("nearest", "radius", lambda d: _set(d["result"], "least", "2")),
    "nearest_of_a_larger_budget": (
        "nearest_with_costs",
        "tree",
        lambda d: d["question"]["cost"].update(x1="1/2", x2="5/2"),
    ),
    "nearest_called_not_attained": (
        "nearest_attained",
        "lower bound",
        lambda d: _swap(d["result"], "least", _without_e),
    ),
    "nearest_of_a_label_that_is_held": ("nearest_label", "input", _reach("colour", "0")),
    "sets_with_one_that_is_not_enough": (
        "all_smallest",
        "sufficiency",
        lambda d: _swap(d["result"]["sets"], 0, lambda one: [0, 2, *one[2:]]),
    ),
    "sets_with_one_twice": ("all_smallest", "sets", lambda d: d["result"]["sets"].append(d["result"]["sets"][0])),
    "sets_with_one_too_large": ("all_smallest", "sets", lambda d: _set(d["result"]["sets"], 0, list(range(9)))),
    "sets_all_too_large": ("some_smallest", "tree", lambda d: _set(d["result"], "sets", [list(range(9))])),
    "sets_called_all": ("some_smallest", "tree", lambda d: _set(d["result"], "is_complete", True)),
    "sets_without_one": ("all_smallest", "tree", lambda d: d["result"]["sets"].pop()),
    "no_sets": ("all_smallest", "sets", lambda d: d["result"]["sets"].clear()),
    "set_that_a_leaf_does_not_fix": ("all_smallest", "tree", lambda d: _relist(d, 1)),
    "set_that_is_not_listed": ("all_smallest", "tree", lambda d: _relist(d, 500)),
    "sets_called_minimal_that_are_not": (
        "some_minimal",
        "sets",
        lambda d: _set(d["result"]["sets"], 0, list(range(9))),
    ),
    "minimal_sets_called_all": ("some_minimal", "tree", lambda d: _set(d["result"], "is_complete", True)),
    "minimal_sets_without_one": ("all_minimal_of_corners", "tree", lambda d: d["result"]["sets"].pop()),
    "minimal_sets_of_another_radius": ("all_minimal_of_corners", "sufficiency", _ask(radius="2")),
    "minimal_sets_bounded_by_a_cost": (
        "all_minimal_of_corners",
        "tree",
        lambda d: _set(d["evidence"], "tree", [{"bound": ["0", "0"]}]),
    ),
    "tree_of_sets_that_are_not_all": ("some_minimal", "tree", lambda d: d["evidence"]["tree"].append({"listed": 0})),
    "minimal_sets_of_more_at_once": ("minimal_of_few", "sufficiency", _ask(max_changed=3)),
    "necessary_that_is_not": ("roles_of_corners", "necessary", lambda d: _move_role(d, "relevant", "necessary")),
    "relevant_that_is_necessary": ("roles_of_corners", "sufficiency", lambda d: _necessary_as_relevant(d)),
    "relevant_that_is_not": ("roles_with_irrelevant", "sets", lambda d: _irrelevant_as_relevant(d)),
    "relevant_without_a_set": ("roles_of_corners", "sets", lambda d: d["evidence"]["sets"].pop()),
    "irrelevant_without_a_tree": ("roles_with_irrelevant", "sets", lambda d: d["evidence"]["trees"].pop()),
    "irrelevant_that_is_not": ("roles_of_corners", "sufficiency", lambda d: _relevant_as_irrelevant(d)),
    "feature_of_two_roles": (
        "roles_with_irrelevant",
        "features",
        lambda d: d["result"]["necessary"].extend(d["result"]["irrelevant"]),
    ),
    "role_of_half_a_group": ("roles_of_corners", "features", lambda d: d["result"]["necessary"].remove(5)),
    "role_of_a_fixed_feature": ("roles", "features", _ask(fix=["colour"])),
    "curve_that_goes_too_far": (
        "curve_of_corners",
        "sufficiency",
        lambda d: _set(d["result"]["steps"][-1], "holds_at", "9"),
    ),
    "curve_that_starts_late": ("curve_of_corners", "steps", lambda d: _set(d["result"]["steps"][0], "from", "1/100")),
    "curve_that_grows_too_early": ("curve_of_corners", "witnesses", lambda d: _earlier(d["result"]["steps"])),
    "curve_out_of_order": ("curve_of_corners", "steps", lambda d: d["result"]["steps"].reverse()),
    "curve_without_a_proof": ("curve_of_corners", "steps", lambda d: d["evidence"]["proofs"].pop()),
    "curve_of_overlapping_steps": (
        "curve_of_corners",
        "steps",
        lambda d: _set(d["result"]["steps"][1], "from", d["result"]["steps"][0]["holds_at"]),
    ),
    "curve_that_fixes_too_much": ("curve_of_corners", "tree", lambda d: _curve_with_more(d)),
    "curve_from_the_wrong_side": (
        "curve_of_corners",
        "radius",
        lambda d: _swap(d["result"]["steps"][-1], "holds_at", _plus_e),
    ),
    "curve_of_another_cost": ("curve_in_deviations", "tree", lambda d: d["question"]["cost"].update(x1="1/2")),
    "range_too_wide": ("ranges", "sufficiency", lambda d: (_widen(d, 1), _not_widest(d))),
    "range_wider_by_a_hair": ("ranges", "input", lambda d: _widen(d, -TINY)),
    "range_without_an_end": (
        "ranges",
        "sufficiency",
        lambda d: (_set(d["result"]["ranges"][0], "high", None), d["evidence"]["inputs"].pop(1)),
    ),
    "range_that_is_not_widest": ("ranges_of_a_card", "input", lambda d: _set(d["result"]["ranges"][0], "low", "31")),
    "range_on_the_wrong_side": ("ranges", "ranges", lambda d: _swap(d["result"]["ranges"][0], "high", _plus_e)),
    "range_beside_the_row": ("ranges", "ranges", lambda d: _swap(d["result"]["ranges"][0], "low", lambda t: "1/100")),
    "range_of_an_input_left_out": ("ranges", "input", lambda d: d["evidence"]["inputs"].pop()),
    "range_of_an_input_too_many": ("ranges", "input", lambda d: d["evidence"]["inputs"].append(d["row"])),
    "range_that_an_input_does_not_leave": (
        "ranges",
        "input",
        lambda d: _set(d["evidence"]["inputs"], 0, d["evidence"]["inputs"][1]),
    ),
    "range_of_labels_too_wide": ("ranges_of_all", "sufficiency", lambda d: _all_labels(d)),
    "ranges_out_of_order": ("ranges", "input", lambda d: d["result"]["ranges"].reverse()),
}


def _no_proof(document):
    document["evidence"] = {"witnesses": [], "tree": []}


def _more(text):
    return _nudge(_without_e(text), Fraction(1, 100))


def _first_bound(document, multipliers):
    for tree in document["evidence"]["fewer"]:
        for node in tree:
            if "bound" in node:
                node["bound"] = multipliers


def _relist(document, by):
    for node in document["evidence"]["tree"]:
        if "listed" in node:
            node["listed"] += by


def _move_role(document, source, target):
    document["result"][target].append(document["result"][source].pop())
    document["result"][target].sort()
    if source == "relevant":
        document["evidence"]["sets"].pop()


def _necessary_as_relevant(document):
    result = document["result"]
    moved, result["necessary"] = result["necessary"], []
    result["relevant"] = sorted([*result["relevant"], *moved])
    for place in (1, 5):  # the group of x1 and x5, and x6
        document["evidence"]["sets"].insert(place, list(range(9)))


def _irrelevant_as_relevant(document):
    result = document["result"]
    result["relevant"] = sorted([*result["relevant"], *result["irrelevant"]])
    document["evidence"]["sets"] = [[0, 1, 2]] * len(result["relevant"])
    result["irrelevant"], document["evidence"]["trees"] = [], []


def _relevant_as_irrelevant(document):
    result = document["result"]
    result["irrelevant"] = sorted([*result["relevant"], *result["irrelevant"]])
    document["evidence"]["trees"] = [[{"fits": True}]] * len(result["irrelevant"])
    result["relevant"], document["evidence"]["sets"] = [], []


def _curve_with_more(document):
    step = document["result"]["steps"][1]
    step["fixed"] = sorted([*step["fixed"], *[i for i in range(9) if i not in step["fixed"]][:1]])


def _earlier(steps):
    """Let a stretch begin before it does, and the one before end earlier still."""
    end = _without_e(steps[0]["holds_at"])
    steps[0]["holds_at"], steps[1]["from"] = _nudge(end, -2 * TINY), _nudge(end, -TINY)


def _not_widest(document):
    document["result"]["is_widest"], document["evidence"]["inputs"] = False, []


def _widen(document, by):
    one = document["result"]["ranges"][0]
    one["high"] = _nudge(_without_e(one["high"]), by)


def _all_labels(document):
    one = next(one for one in document["result"]["ranges"] if "values" in one)
    one["values"] = [{"label": name} for name in ("red", "blue", "green")]
    _not_widest(document)


def _plus_e(text):
    return f"{text}+e"


def _without_e(text):
    return text.removesuffix("+e").removesuffix("-e")


def _no_edges(rows):
    for one in (one for row in rows for one in row if one and "number" in one):
        _swap(one, "number", _without_e)


def _further(places, by):
    """Go on beyond a radius by more than nothing."""
    for one in (one for one in places if one.get("number", "").endswith("e")):
        _swap(one, "number", lambda t: _nudge(_without_e(t), by if t.endswith("+e") else -by))


def _fix_more(document, feature):
    document["result"]["fixed"].append(feature)


def _raise(document, by):
    _swap(document["result"], "lower_bound", lambda text: str(Fraction(text) + Fraction(by)))


def _times(text, factor):
    return str(Fraction(text) * factor)


def _branch(document):
    return next(k for k, node in enumerate(document["evidence"]["tree"]) if "branch" in node)


def _item(document):
    return document["evidence"]["tree"][_branch(document)]["branch"]


# --- files that are no certificates -----------------------------------------------------------------------------------


def malformed(text, contrast):
    """Return files made from the texts of certificates that hold."""
    document = json.loads(text)

    def changed(change):
        return json.dumps(_changed(document, change))

    def asked(**changes):
        return changed(_ask(**changes))

    return {
        "hash_in_capitals": changed(lambda d: _swap(d, "model", str.upper)),
        "hash_too_short": changed(lambda d: _swap(d, "model", lambda text: text[:63])),
        "path_for_a_model": changed(lambda d: _set(d, "model", "../models/positive.safetensors")),
        "escape_for_a_model": changed(lambda d: _set(d, "model", "\x1b[2K\rProven: all")),
        "row_beside_a_number": changed(lambda d: _swap(d["row"][0], "number", _plus_e)),
        "edge_of_two": changed(lambda d: _set(d["evidence"]["witnesses"][0], 0, {"number": "1+2e"})),
        "edge_alone": changed(lambda d: _set(d["evidence"]["witnesses"][0], 0, {"number": "+e"})),
        "edge_as_a_side": changed(lambda d: _set(d["evidence"]["witnesses"][0], 0, {"number": "1", "side": 1})),
        "points_given": changed(lambda d: _set(d["evidence"], "points", [[]] * 5)),
        "empty": "",
        "truncated": text[: len(text) // 2],
        "not_utf8": text.replace("red", "r\udcff"),
        "nothing": "null",
        "list": f"[{text}]",
        "two_documents": text + text,
        "field_twice": text.replace('"row":', '"charges":null,"row":', 1),
        "field_unknown": changed(lambda d: _set(d, "comment", "trust me")),
        "field_unknown_inside": changed(lambda d: _set(d["evidence"], "drops", [])),
        "field_missing": changed(lambda d: d.pop("question")),
        "evidence_missing": changed(lambda d: d["evidence"].pop("tree")),
        "version_unknown": changed(lambda d: _set(d, "version", 4)),
        "version_1": changed(lambda d: _set(d, "version", 1)),
        "version_2": changed(lambda d: _set(d, "version", 2)),
        "version_is_a_float": changed(lambda d: _set(d, "version", 3.0)),
        "version_is_true": changed(lambda d: _set(d, "version", True)),
        "version_is_text": changed(lambda d: _set(d, "version", "3")),
        "nan_as_a_rational": changed(lambda d: _set(d["row"], 0, {"number": "NaN"})),
        "infinity_as_a_radius": asked(radius="Infinity"),
        "huge_exponent": changed(lambda d: _set(d["row"], 0, {"number": "1e999999999"})),
        "power": changed(lambda d: _set(d["row"], 0, {"number": "9**9**9"})),
        "zero_denominator": changed(lambda d: _set(d["row"], 0, {"number": "1/0"})),
        "negative_denominator": changed(lambda d: _set(d["row"], 0, {"number": "1/-2"})),
        "digits_of_another_script": changed(lambda d: _set(d["row"], 0, {"number": "\u0663"})),
        "number_with_spaces": changed(lambda d: _set(d["row"], 0, {"number": " 1"})),
        "number_with_underscores": changed(lambda d: _set(d["row"], 0, {"number": "1_0"})),
        "number_too_long": changed(lambda d: _set(d["row"], 0, {"number": "1" * 4001})),
        "number_as_a_float": changed(lambda d: _set(d["row"], 0, {"number": 2.5})),
        "number_as_an_integer": changed(lambda d: _set(d["row"], 0, {"number": 2})),
        "nan_as_json": asked(radius=float("nan")),
        "value_of_two_kinds": changed(lambda d: _set(d["row"], 0, {"number": "1", "label": "a"})),
        "value_of_no_kind": changed(lambda d: _set(d["row"], 0, {"text": "1"})),
        "missing_is_false": changed(lambda d: _set(d["row"], 2, {"missing": False})),
        "index_negative": changed(lambda d: _set(d["result"]["fixed"], 0, -1)),
        "index_is_true": changed(lambda d: _set(d["result"]["fixed"], 0, True)),
        "index_is_text": changed(lambda d: _set(d["result"]["fixed"], 0, "0")),
        "claim_unknown": changed(lambda d: _set(d["question"], "claim", {"kind": "fair"})),
        "claim_with_more": changed(lambda d: _set(d["question"], "claim", {"kind": "same", "value": "0"})),
        "result_unknown": changed(lambda d: _set(d["result"], "kind", "certain")),
        "node_unknown": changed(lambda d: _set(d["evidence"]["tree"], 0, {"trust": 1})),
        "node_of_two_kinds": changed(lambda d: _set(d["evidence"]["tree"], 0, {"bound": ["1"], "fix": 1})),
        "norm_is_true": asked(norm=True),
        "none_at_once": asked(max_changed=0),
        "norm_of_three": asked(norm="3"),
        "norm_as_a_number": asked(norm=2),
        "norm_is_null": asked(norm=None),
        "question_field_missing": changed(lambda d: d["question"].pop("immutable")),
        "question_field_unknown": asked(max_seconds=60),
        "question_field_twice": text.replace('"fix":', '"fix":["net"],"fix":', 1),
        "radius_as_a_number": asked(radius=2),
        "radius_is_null": asked(radius=None),
        "radius_is_a_list": asked(radius=["2"] * 5),
        "radius_by_name_as_a_number": asked(radius=dict.fromkeys(ROW, 2)),
        "radius_by_name_twice": text.replace('"radius": "2"', '"radius":{"net":"2","net":"2"}', 1),
        "unit_unknown": asked(unit="sd"),
        "unit_is_null": asked(unit=None),
        "unit_is_a_list": asked(unit=["std"]),
        "immutable_as_text": asked(immutable="net"),
        "immutable_by_index": asked(immutable=[0]),
        "fix_is_null": asked(fix=None),
        "free_is_an_object": asked(free={}),
        "cost_is_a_list": asked(cost=[]),
        "cost_is_null": asked(cost=None),
        "cost_as_a_number": asked(cost={"net": 2}),
        "cost_as_a_float": asked(cost={"net": 0.5}),
        "groups_are_lists": asked(groups=[["net", "bins"]]),
        "group_as_text": asked(groups={"both": "net"}),
        "max_changed_is_true": asked(max_changed=True),
        "max_changed_as_text": asked(max_changed="1"),
        "max_changed_as_a_float": asked(max_changed=1.0),
        "arithmetic_unknown": asked(arithmetic="float16"),
        "arithmetic_is_null": asked(arithmetic=None),
        "claim_of_version_1": asked(claim={"kind": "probability_at_least", "p": "1/2", "low": "0", "high": "0"}),
        "claim_without_its_number": asked(claim={"kind": "within"}),
        "claim_of_a_float": asked(claim={"kind": "within", "delta": 0.5}),
        "enclosure_of_three": changed(lambda d: _set(d, "enclosure", ["0", "1", "2"])),
        "enclosure_as_text": changed(lambda d: _set(d, "enclosure", "01")),
        "enclosure_of_null": changed(lambda d: _set(d, "enclosure", [None, "1"])),
        "charges_as_numbers": changed(lambda d: _set(d, "charges", [0])),
        "lower_bound_as_an_integer": changed(lambda d: _set(d["result"], "lower_bound", 3)),
        "bound_of_a_contrast_as_an_integer": json.dumps(
            _changed(json.loads(contrast), lambda d: _set(d["result"], "lower_bound", 2))
        ),
        "index_is_a_float": changed(lambda d: _set(d["result"]["fixed"], 0, 3.0)),
        "escape_for_an_index": changed(lambda d: _set(d["result"]["fixed"], 0, "\x1b[2K\rProven: all")),
        "escape_for_a_version": changed(lambda d: _set(d, "version", "\x1b[2K\nProven: all")),
        "witnesses_as_text": changed(lambda d: _set(d["evidence"]["witnesses"], 0, "12")),
    }


def main():
    """Write all files."""
    folders = {name: HERE / name for name in ("models", "valid", "invalid", "malformed")}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    for name, model in models().items():
        model.save(folders["models"] / f"{name}.safetensors")
    holding = valid()
    for name, (_, document) in holding.items():
        (folders["valid"] / f"{name}.json").write_text(json.dumps(document) + "\n")
    for name, (base, _, change) in ATTACKS.items():
        (folders["invalid"] / f"{name}.json").write_text(json.dumps(_changed(holding[base][1], change)) + "\n")
    for name, text in malformed(*(json.dumps(holding[name][1]) for name in ("one_inequality", "contrast"))).items():
        (folders["malformed"] / f"{name}.json").write_bytes(text.encode(errors="surrogateescape"))


if __name__ == "__main__":
    main()
