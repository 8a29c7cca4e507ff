"""Forged certificates about two features that act together, with evidence made up, judged by trying every place."""

from fractions import Fraction

import pytest
from joint_models import Known
from oracles.labellings import Line
from test_pair_certificates import accepts, is_true

from suffice import AdditiveModel, Domain, Explainer, Feature, PairLinear, PairSteps, Steps
from suffice.model.writing import to_bytes

SPAN = (Fraction(0), Fraction(2))


def of_two(main, shape, pair, level, *, is_strict=False):
    """A model of two features at the row (0, 0): a part of the first alone and one of both, as shapes and functions."""
    sign = -1 if is_strict else 1  # a tie goes to the positive class
    (mine, part), features = main, [Feature(name, Domain.interval(*SPAN)) for name in ("a", "b")]
    model = AdditiveModel([mine, None], sign * level, features=features, pairs={("a", "b"): shape})
    lines = [
        Line(one, [Fraction(0), Fraction(1), Fraction(2)], Fraction(0), *SPAN)
        for one in (lambda x: sign * part(x), lambda x: Fraction(0))
    ]
    both = {(0, 1): lambda x, y: sign * pair(x, y)}
    return Known(Explainer(model), (Fraction(0), Fraction(0)), is_strict, Fraction(level), lines, both)


FLAT = (None, lambda x: Fraction(0))
NO_MESSAGES = [{"messages": {"unit": "0", "edges": [], "tree": []}}]


def said(one, result, evidence, **options):
    """A certificate that says something else about a model and its row, with evidence made up."""
    document = one.explainer.sufficiency(one.row, ["a", "b"], "inf", **options).certificate().document
    return {**document, "result": result, "evidence": evidence}


def of_steps(table, level):
    """Two features that are cut at 1, with a table for both and no part of their own."""
    values = [[Fraction(entry) for entry in row] for row in table]
    return of_two(FLAT, PairSteps([1], [1], values), lambda x, y: values[x >= 1][y >= 1], level)


def scenario(*places):
    return [0, [None if at is None else {"number": at} for at in places]]


def no_smaller(one, listed, tree, **options):
    """It is said that one feature must be fixed, as scenarios show; that to fix one is enough is so."""
    evidence = {"bins": [[], []], "messages": [NO_MESSAGES], "scenarios": listed, "tree": tree}
    return said(one, {"kind": "explanation", "fixed": [0], "lower_bound": "1"}, evidence, **options)


def leaf(multiplier, *shares):
    return [{"surrogate": {"scenarios": [[0, multiplier]], "shares": list(shares)}}]


def test_what_two_features_do_together_is_paid_for_without_messages_too():
    """Each alone does nothing: only the largest entry of what both do tells that they break the claim."""
    nothing = {"kind": "explanation", "fixed": [], "lower_bound": "0"}
    evidence = {"bins": [[], []], "messages": [NO_MESSAGES], "scenarios": [], "tree": []}
    for fall in (0, 1, 2, 3):
        one = of_steps([[0, 0], [0, -fall]], 2)
        document = said(one, nothing, evidence)
        assert accepts(to_bytes(one.explainer.model), document) == is_true(one, document) == (fall <= 2)


@pytest.mark.parametrize("closed", ["left", "right"])
def test_the_limit_of_a_pair_term_that_varies_is_not_reached(closed):
    """At 1 or beyond it the first feature's own part turns against what both do: the score only comes close to 0."""
    jump = Steps([1], [0, -5], closed=closed), lambda x: Fraction(-5 if x > 1 or (x == 1 and closed == "left") else 0)
    one = of_two(jump, PairLinear([0, 2], [0, 2], [[0, 0], [0, 4]]), lambda x, y: x * y, 2, is_strict=True)
    beside, there = (
        said(one, {"kind": "insufficient", "fixed": []}, {"input": [{"number": at}, {"number": "2"}]})
        for at in ("1-e", "1")
    )
    assert not accepts(to_bytes(one.explainer.model), beside)
    assert accepts(to_bytes(one.explainer.model), there) == is_true(one, there) == (closed == "right")


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(
    "tree", [leaf("1/3", [0, 1, 16]), [{"branch": 0}, *leaf("0"), {"fix": 1}, *leaf("0")]], ids=len
)
def test_a_scenario_of_two_changes_says_nothing_where_one_may_change(most, tree):
    one = of_steps([[0, 0], [0, -3]], 2)
    document = no_smaller(one, [scenario("1", "1")], tree, max_changed=most)
    assert accepts(to_bytes(one.explainer.model), document) == is_true(one, document) == (most == 2)


@pytest.mark.parametrize("both", [0, 1, 2, 3, 4])
def test_what_two_changes_do_beyond_each_alone_counts_in_a_leaf(both):
    """Each change falls by 2, both together by 4 or less: whether one must be fixed depends on that alone."""
    one = of_steps([[0, -2], [-2, -both]], 3)
    content = to_bytes(one.explainer.model)
    for multiplier in ("1/4", "1/3", "1/2", "2/3", "1", "2"):
        document = no_smaller(one, [scenario("1", "1")], leaf(multiplier))
        assert is_true(one, document) == (both == 4)
        assert not accepts(content, document) or both == 4
    assert accepts(content, no_smaller(one, [scenario("1", "1")], leaf("1/2"))) == (both == 4)
