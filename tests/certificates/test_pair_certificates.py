"""Certificates about models with terms over two features: what is written is accepted, and what is accepted is true."""

import copy
import json
import random
import subprocess
import sys
from fractions import Fraction
from itertools import combinations

import pytest
from joint_models import Known, known, sets
from oracles.worlds import World

import suffice
import suffice_check
from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewiseLinear,
    PiecewisePolynomial,
    Product,
    Steps,
)
from suffice.model.writing import to_bytes
from suffice_check import pairs, scenarios, together
from suffice_check.joint import Bounds, Joint
from suffice_check.ordered import ZERO, Number
from suffice_check.scenarios import Scenario, Scenarios

CASES = [(seed, varies, below) for seed in range(5) for varies, below in ((False, 1), (False, 3), (True, 1))]


def accepts(content: bytes, document) -> bool:
    """Whether the checker accepts a certificate."""
    try:
        suffice_check.check(content, json.dumps(document).encode())
    except (suffice_check.RejectedError, suffice_check.UnreadableError):
        return False
    return True


def certificate(answer):
    """The document of an answer; None where a term varies, and messages are not close enough."""
    try:
        return answer.certificate().document
    except suffice.CertificateError:
        return None


def is_true(one: Known, document) -> bool:
    """Whether what a certificate says is so, by trying everything."""
    most, result = document["question"]["max_changed"], document["result"]
    holds, every = one.holds(most), set(range(len(one.row)))
    if result["kind"] == "insufficient":
        return not holds[tuple(sorted(every - set(result["fixed"])))]
    if result["kind"] == "explanation":
        enough = {
            size for size in range(len(every) + 1) for freed in combinations(every, len(every) - size) if holds[freed]
        }
        return holds[tuple(sorted(every - set(result["fixed"])))] and min(enough) >= int(result["lower_bound"])
    breaking = [len(freed) for freed, is_enough in holds.items() if not is_enough]
    named = not holds[tuple(sorted(result["changed"]))]
    return named and min(breaking) >= int(result["lower_bound"])


@pytest.mark.parametrize(("seed", "varies", "below"), CASES)
def test_what_is_written_is_accepted_and_true(seed, varies, below):
    one = known(seed, varies=varies, below=below)
    content, count = to_bytes(one.explainer.model), len(one.row)
    refused = 0
    for most in (None, 1, 2):
        holds = one.holds(most)
        why = one.explainer.explain(one.row, "inf", max_changed=most)
        what = one.explainer.contrast(one.row, "inf", max_changed=most)
        sizes = [count - len(freed) for freed, is_enough in holds.items() if is_enough]
        answers = [why, what]
        assert why.size == min(sizes)
        for freed, is_enough in holds.items():
            fixed = [name for i, name in enumerate(one.names) if i not in freed]
            answers.append(one.explainer.sufficiency(one.row, fixed, "inf", max_changed=most))
            assert bool(answers[-1]) == is_enough
        for answer in answers:
            document = certificate(answer)
            refused += document is None
            if document is not None:
                assert accepts(content, document)
                assert is_true(one, document)
    assert refused == 0 or varies
    assert refused <= 2


@pytest.mark.parametrize("seed", range(4))
def test_every_option_has_its_certificate(seed):
    one, rng = known(seed, varies=False, count=3), random.Random(seed)
    content, names, ask = to_bytes(one.explainer.model), one.names, one.explainer
    cost = {name: rng.randint(1, 4) for name in names}
    pair = {"pair": list(names[:2])}
    for options in (
        {"cost": cost},
        {"cost": cost, "max_changed": 2},
        {"groups": pair},
        {"groups": pair, "max_changed": 2, "cost": {"pair": 3}},
        {"fix": [names[0]]},
        {"immutable": [names[1]]},
        {"fix": [names[2]], "max_changed": 1},
    ):
        for question in (ask.explain, ask.contrast):
            assert accepts(content, question(one.row, "inf", **options).certificate().document)
        if "immutable" not in options:
            for minimal in ("size", "subset"):
                listed = ask.explanations(one.row, "inf", minimal=minimal, **options)
                assert accepts(content, listed.certificate().document)
                document = copy.deepcopy(listed.certificate().document)
                if len(document["result"]["sets"]) > 1:  # one is missing, and the others are said to be all
                    for key in (document["result"]["sets"], document["evidence"]["messages"]):
                        key.pop()
                    assert not accepts(content, document)
    assert accepts(content, ask.explain(one.row, "inf", norm=1).certificate().document)
    free = [name for i, name in enumerate(names) if one.holds()[i,]]
    if free:
        assert accepts(content, ask.explain(one.row, "inf", free=free[:1]).certificate().document)


def test_several_inequalities_are_all_proven():
    shape = PairSteps([1], [1], [[[0, 1, 2], [1, 0, 3]], [[2, 2, 0], [0, 4, 1]]])
    steps = Steps([1], [[0, 1, 0], [2, 0, 1]])
    model = AdditiveModel(
        [steps, steps, steps], [3, 0, 0], "multiclass", pairs={("x0", "x1"): shape, ("x2", "x1"): shape}
    )
    content = to_bytes(model)
    for row in ((0, 0, 0), (2, 0, 1), (2, 2, 2), (0, 2, 2)):
        for answer in (Explainer(model).explain(row, "inf"), Explainer(model).contrast(row, "inf")):
            document = answer.certificate().document
            assert accepts(content, document)
        document = Explainer(model).explain(row, "inf").certificate().document
        assert len(document["evidence"]["messages"]) == 2
        document["evidence"]["messages"].pop()
        assert not accepts(content, document)
    number = AdditiveModel(
        [Steps([1], [0, 2])] * 2, 0, "regression", pairs={("x0", "x1"): PairSteps([1], [1], [[0, 1], [2, 0]])}
    )
    why = Explainer(number).explain((0, 0), "inf", claim=suffice.Within(2))
    assert accepts(to_bytes(number), why.certificate().document)


def test_pair_terms_that_leave_the_claim_alone_are_no_hindrance():
    same = PairSteps([1], [1], [[[1, 1], [2, 2]], [[3, 3], [0, 0]]])
    model = AdditiveModel([Steps([1], [[2, 0], [0, 1]])] * 2, [1, 0], "multiclass", pairs={("x0", "x1"): same})
    for answer in (Explainer(model).explain((0, 0), "inf"), Explainer(model).contrast((0, 0), "inf")):
        assert accepts(to_bytes(model), answer.certificate().document)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("domain", [Domain.points(0, 1, 2), Domain.interval(0, 0) | Domain.interval(1, 3)], ids=str)
def test_a_span_that_is_the_row_alone_is_told_apart_from_the_others(domain, seed):
    rng = random.Random(seed)
    values = [rng.randint(-2, 2) for _ in range(13)]
    shapes = [Steps([1], values[9:11]), Steps([1], values[11:])]
    table = PairSteps([1, 2], [1, 2], [values[:3], values[3:6], values[6:9]])
    features = [Feature("a", domain), Feature("b", domain)]
    model = AdditiveModel(shapes, rng.randint(1, 6), features=features, pairs={("a", "b"): table})
    for answer in (Explainer(model).explain((0, 0), "inf"), Explainer(model).contrast((0, 0), "inf")):
        assert accepts(to_bytes(model), answer.certificate().document)


# --- radii ------------------------------------------------------------------------------------------------------------

HAIR = Fraction(1, 1000)


def near(text: str) -> Fraction:
    """A radius that is approached from one side, from a little way off."""
    side = {"+e": 1, "-e": -1}.get(text[-2:], 0)
    return Fraction(text[:-2] if side else text) + side * HAIR


def is_true_of_radii(one: Known, document) -> bool:
    """Whether what a certificate says of radii is so, as far as radii a little way off can tell."""
    most, result, every = document["question"]["max_changed"], document["result"], set(range(len(one.row)))
    if result["kind"] == "radius":
        free = tuple(sorted(every - set(result["fixed"])))
        held = one if result["holds_at"] == "inf" else one.within(near(result["holds_at"]))
        failed = None if result["fails_at"] is None else one.within(near(result["fails_at"]))
        return held.holds(most)[free] and not (failed and failed.holds(most)[free])
    inside = one.within(Fraction(document["question"]["radius"]))
    if result["kind"] != "counterfactual":
        return is_true(inside, document)
    nearer = one.within(max(near(result["least"]), Fraction(0))).holds(most)
    cost = len(result["changed"])
    return is_true(inside, document) and all(nearer[freed] for freed in nearer if len(freed) <= cost)


@pytest.mark.parametrize("case", CASES[:9])
def test_radii_and_nearest_changes_are_accepted_and_true_and_forgeries_are_not(case):
    one = known(case[0], varies=case[1], below=case[2], count=2)
    content, ask = to_bytes(one.explainer.model), one.explainer
    fixed = [[name for i, name in enumerate(one.names) if i not in freed] for freed in sets(len(one.row))]
    answers = [ask.radius(one.row, some, unit="raw") for some in fixed]
    answers += [ask.counterfactual(one.row, radius, unit="raw") for radius in (1, "5/2")]
    answers.append(ask.counterfactual(one.row, 3, unit="raw", max_changed=1))
    made = [document for document in map(certificate, answers) if document is not None]
    assert len(made) == len(answers) or case[1]
    for document in made:
        assert accepts(content, document)
        assert is_true_of_radii(one, document)
        for name in ("holds_at", "fails_at", "least"):
            for radius in ("1/2", "1-e", "1+e", "2", "3") if name in document["result"] else ():
                changed = copy.deepcopy(document)
                changed["result"][name] = radius
                assert not accepts(content, changed) or is_true_of_radii(one, changed)


def limits():
    """A model whose worst case is only approached, exactly at the margin: a set that suffices, and input places."""
    fall = -(PiecewiseLinear([0, 1], [0, -1]) + Steps([1], [0, 5]))
    model = AdditiveModel(
        [fall, None],
        -2,
        features=[Feature("a", Domain.interval(0, 2)), Feature("b", Domain.interval(0, 2))],
        pairs={("a", "b"): PairSteps([1], [1], [[0, 1], [0, 0]])},
    )
    enough = Explainer(model).sufficiency((0, 0), [], "inf").certificate().document
    places = {"input": [{"number": "1-e"}, {"number": "1"}]}
    forged = {**enough, "result": {"kind": "insufficient", "fixed": []}, "evidence": places}
    return to_bytes(model), enough, forged


def test_what_is_only_approached_breaks_nothing():
    content, enough, forged = limits()
    assert enough["result"] == {"kind": "explanation", "fixed": [], "lower_bound": "0"}
    assert accepts(content, enough)
    assert not accepts(content, forged)


# --- forgeries --------------------------------------------------------------------------------------------------------


def forged(one: Known, seed: int):
    """Certificates that say other things than those they were made from."""
    rng = random.Random(seed)
    why, what = one.explainer.explain(one.row, "inf"), one.explainer.contrast(one.row, "inf")
    made = [document for document in map(certificate, (why, what)) if document is not None]
    count = len(one.row)
    for document in made:
        result = document["result"]
        name = "changed" if "changed" in result else "fixed"
        for some in sets(count):
            for bound in range(len(some) + 1):
                changed = copy.deepcopy(document)
                changed["result"] |= {name: list(some), "lower_bound": str(bound)}
                if not bound and name == "fixed":
                    changed["evidence"] |= {"scenarios": [], "tree": []}
                yield changed
                loose = copy.deepcopy(changed)
                _shake(loose["evidence"], rng)
                yield loose
        if "tree" in document["evidence"]:  # all are said to be needed, each alone
            tree = [*({"fix": k} for k in range(count)), {"surrogate": {"scenarios": [], "shares": []}}]
            said = {"kind": "explanation", "fixed": list(range(count)), "lower_bound": str(count)}
            yield {**document, "result": said, "evidence": {**document["evidence"], "tree": tree}}
    for some in sets(count):
        for other in made:
            if "input" in other["evidence"]:
                result = {"kind": "insufficient", "fixed": list(some)}
                yield {**other, "result": result, "evidence": {"input": other["evidence"]["input"]}}


def _shake(value, rng):
    """Change some numbers of evidence at random."""
    for key in range(len(value)) if isinstance(value, list) else list(value):
        if isinstance(value[key], (list, dict)):
            _shake(value[key], rng)
        elif type(value[key]) is int and rng.random() < 0.1:
            value[key] = max(value[key] + rng.choice([-2, -1, 1, 2]), 0)
        elif isinstance(value[key], str) and rng.random() < 0.1:
            value[key] = rng.choice(["0", "1", "2", "1/2", "3", "1+e", "2-e", "red", value[key]])


def found_false(cases) -> int:
    """How many forgeries are accepted though what they say is not so."""
    count = 0
    for seed, varies, below in cases:
        one = known(seed, varies=varies, below=below)
        content = to_bytes(one.explainer.model)
        count += sum(accepts(content, document) and not is_true(one, document) for document in forged(one, seed))
    return count


@pytest.mark.parametrize("case", CASES[:9])
def test_no_forgery_is_accepted_unless_it_is_true(case):
    assert found_false([case]) == 0


def without_pairs(function):
    def changed(self, *args):
        found = function(self, *args)
        return type(found)(found.under, [[0] * len(row) for row in found.together])

    return changed


BREAKS = {
    "what two features do together is left out": (Joint, "anchored", without_pairs(Joint.anchored)),
    "messages are received but not paid for": (Bounds, "_most", lambda *args: -(10**6)),
    "only the row has labels": (Bounds, "labels", lambda self, c, i: list(self._each_label(c, i))[:1]),
    "limits are values": (Joint, "part_fall", lambda self, c, i, at: Number(self.parts[i].fall(c, at).value, 1)),
    "scenarios break whatever they like": (Scenarios, "breaks", lambda self, freed: True),
    "leaves of scenarios are believed": (Scenarios, "_most", lambda *args: -1),
    "falls are twice as large": (Scenario, "fall", lambda self, features: Number(10**6)),
    "drops are forgotten": (together, "total", lambda numbers: ZERO),
    "bins are all one": (pairs.Bins, "bin", lambda self, at: 0),
    "trees may stop": (scenarios, "walk", lambda *args, **kwargs: None),
}


@pytest.mark.parametrize("name", BREAKS)
def test_breaks_of_the_checker_are_found(name, monkeypatch):
    where, what, broken = BREAKS[name]
    content, enough, forgery = limits()
    monkeypatch.setattr(where, what, broken)
    if accepts(content, forgery) or not accepts(content, enough):
        return
    for case in CASES:
        one = known(case[0], varies=case[1], below=case[2])
        content = to_bytes(one.explainer.model)
        try:
            if any(
                accepts(content, document) != is_true(one, document)
                for document in forged(one, case[0])
                if accepts(content, document)
            ):
                return
            documents = [
                certificate(one.explainer.explain(one.row, "inf")),
                certificate(one.explainer.contrast(one.row, "inf")),
            ]
            if not all(accepts(content, document) for document in documents if document is not None):
                return
        except AssertionError:
            return
    raise AssertionError("no test would notice")


# --- relevance, curves, ranges ----------------------------------------------------------------------------------------


def told(one: Known, radius: Fraction | None) -> list:
    """Answers whose proofs put those of several sets, radii or ranges together."""
    explainer, row = one.explainer, one.row
    reach = "inf" if radius is None else radius
    return [
        explainer.relevance(row, reach, unit="raw"),
        explainer.relevance(row, reach, unit="raw", max_changed=1),
        explainer.curve(row, unit="raw", until=3),
        explainer.curve(row, unit="raw"),
        explainer.inflate(row, reach, unit="raw"),
        explainer.inflate(row, reach, unit="raw", max_changed=1),
    ]


@pytest.mark.parametrize("seed", range(20, 32))
def test_roles_curves_and_ranges_are_certified(seed):
    one = known(seed, varies=False)
    content = to_bytes(one.explainer.model)
    for answer in told(one, (None, Fraction(1), Fraction(2))[seed % 3]):
        assert accepts(content, answer.certificate().document)


def roles_by_trying(one: Known) -> dict[str, set[int]]:
    """The role of each feature, from all sets."""
    every, holds = set(range(len(one.row))), one.holds()
    enough = [every - set(freed) for freed, is_enough in holds.items() if is_enough]
    minimal = [kept for kept in enough if not any(other < kept for other in enough)]
    some, all_ = set().union(*minimal), every.intersection(*minimal)
    return {"necessary": all_, "relevant": some - all_, "irrelevant": every - some}


def test_a_role_that_is_not_so_is_not_accepted():
    refused = 0
    for seed in range(20, 32):
        one = known(seed, varies=False)
        content, document = (
            to_bytes(one.explainer.model),
            one.explainer.relevance(one.row, "inf").certificate().document,
        )
        true = roles_by_trying(one)
        assert {role: set(document["result"][role]) for role in true} == true
        for old, new in ((a, b) for a in true for b in true if a != b):
            for i in true[old]:
                forged = copy.deepcopy(document)
                forged["result"][old].remove(i)
                forged["result"][new].append(i)
                for trees in (forged["evidence"]["trees"], [[]], [*forged["evidence"]["trees"], []]):
                    for sets_ in (forged["evidence"]["sets"], [*forged["evidence"]["sets"], list(range(len(one.row)))]):
                        forged["evidence"]["trees"], forged["evidence"]["sets"] = trees, sets_
                        assert not accepts(content, forged)
                        refused += 1
    assert refused > 50


def test_a_wider_range_or_a_longer_stretch_is_not_accepted():
    wider = longer = 0
    for seed in range(20, 40):
        one = known(seed, varies=False)
        content = to_bytes(one.explainer.model)
        for radius in (Fraction(1), None):
            document = (
                one.explainer.inflate(one.row, "inf" if radius is None else radius, unit="raw").certificate().document
            )
            for k, given in enumerate(document["result"]["ranges"]):
                for end in ("low", "high"):
                    if given.get(end) not in (None, "0", "3"):  # where the domain does not end too
                        for is_widest, inputs in ((True, document["evidence"]["inputs"]), (False, [])):
                            forged = copy.deepcopy(document)
                            forged["result"]["ranges"][k][end], forged["result"]["is_widest"] = None, is_widest
                            forged["evidence"]["inputs"] = inputs
                            assert not accepts(content, forged)
                            wider += 1
        document = one.explainer.curve(one.row, unit="raw", until=3).certificate().document
        for k, step in enumerate(document["result"]["steps"][1:], start=1):
            forged = copy.deepcopy(document)
            forged["result"]["steps"][k - 1]["holds_at"] = step["holds_at"]
            forged["result"]["steps"][k]["from"] = step["holds_at"]
            assert not accepts(content, forged)
            longer += 1
    assert wider > 10
    assert longer > 10


def test_a_term_that_the_checker_takes_for_varying_is_certified_or_refused():
    """Just above a radius the checker trusts no edge along a term that varies; here it does not, for the search."""
    world = World(10157, varies=True, most=3)
    largest = Explainer(world.model).radius(world.row, [], unit="raw", claim=AtMost("5/4"))
    assert largest.limit == (0, True)
    document = certificate(largest)
    assert document is None or accepts(to_bytes(world.model), document)


def test_a_set_that_just_breaks_a_strict_claim_is_ruled_out():
    """What x1 and x2 do together is just the margin, so that no multiple of a scenario bounds what they cost."""
    world = World(10183)
    asked = {"unit": "raw", "claim": Beats("a"), "cost": {"x0": 1, "x1": 3, "x2": 2}}
    why = Explainer(world.model).explain(world.row, 1, **asked)
    assert (why.cost, why.lower_bound) == (3, 3)
    assert accepts(to_bytes(world.model), why.certificate().document)


def test_a_set_of_which_few_may_change_that_just_breaks_a_strict_claim_is_ruled_out():
    world = World(10875, most=4)
    why = Explainer(world.model).explain(world.row, "3/2", claim=Beats("a"), max_changed=2)
    assert accepts(to_bytes(world.model), why.certificate().document)


@pytest.mark.parametrize("bend", [0, 1, -1])
def test_a_limit_that_no_number_of_the_cell_attains_is_a_label(bend):
    """Along x the score falls by 2 just above 0, where a product varies, and a curve may lie beside it."""
    box, line = Domain.interval(-1, 1), PiecewisePolynomial([], [[0, 1]])
    jump = Steps([0], [0, -2], closed="right") + PiecewisePolynomial([], [[0, 0, Fraction(bend, 8)]])
    model = AdditiveModel(
        [jump, Steps([0], [0, 0])], "1.5", "binary", [Feature("x", box), Feature("y", box)],
        pairs={("x", "y"): Product(line, line)},
    )  # fmt: skip
    explainer = Explainer(model)
    document = explainer.sufficiency([-1, 1], ["y"], "inf", claim=AtLeast(-1)).certificate().document
    document["question"]["claim"]["value"] = "0"  # false: the score comes close to -0.5
    assert not explainer.sufficiency([-1, 1], ["y"], "inf", claim=AtLeast(0))
    with pytest.raises(suffice_check.RejectedError, match="sufficiency"):
        suffice_check.check(explainer.compiled.content, json.dumps(document).encode())


def test_the_order_of_certificates_changes_no_verdict(tmp_path):
    """What the checker remembers of a wider region is no part of a narrower one: a curve there bends nothing here."""
    own = suffice.PiecewisePolynomial([0, 2], [[0, 0, 1], [4, -2], [5]])  # x², 4 - 2x, 5
    line = suffice.PiecewisePolynomial([], [[0, 1]])
    features = [
        suffice.Feature("x", suffice.Domain.interval(-3, 3)),
        suffice.Feature("y", suffice.Domain.interval(0, 1)),
    ]
    pairs = {("x", "y"): suffice.Product(line, line)}
    model = suffice.AdditiveModel([own, line], 0, "binary", features, pairs=pairs, ties="negative")
    explainer = suffice.Explainer(model)
    narrow = explainer.sufficiency(["3/2", 0], [], {"x": "3/4", "y": 1}, unit="raw").certificate()
    wide = explainer.sufficiency(["3/2", 0], [], "inf", claim=suffice.AtLeast(-100)).certificate()
    model.save(tmp_path / "model.safetensors")
    narrow.save(tmp_path / "narrow.json")
    wide.save(tmp_path / "wide.json")
    for order in (["narrow.json", "wide.json"], ["wide.json", "narrow.json"]):
        command = [sys.executable, "-m", "suffice_check", "model.safetensors", *order]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0


def test_a_product_of_nothing_beside_a_curve_is_refused_with_its_reason():
    line, zero = (suffice.PiecewisePolynomial([], [[0, slope]]) for slope in (1, 0))
    square = suffice.PiecewisePolynomial([], [[0, 0, 1]])
    features = [suffice.Feature(name, suffice.Domain.interval(-1, 1)) for name in "xy"]
    model = suffice.AdditiveModel(
        [square, line], 3, "binary", features, pairs={("x", "y"): suffice.Product(zero, line)}
    )
    why = suffice.Explainer(model).explain([1, 1], 1, unit="raw")
    assert why.status is suffice.Status.PROVEN
    with pytest.raises(suffice.CertificateError, match="all 0"):
        why.certificate()
