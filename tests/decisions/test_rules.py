"""Rules against going through all boxes of few conditions."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from oracles.small import Small, table_of
from typer.testing import CliRunner

import suffice_check
from suffice import (
    AdditiveModel,
    Bins,
    CardError,
    CertificateError,
    Domain,
    Explainer,
    Feature,
    OptionError,
    PairSteps,
    PiecewiseLinear,
    Status,
    Steps,
    Table,
)
from suffice.cli.app import app

SLOW = [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))]


def conditions_on(small, i):
    """All conditions on a feature: one stretch of its numbers, with any labels; as sets of places in its values."""
    numbers = sorted(k for k, value in enumerate(small.values[i]) if small.is_number(i, value))
    labels = [k for k in range(len(small.values[i])) if k not in numbers]
    stretches = [[], *(numbers[a:b] for a, b in itertools.combinations(range(len(numbers) + 1), 2))]
    some = itertools.chain.from_iterable(itertools.combinations(labels, n) for n in range(len(labels) + 1))
    return [frozenset([*one, *other]) for one, other in itertools.product(stretches, list(some)) if one or other]


class Plain:
    """What speaks for a class, and all boxes of at most two conditions."""

    def __init__(self, small, outcome):
        sign = 1 if outcome == "yes" else -1
        self.adds = [[sign * table[value][0] for value in table] for table in small.tables]
        self.start, self.is_strict = sign * small.intercept[0], (small.ties == "positive") != (outcome == "yes")
        self.options = [conditions_on(small, i) for i in range(len(small.values))]

    def holds(self, box):
        """Whether the worst that all features can do in a box leaves the decision as it is."""
        worst = self.start + sum(min(adds[k] for k in box.get(i, range(len(adds)))) for i, adds in enumerate(self.adds))
        return worst > 0 or (worst == 0 and not self.is_strict)

    def most(self, count, rows, through=None):
        """How many rows the best box covers that is valid and has a row in it; None if there is none."""
        best = None
        for size in range(count + 1):
            for features in itertools.combinations(range(len(self.adds)), size):
                able = [[one for one in self.options[i] if through is None or through[i] in one] for i in features]
                for chosen in itertools.product(*able):
                    box = dict(zip(features, chosen, strict=True))
                    if self.holds(box):
                        covers = sum(all(row[i] in one for i, one in box.items()) for row in rows)
                        best = covers if best is None else max(best, covers)
        return best


@pytest.mark.parametrize("block", SLOW)
def test_a_rule_is_the_best_of_all_boxes(block):
    found = whole = none = 0
    for seed in range(7000 + 100 * block, 7000 + 100 * block + 50):
        small = Small(seed, tasks=("binary",), most=3)
        if sum(map(len, small.values)) > 16:  # more boxes than a test can go through
            continue
        explainer = Explainer(small.model)
        places = [[small.random.randrange(len(values)) for values in small.values] for _ in range(8)]
        rows = [[small.values[i][k] for i, k in enumerate(one)] for one in places]
        table, count = table_of(small, rows), small.random.choice([1, 2])
        for place, row in list(zip(places, rows, strict=True))[:2]:
            outcome = small.decides(row)
            alike = [one for one, other in zip(places, rows, strict=True) if small.decides(other) == outcome]
            best, rule = (
                Plain(small, outcome).most(count, alike, place),
                explainer.rule(list(row), table, conditions=count),
            )
            if rule.conditions is None:
                assert best is None or (rule.bound > 0 and not rule.is_whole), seed
                none += 1
                continue
            assert rule.outcome == outcome
            assert rule.holds(list(row))
            assert len(rule.conditions) <= count
            assert rule.share.count == best if rule.is_whole else rule.share.count <= best, seed
            found, whole = found + 1, whole + rule.is_whole
            for other in itertools.product(*small.values):
                assert not rule.holds(list(other)) or small.decides(other) == outcome, (seed, other)
            check_certificate(explainer, rule)
        check_set(small, explainer, table, places, rows, count)
    assert min(found, whole) > 0
    assert none or block, "rows that no rule is about are rare, but the first block has some"


def check_certificate(explainer, rule):
    for i, cells in rule.conditions:
        has_code = bool(set(cells[0].labels) & set(explainer.model.domains[i].codes_))
        if len(cells) > 1 or (has_code and len(cells[0].labels) > 1):
            with pytest.raises(CertificateError, match="joins"):
                rule.certificate()
            return
    certificate = rule.certificate()
    assert f"the prediction stays {rule.outcome!r}" in suffice_check.check(
        explainer.compiled.content, certificate.text.encode()
    )


def check_set(small, explainer, table, places, rows, count):
    rules = explainer.rules(table, conditions=count)
    for outcome in small.classes:
        plain = Plain(small, outcome)
        own = [one for one, row in zip(places, rows, strict=True) if small.decides(row) == outcome]
        could = sum(plain.most(count, [], place) is not None for place in own)
        assert (rules.coverable[outcome].count, rules.coverable[outcome].rows) == (could, len(own))
        told = [rules.decides(list(row)) for row in rows if small.decides(row) == outcome]
        assert set(told) <= {None, outcome}
        assert rules.covered[outcome].count == len(told) - told.count(None)
        if all(rule.is_whole for rule in rules.rules) and rules.rules:
            assert rules.covered[outcome].count == could  # twenty rules are enough for eight rows
    again = rules.on(explainer.portfolio(table))
    assert (again.covered, again.coverable) == (rules.covered, rules.coverable)


LOAN = AdditiveModel(
    [Steps([20, 40], [-2, 0, 2]), Steps([1, 3], [1, 0, -3], "right"), Table({"own": 1, "rent": 0})],
    intercept="-0.5",
    classes=["refuse", "grant"],
    features=["income", Feature("late", Domain.integers(0, 12)), "housing"],
)
PEOPLE = np.array([[x, y, z] for x in range(5, 60, 10) for y in (0, 2, 5) for z in ("own", "rent")], dtype=object)


def test_what_is_told():
    rule = Explainer(LOAN).rule([45, 2, "rent"], PEOPLE, conditions=2)
    assert rule.sentence == "if income is 40 or more and late is from 0 to 3, then grant"
    assert rule.status is Status.PROVEN
    assert f"Covers: {rule.share} of the rows decided grant; no rule of 2 conditions covers more." in str(rule)
    one = Explainer(LOAN).rule([25, 0, "rent"], PEOPLE, conditions=1)
    assert str(one) == "Rule: no rule of 1 condition is about this row, proven."
    with pytest.raises(CertificateError, match="there is no rule"):
        one.certificate()


def test_without_time_a_rule_is_bounded_and_none_is_not_proven():
    one = Explainer(LOAN).rule([45, 2, "rent"], PEOPLE, conditions=2, max_seconds=0)
    assert one.status is Status.BOUNDED
    assert "proven" not in str(one) or one.holds([45, 2, "rent"])
    assert one.bound >= Explainer(LOAN).rule([45, 2, "rent"], PEOPLE, conditions=2).share.count
    told = Explainer(LOAN).rules(PEOPLE, conditions=2, max_seconds=0)
    assert told.share.count <= sum(one.count for one in told.coverable.values())


def test_a_slope_is_cut_where_the_rows_are_and_says_so():
    slope = AdditiveModel([PiecewiseLinear([0, 100], [-3, 3])], 0, features=[Feature("a", Domain.interval(0, 100))])
    rows = np.arange(1.0, 100, 2)[:, None]
    rule = Explainer(slope).rule([97], rows, conditions=1)
    assert not rule.is_whole
    assert rule.status is Status.BOUNDED
    assert "of those with ends at the cuts that were looked at" in str(rule)
    assert not rule.holds([49])
    near = Explainer(slope).rule([Fraction(50001, 1000)], rows, conditions=1)
    assert near.conditions is None or near.holds([Fraction(50001, 1000)])


def test_what_has_no_rules_is_refused():
    pair = PairSteps(Bins([1]), Bins([1]), [[0, 1], [1, 0]])
    both = AdditiveModel([Steps([0], [0, 1])] * 2, 0, features=["a", "b"], pairs={("a", "b"): pair})
    with pytest.raises(CardError, match="rules cannot deal with terms over two features"):
        Explainer(both).rules(np.zeros((2, 2)))
    with pytest.raises(CardError, match="rules decide between two classes"):
        Explainer(AdditiveModel([Steps([0], [0, 1])], 0, "regression", ["a"])).rules(np.zeros((2, 1)))
    for given in ({"conditions": 0}, {"most": 0}, {"conditions": True}):
        with pytest.raises(OptionError, match="whole number, 1 or more"):
            Explainer(LOAN).rules(PEOPLE, **given)


def test_there_are_commands(tmp_path):
    LOAN.save(tmp_path / "loan.safetensors")
    lines = [",".join(map(str, row)) for row in PEOPLE.tolist()]
    (tmp_path / "rows.csv").write_text("\n".join(["income,late,housing", *lines]) + "\n")
    files = [str(tmp_path / "loan.safetensors"), str(tmp_path / "rows.csv"), "--conditions", "2", "--json"]
    done = CliRunner().invoke(app, ["rule", *files, "--row", "26", "--certificate", str(tmp_path / "c.json")])
    assert done.exit_code == 0, done.output
    rule = Explainer(LOAN).rule(list(PEOPLE[26]), PEOPLE, conditions=2)
    assert json.loads(done.stdout)["conditions"] == rule.document()["conditions"]
    content = (tmp_path / "loan.safetensors").read_bytes()
    assert "the prediction stays 'grant'" in suffice_check.check(content, (tmp_path / "c.json").read_bytes())
    told = json.loads(CliRunner().invoke(app, ["rules", *files, "--most", "3"]).stdout)
    found = Explainer(LOAN).rules(PEOPLE, conditions=2, most=3)
    assert told["rules"] == found.document()["rules"]
    assert len(told["rules"]) <= 3


def forge(document, path, value):
    """A copy of a document with one value put in another's place."""
    copy = json.loads(json.dumps(document))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(copy).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("result", "ranges", 0, "low"), "39"),
        (("result", "ranges", 0, "low"), None),
        (("result", "ranges", 1, "high"), "4"),
        (("result", "ranges"), [{"feature": 0, "low": "40", "high": None}]),
        (("result", "ranges", 0, "feature"), 2),
        (("result", "is_widest"), True),
        (("row", 0), {"number": "39"}),
        (("model",), "0" * 64),
    ],
)
def test_a_forged_rule_is_refused(path, value):
    explainer = Explainer(LOAN)
    certificate = explainer.rule([45, 2, "rent"], PEOPLE, conditions=2).certificate()
    suffice_check.check(explainer.compiled.content, certificate.text.encode())
    with pytest.raises((suffice_check.RejectedError, suffice_check.UnreadableError)):
        suffice_check.check(explainer.compiled.content, forge(json.loads(certificate.text), path, value))
