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

from suffice import AtLeast, AtMost, Explainer, ProbabilityAtLeast, Within  # noqa: E402
from suffice.model_file import to_bytes  # noqa: E402

ROW = {"net": "5/2", "bins": 5, "months": 3, "colour": "red", "jump": "1/4"}
TINY = Fraction(1, 2**120)
TIE = {"net": 0, "bins": 0, "months": 0, "colour": 0, "jump": "311/320"}  # the drop of `jump` is the whole margin
PAIR = {"net": 2, "bins": 2, "months": 1, "colour": 0, "jump": "1/8"}  # two features are needed to break the claim
SECOND = {**ROW, "jump": -1}


# --- certificates that hold -------------------------------------------------------------------------------------------


def valid():
    """Return the name of the model and the document of each."""
    by = {name: Explainer(model) for name, model in models().items()}
    yes, no, number, classes, corners = (by[n] for n in ("positive", "negative", "regression", "classes", "corners"))
    tight = number.score(ROW) - number.explain(ROW, 1, claim=AtLeast(-10)).drops["net"]
    higher = AtMost(number.score(SECOND) + Fraction(1, 2))
    made = {
        "one_inequality": ("positive", yes.explain(ROW, 2)),
        "strict_inequality": ("negative", no.explain(ROW, 2)),
        "whole_domain": ("positive", yes.explain({**ROW, "months": None}, "inf")),
        "rays": ("regression", number.explain(ROW, {**TIE, "net": "inf", "jump": "inf"}, claim=AtLeast(-9))),
        "nothing_to_keep": ("positive", yes.explain(ROW, "1/8", held=["colour"])),
        "tie_that_is_kept": ("positive", yes.explain(ROW, TIE)),
        "tie_that_is_lost": ("negative", no.explain(ROW, TIE)),
        "approached_drop": ("regression", number.explain(SECOND, "5/4", claim=higher)),
        "approached_alone": ("regression", number.explain(SECOND, {**TIE, "jump": "5/4"}, claim=higher)),
        "pair": ("positive", yes.explain(ROW, PAIR)),
        "two_sides": ("regression", number.explain(ROW, 1, claim=Within("1/4"))),
        "no_slack": ("regression", number.explain(ROW, {**TIE, "net": 1, "jump": 0}, claim=AtLeast(tight))),
        "against_all_classes": ("classes", classes.explain(ROW, 3)),
        "branches": ("corners", corners.explain([0] * 9, 1, claim=Within(21))),
        "costs": ("corners", corners.explain([0] * 9, 1, claim=Within(21), cost={"x1": 3, "x6": "1/2", "x8": 2})),
        "groups": ("corners", corners.explain([0] * 9, 1, claim=Within(21), groups=[["x0", "x1"], ["x7", "x8"]])),
        "wishes": ("corners", corners.explain([0] * 9, 1, claim=Within(21), keep=["x0"], free=["x7"])),
        "few_at_once": ("corners", corners.explain([0] * 9, 1, claim=Within(21), at_most=2)),
        "ball": ("positive", yes.explain(ROW, PAIR, norm=2)),
        "probability": ("positive", yes.explain(ROW, PAIR, claim=ProbabilityAtLeast("11/20"))),
        "improbable": ("negative", no.explain(ROW, 2, claim=ProbabilityAtLeast("1/20"))),
        "contrast": ("positive", yes.contrast(ROW, PAIR)),
        "contrast_of_few": ("corners", corners.contrast([0] * 9, 1, claim=Within(21), at_most=3)),
        "contrast_of_one": ("positive", yes.contrast(ROW, 2)),
        "contrast_is_impossible": ("positive", yes.contrast(ROW, "1/8", held=["colour"])),
        "radius_attained": ("corners", corners.certify_radius([0] * 9, ["x1", "x6"], claim=Within(21))),
        "radius_not_attained": ("negative", no.certify_radius(ROW, ["colour", "net"])),
        "radius_at_a_jump": ("positive", yes.certify_radius(ROW, ["colour", "net", "months"])),
        "radius_of_a_network": (
            "regression",
            number.certify_radius(
                ROW, ["bins", "months", "colour", "jump"], claim=AtLeast(number.score(ROW) - Fraction(1, 16))
            ),
        ),
        "radius_of_0": ("positive", yes.certify_radius(ROW, ["net"])),
        "radius_of_integers": ("positive", yes.certify_radius(ROW, ["colour", "net", "jump"])),
        "radius_without_end": (
            "positive",
            yes.certify_radius({**ROW, "months": None}, ["net", "bins", "jump", "colour"]),
        ),
        "sufficient": ("classes", classes.certify(ROW, ["net", "bins", "jump"], "1/2")),
        "insufficient": ("classes", classes.certify(ROW, ["months"], 2)),
    }
    documents = {
        name: (model, json.loads((result.certificate() if hasattr(result, "certificate") else result).text))
        for name, (model, result) in made.items()
    }
    documents["charged"] = (
        "positive",
        _changed(documents["one_inequality"][1], lambda d: _set(d, "charges", ["1/1000"])),
    )
    documents["bounded"] = (
        "corners",
        _changed(documents["branches"][1], lambda d: _set(d["result"], "lower_bound", 5)),
    )
    return documents


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


# name of the attack: (certificate that holds, step that must fail, change)
ATTACKS = {
    "another_models_hash": ("one_inequality", "model", lambda d: _set(d, "model", _hash("classes"))),
    "row_outside_domain": ("one_inequality", "row", lambda d: _set(d["row"], 1, {"number": "11"})),
    "row_between_integers": ("one_inequality", "row", lambda d: _set(d["row"], 2, {"number": "7/2"})),
    "row_of_an_unknown_label": ("one_inequality", "row", lambda d: _set(d["row"], 3, {"label": "mauve"})),
    "row_too_short": ("one_inequality", "row", lambda d: d["row"].pop()),
    "row_of_more_features": (
        "one_inequality",
        "row",
        lambda d: (d["row"].append({"number": "1"}), d["radii"].append("1")),
    ),
    "radius_negative": ("one_inequality", "radii", lambda d: _set(d["radii"], 4, "-2")),
    "radius_enlarged": ("one_inequality", "points", lambda d: _set(d["radii"], 0, "9")),
    "radius_infinite": ("one_inequality", "points", lambda d: _set(d["radii"], 0, None)),
    "row_changed": ("one_inequality", "tree", lambda d: _set(d["row"], 3, {"label": "blue"})),
    "claim_of_several_scores": ("two_sides", "claim", lambda d: d.update(claim={"kind": "same"})),
    "claim_of_one_score": (
        "against_all_classes",
        "claim",
        lambda d: d.update(claim={"kind": "at_least", "value": "0"}),
    ),
    "class_beats_itself": ("against_all_classes", "claim", lambda d: d.update(claim={"kind": "beats", "other": 1})),
    "class_that_does_not_exist": (
        "against_all_classes",
        "claim",
        lambda d: d.update(claim={"kind": "beats", "other": 3}),
    ),
    "claim_tightened_by_a_hair": ("no_slack", "sufficiency", lambda d: _swap(d["claim"], "value", _nudge)),
    "strict_taken_for_not_strict": ("tie_that_is_kept", "sufficiency", lambda d: _set(d, "model", _hash("negative"))),
    "not_strict_taken_for_strict": ("tie_that_is_lost", "tree", lambda d: _set(d, "model", _hash("positive"))),
    "kept_feature_listed_twice": ("one_inequality", "features", lambda d: d["result"]["kept"].append(3)),
    "kept_feature_that_does_not_exist": ("one_inequality", "features", lambda d: d["result"]["kept"].append(5)),
    "kept_feature_left_out": ("one_inequality", "sufficiency", lambda d: d["result"]["kept"].remove(3)),
    "kept_feature_replaced": ("one_inequality", "points", lambda d: _set(d["result"], "kept", [3, 4, 0])),
    "kept_too_many": ("one_inequality", "points", lambda d: d["result"]["kept"].append(0)),
    "breakpoint_left_out": ("one_inequality", "points", lambda d: d["evidence"]["points"][0].pop()),
    "breakpoint_moved_by_a_hair": ("one_inequality", "points", lambda d: _swap(d["evidence"]["points"][0], 0, _nudge)),
    "cut_of_steps_left_out": ("one_inequality", "points", lambda d: d["evidence"]["points"][1].pop()),
    "breakpoint_of_a_ray_left_out": ("rays", "points", lambda d: d["evidence"]["points"][0].pop(0)),
    "jump_left_out": ("tie_that_is_kept", "points", lambda d: d["evidence"]["points"][4].pop(0)),
    "points_not_increasing": ("one_inequality", "points", lambda d: d["evidence"]["points"][0].reverse()),
    "point_listed_twice": ("one_inequality", "points", lambda d: d["evidence"]["points"][1].append("5")),
    "point_outside_region": ("one_inequality", "points", lambda d: d["evidence"]["points"][1].append("9")),
    "points_of_a_feature_left_out": ("one_inequality", "points", lambda d: d["evidence"]["points"].pop()),
    "points_of_a_kept_feature": ("one_inequality", "points", lambda d: d["evidence"]["points"][4].append("0")),
    "point_between_integers": ("against_all_classes", "points", lambda d: _set(d["evidence"]["points"][2], 0, "7/2")),
    "lower_bound_above_the_set": ("one_inequality", "lower bound", lambda d: _set(d["result"], "lower_bound", 4)),
    "lower_bound_without_a_proof": ("sufficient", "witnesses", lambda d: _set(d["result"], "lower_bound", 1)),
    "proof_without_a_lower_bound": ("one_inequality", "lower bound", lambda d: _set(d["result"], "lower_bound", 0)),
    "witness_outside_region": (
        "one_inequality",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "-2"}),
    ),
    "witness_of_a_category_held": ("contrast_of_one", "input", lambda d: _set(d["radii"], 3, "0")),
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
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "1/4", "side": 1}),
    ),
    "witness_beside_an_integer": (
        "approached_drop",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0], 2, {"number": "4", "side": -1}),
    ),
    "witness_on_the_wrong_side": (
        "approached_alone",
        "tree",
        lambda d: _set(d["evidence"]["witnesses"][0][4], "side", 1),
    ),
    "witness_that_goes_on": (
        "approached_alone",
        "witnesses",
        lambda d: _set(d["evidence"]["witnesses"][0][4], "to", "-1"),
    ),
    "limit_taken_for_a_value": ("approached_alone", "tree", lambda d: d["evidence"]["witnesses"][0][4].pop("side")),
    "limit_that_ties": (
        "tie_that_is_lost",
        "tree",
        lambda d: _set(d["evidence"]["witnesses"][0], 4, {"number": "-231/320", "side": 1}),
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
    "input_that_keeps_the_claim": ("contrast", "input", lambda d: _set(d["evidence"], "input", d["row"])),
    "input_outside_region": ("contrast", "input", lambda d: _set(d["evidence"]["input"], 2, {"number": "1"})),
    "input_changes_another_feature": (
        "contrast",
        "input",
        lambda d: _set(d["evidence"]["input"], 4, {"number": "1/8"}),
    ),
    "input_changes_a_kept_feature": (
        "insufficient",
        "input",
        lambda d: _set(d["evidence"]["input"], 2, {"number": "4"}),
    ),
    "input_too_short": ("insufficient", "input", lambda d: d["evidence"]["input"].pop()),
    "input_is_a_special_code": ("insufficient", "input", lambda d: _set(d["evidence"]["input"], 2, {"missing": True})),
    "moved_feature_listed_twice": ("contrast", "features", lambda d: _set(d["result"], "moved", [0, 2, 2])),
    "moved_too_many": ("contrast", "lower bound", lambda d: d["result"].update(moved=[0, 2, 3], lower_bound=3)),
    "contrast_bound_above_the_set": ("contrast", "lower bound", lambda d: _set(d["result"], "lower_bound", 3)),
    "contrast_without_a_breakpoint": ("contrast", "points", lambda d: d["evidence"]["points"][0].pop()),
    "points_that_prove_nothing": ("contrast_of_one", "points", lambda d: _set(d["evidence"], "points", [[]] * 5)),
    "fewer_changes_at_once": ("pair", "tree", lambda d: _set(d, "at_most", 1)),
    "input_changes_more_than_allowed": ("contrast", "input", lambda d: _set(d, "at_most", 1)),
    "item_without_a_cost": ("branches", "choices", lambda d: _set(d, "choices", _choices(costs=[1] * 8))),
    "item_that_costs_nothing": ("branches", "choices", lambda d: _set(d, "choices", _choices(costs=[0] * 9))),
    "feature_in_two_items": (
        "branches",
        "choices",
        lambda d: _set(d, "choices", _choices(items=[[0, 1], *_single(1, 9)])),
    ),
    "item_kept_in_part": (
        "branches",
        "choices",
        lambda d: _set(d, "choices", _choices(items=[[0, 1], *_single(2, 9)], costs=[1] * 8)),
    ),
    "must_be_kept_and_is_free": ("branches", "choices", lambda d: _set(d, "choices", _choices(keep=[0]))),
    "must_be_free_and_is_kept": ("branches", "choices", lambda d: _set(d, "choices", _choices(free=[1]))),
    "must_be_free_twice": ("wishes", "choices", lambda d: _set(d["choices"], "free", [7, 7])),
    "must_be_both": ("branches", "choices", lambda d: _set(d, "choices", _choices(keep=[1], free=[1]))),
    "cheap_items_called_dear": (
        "branches",
        "tree",
        lambda d: (_set(d, "choices", _choices(costs=[1, 9, *[1] * 7])), _set(d["result"], "lower_bound", 14)),
    ),
}


ATTACKS |= {
    "choices_of_a_contrast": ("contrast", "choices", lambda d: _set(d, "choices", _choices())),
    "norm_of_a_contrast": ("contrast", "choices", lambda d: _set(d, "norm", 2)),
    "charge_negative": ("charged", "charges", lambda d: _set(d, "charges", ["-1/1000"])),
    "charge_left_out": ("two_sides", "charges", lambda d: _set(d, "charges", ["0"])),
    "charge_beyond_the_margin": ("charged", "sufficiency", lambda d: _set(d, "charges", ["1"])),
    "charge_beyond_the_bound": ("tie_that_is_lost", "tree", lambda d: _set(d, "charges", ["1/1000"])),
    "probability_of_one": ("probability", "claim", lambda d: _set(d["claim"], "p", "1")),
    "probability_raised_by_a_hair": (
        "probability",
        "claim",
        lambda d: _swap(d["claim"], "p", lambda t: _nudge(t, Fraction(1, 2**100))),
    ),
    "logarithm_too_low": ("probability", "claim", lambda d: _swap(d["claim"], "high", lambda t: _nudge(t, -TINY))),
    "logarithm_too_high": ("probability", "claim", lambda d: _swap(d["claim"], "low", lambda t: _nudge(t, TINY))),
    "logarithm_out_of_reach": ("probability", "claim", lambda d: _set(d["claim"], "high", "1" + "0" * 3000)),
    "logarithm_loose": ("probability", "sufficiency", lambda d: _set(d["claim"], "high", "2")),
    "ball_taken_for_a_box": ("pair", "tree", lambda d: _set(d, "norm", 1)),
    "dear_item_called_cheap": ("costs", "lower bound", lambda d: _set(d["choices"], "costs", [1] * 9)),
    "group_torn_apart": (
        "groups",
        "choices",
        lambda d: _set(d["choices"], "items", [[0], [1], *d["choices"]["items"][1:]]),
    ),
    "radius_too_large": ("radius_attained", "sufficiency", lambda d: _swap(d["result"], "radius", _nudge)),
    "radius_too_small": (
        "radius_attained",
        "witnesses",
        lambda d: _swap(d["result"], "radius", lambda t: _nudge(t, -TINY)),
    ),
    "radius_called_not_attained": ("radius_attained", "input", lambda d: _set(d["result"], "is_attained", False)),
    "radius_called_attained": ("radius_not_attained", "sufficiency", lambda d: _set(d["result"], "is_attained", True)),
    "radius_called_endless": ("radius_attained", "sufficiency", lambda d: _set(d["result"], "radius", None)),
    "radius_below_0": ("radius_of_0", "radii", lambda d: _set(d["result"], "radius", "-1")),
    "radius_in_endless_units": ("radius_attained", "radii", lambda d: _set(d["radii"], 0, None)),
    "nothing_beyond": ("radius_attained", "beyond", lambda d: _set(d["evidence"], "beyond", [None] * 9)),
    "beyond_does_not_fall": (
        "radius_attained",
        "beyond",
        lambda d: [one.pop("to") for one in d["evidence"]["beyond"] if one],
    ),
    "beyond_by_a_kept_feature": (
        "radius_attained",
        "beyond",
        lambda d: _set(d["evidence"]["beyond"], 1, d["evidence"]["beyond"][0]),
    ),
    "beyond_over_a_bend": ("radius_of_a_network", "points", lambda d: _over_a_bend(d["evidence"]["beyond"])),
    "beyond_of_what_is_not_claimed": (
        "radius_not_attained",
        "beyond",
        lambda d: _set(d["evidence"], "beyond", [None] * 5),
    ),
}


def _over_a_bend(beyond):
    for one in filter(None, beyond):
        one["to"] = str(Fraction(one["number"]) + 40 * one["side"])


def _branch(document):
    return next(k for k, node in enumerate(document["evidence"]["tree"]) if "branch" in node)


def _item(document):
    return document["evidence"]["tree"][_branch(document)]["branch"]


def _single(first, last):
    return [[i] for i in range(first, last)]


def _choices(**changes):
    return {"items": _single(0, 9), "costs": [1] * 9, "keep": [], "free": [], **changes}


# --- files that are no certificates -----------------------------------------------------------------------------------


def malformed(text):
    """Return files made from the text of a certificate that holds."""
    document = json.loads(text)

    def changed(change):
        return json.dumps(_changed(document, change))

    return {
        "hash_in_capitals": changed(lambda d: _swap(d, "model", str.upper)),
        "hash_too_short": changed(lambda d: _swap(d, "model", lambda text: text[:63])),
        "path_for_a_model": changed(lambda d: _set(d, "model", "../models/positive.safetensors")),
        "escape_for_a_model": changed(lambda d: _set(d, "model", "\x1b[2K\rProven: all")),
        "way_to_nowhere": changed(
            lambda d: _set(d["evidence"]["witnesses"][0], 0, {"number": "1", "side": 1, "to": None})
        ),
        "empty": "",
        "truncated": text[: len(text) // 2],
        "not_utf8": text.replace("red", "r\udcff"),
        "nothing": "null",
        "list": f"[{text}]",
        "two_documents": text + text,
        "field_twice": text.replace('"row":', '"at_most":null,"row":', 1),
        "field_unknown": changed(lambda d: _set(d, "comment", "trust me")),
        "field_unknown_inside": changed(lambda d: _set(d["evidence"], "drops", [])),
        "field_missing": changed(lambda d: d.pop("radii")),
        "evidence_missing": changed(lambda d: d["evidence"].pop("points")),
        "version_unknown": changed(lambda d: _set(d, "version", 2)),
        "version_is_true": changed(lambda d: _set(d, "version", True)),
        "version_is_text": changed(lambda d: _set(d, "version", "1")),
        "nan_as_a_rational": changed(lambda d: _set(d["row"], 0, {"number": "NaN"})),
        "infinity_as_a_radius": changed(lambda d: _set(d["radii"], 0, "inf")),
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
        "nan_as_json": changed(lambda d: _set(d["radii"], 0, float("nan"))),
        "value_of_two_kinds": changed(lambda d: _set(d["row"], 0, {"number": "1", "label": "a"})),
        "value_of_no_kind": changed(lambda d: _set(d["row"], 0, {"text": "1"})),
        "missing_is_false": changed(lambda d: _set(d["row"], 2, {"missing": False})),
        "index_negative": changed(lambda d: _set(d["result"]["kept"], 0, -1)),
        "index_is_true": changed(lambda d: _set(d["result"]["kept"], 0, True)),
        "index_is_text": changed(lambda d: _set(d["result"]["kept"], 0, "0")),
        "claim_unknown": changed(lambda d: _set(d, "claim", {"kind": "fair"})),
        "claim_with_more": changed(lambda d: _set(d, "claim", {"kind": "same", "value": "0"})),
        "result_unknown": changed(lambda d: _set(d["result"], "kind", "certain")),
        "node_unknown": changed(lambda d: _set(d["evidence"]["tree"], 0, {"trust": 1})),
        "node_of_two_kinds": changed(lambda d: _set(d["evidence"]["tree"], 0, {"bound": ["1"], "fix": 1})),
        "side_is_zero": changed(lambda d: _set(d["evidence"]["witnesses"][0], 0, {"number": "1", "side": 0})),
        "norm_is_true": changed(lambda d: _set(d, "norm", True)),
        "none_at_once": changed(lambda d: _set(d, "at_most", 0)),
        "norm_of_three": changed(lambda d: _set(d, "norm", 3)),
        "norm_as_text": changed(lambda d: _set(d, "norm", "2")),
        "points_as_text": changed(lambda d: _set(d["evidence"]["points"], 0, "12")),
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
    for name, text in malformed(json.dumps(holding["one_inequality"][1])).items():
        (folders["malformed"] / f"{name}.json").write_bytes(text.encode(errors="surrogateescape"))


if __name__ == "__main__":
    main()
