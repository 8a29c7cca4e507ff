"""Recourse against going through all changes that the actions allow."""

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
    MISSING,
    ActionError,
    AdditiveModel,
    AtLeast,
    AtMost,
    Bins,
    CertificateError,
    ClaimError,
    Domain,
    Explainer,
    Feature,
    FeatureNameError,
    OptionError,
    PairSteps,
    Smooth,
    Status,
    Steps,
    Table,
)
from suffice.cli.app import app

SLOW = [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 6))]
SIGNS = {"<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b}


def some_action(small, i, rows):
    """A random action on a feature, and what it allows and costs, written down plainly."""
    pick, numbers = small.random.choice, [v for v in small.values[i] if small.is_number(i, v)]
    action, kinds = {}, ["fixed", "each", "percentile", "function"]
    if numbers and small.random.random() < 0.75:
        action["direction"] = pick(["up", "down", "any"])
        action["step"] = pick([1, "0.5"]) if len(numbers) != 5 else 1
        for key, values in (("most", [1, "1.5", 2]), ("low", [0, "0.5"]), ("high", ["1.5", 2, 3])):
            if small.random.random() < 0.3:
                action[key] = pick(values)
    else:
        goals = small.random.sample(small.values[i], small.random.randint(1, len(small.values[i])))
        action["to"] = goals if small.random.random() < 0.6 else dict.fromkeys(small.values[i][:2], goals)
        kinds.append("each value")
    kind = pick(kinds)
    amount = pick([1, 2, "0.5", "1.25"])
    ranked = sorted(v for v in (row[i] for row in rows) if small.is_number(i, v))
    action["cost"] = {kind: amount} if kind in ("fixed", "each", "percentile") else amount
    if kind == "function":
        action["cost"] = lambda old, new: Fraction(amount) * (1 + (isinstance(new, Fraction) and new > 1))
    if kind == "each value":
        action["cost"] = {v: Fraction(k + 1, 2) for k, v in enumerate(small.values[i])}
    if kind == "percentile" and not ranked:
        action["cost"] = amount

    def options(value):
        found = []
        if "direction" in action and small.is_number(i, value):
            step = Fraction(action["step"])
            for goal in numbers:
                far = abs(goal - value)
                is_on = (goal > value and action["direction"] != "down") or (
                    goal < value and action["direction"] != "up"
                )
                within = far <= Fraction(action.get("most", 99))
                limited = (goal > value and goal <= Fraction(action.get("high", 99))) or (
                    goal < value and goal >= Fraction(action.get("low", -99))
                )
                if is_on and within and limited and (far / step).denominator == 1:
                    found.append(goal)
        listed = action.get("to", [])
        found += [goal for goal in (listed.get(value, []) if isinstance(listed, dict) else listed) if goal != value]
        return [(goal, cost(value, goal)) for goal in dict.fromkeys(found)]

    def cost(old, new):
        given = action["cost"]
        if callable(given):
            return given(old, new)
        if not isinstance(given, dict):
            return Fraction(given)
        if kind == "each value":
            return given[new]
        both = small.is_number(i, old) and small.is_number(i, new)
        if kind == "fixed" or not both:
            return Fraction(given[kind]) if kind == "fixed" else Fraction(0)
        if kind == "each":
            return Fraction(given[kind]) * abs(new - old)
        rank = [Fraction(sum(v < x for v in ranked) + sum(v <= x for v in ranked), 2) for x in (old, new)]
        shift = abs(rank[1] - rank[0]) * 100 / len(ranked)
        return Fraction(given[kind]) * Fraction(-(-shift * 100 // 1), 100)

    return action, options


def every_change(small, row, options, relations):
    """All rows that the actions allow, with costs, which keep the relations that the row keeps."""
    able = [[(value, Fraction(0))] + (options[i](value) if i in options else []) for i, value in enumerate(row)]

    def keeps(point, relation):
        i, sign, j = relation
        return not (small.is_number(i, point[i]) and small.is_number(j, point[j])) or SIGNS[sign](point[i], point[j])

    asked = [one for one in relations if keeps(row, one)]
    for chosen in itertools.product(*able):
        point = [value for value, _ in chosen]
        if all(keeps(point, one) for one in asked):
            yield point, sum(cost for _, cost in chosen)


def next_cheapest(found, told, row):
    """What the cheapest change costs that changes not all of what an earlier one changes; None if there is none."""
    left = [
        (cost, point)
        for point, cost in found
        if not any(one <= {i for i, v in enumerate(point) if v != row[i]} for one in told)
    ]
    return min((cost for cost, _ in left), default=None)


@pytest.mark.parametrize("block", SLOW)
def test_the_cheapest_changes_are_those_of_trying_all(block):
    for seed in range(7000 + 200 * block, 7000 + 200 * block + 100):
        small = Small(seed, tasks=("binary", "binary", "regression"), most=4)
        explainer, rows = Explainer(small.model), [small.some_row() for _ in range(9)]
        row, count = rows[0], len(rows[0])
        made = {i: some_action(small, i, rows) for i in range(count) if small.random.random() < 0.85}
        numeric = [i for i in range(count) if any(small.is_number(i, v) for v in small.values[i])]
        pairs = list(itertools.permutations(numeric, 2))
        relations = (
            [(i, small.random.choice(list(SIGNS)), j) for i, j in small.random.sample(pairs, min(len(pairs), 2))]
            if small.random.random() < 0.5
            else []
        )
        if small.task == "regression":
            value, sign = small.random.choice([Fraction(k, 2) for k in range(-4, 5)]), small.random.choice([1, -1])
            aim = {"claim": (AtLeast if sign > 0 else AtMost)(value)}
            reached = lambda point: sign * small.score(point)[0] >= sign * value  # noqa: E731, B023
        else:
            aim, reached = {}, lambda point: small.decides(point) != small.decides(row)  # noqa: B023
        found = explainer.recourse(
            row,
            {f"f{i}": action for i, (action, _) in made.items()},
            relations=[(f"f{i}", sign, f"f{j}") for i, sign, j in relations],
            alternatives=3,
            table=table_of(small, rows),
            **aim,
        )
        every = [
            (point, cost)
            for point, cost in every_change(small, row, {i: one for i, (_, one) in made.items()}, relations)
            if reached(point)
        ]
        assert found.is_possible == bool(every), seed
        assert found.status is Status.PROVEN
        told = []
        for k, plan in enumerate(found.plans.listed):
            expected = next_cheapest(every, told, row)
            assert Fraction(str(plan.cost)) == expected, (seed, k)
            names = found.changes if k == 0 else found.alternatives[k - 1]
            point = [names.get(f"f{i}", value) for i, value in enumerate(row)]
            assert (point, expected) in every, (seed, k)
            told.append({i for i, v in enumerate(point) if v != row[i]})
        assert found.plans.is_complete == (len(told) < 4)
        if found.plans.is_complete and [] not in map(list, told):
            assert next_cheapest(every, told, row) is None, seed
        check_certificate(small, explainer, found, has_relations=bool(relations))


def check_certificate(small, explainer, found, *, has_relations):
    if not found.is_possible and (small.task == "regression" or has_relations):
        return
    told = suffice_check.check(explainer.compiled.content, found.certificate().text.encode())
    if not found.is_possible:
        assert "the prediction stays" in told


@pytest.mark.parametrize("block", SLOW)
def test_the_recourse_of_a_table_is_that_of_its_rows(block):
    for seed in range(8500 + 100 * block, 8500 + 100 * block + 40):
        small = Small(seed, tasks=("binary",), most=4)
        explainer, rows = Explainer(small.model), [small.some_row() for _ in range(8)]
        actions = {f"f{i}": some_action(small, i, rows)[0] for i in range(len(rows[0]))}
        outcome, table = small.random.choice(small.classes), table_of(small, rows)
        found = explainer.recourse_batch(table, actions, outcome)
        assert found.rows.tolist() == [k for k, row in enumerate(rows) if small.decides(row) != outcome]
        for place, k in enumerate(found.rows.tolist()):
            alone = explainer.recourse(rows[k], actions, outcome, table=table)
            assert found.costs[place] == alone.cost, (seed, k)
            assert found.of(place).changes == alone.changes
            if alone.is_possible:
                assert small.decides([alone.changes.get(f"f{i}", v) for i, v in enumerate(rows[k])]) == outcome


LOAN = AdditiveModel(
    [
        Steps([20, 40], [-2, 0, 2]),
        Steps([1, 3], [1, 0, -3]),
        Table({"own": 1, "rent": 0, MISSING: -1}),
        Steps([2], [0, "1/4"]),
    ],
    intercept=-1,
    classes=["refuse", "grant"],
    features=[
        Feature("income", Domain.interval(0, 500)),
        Feature("late", Domain.integers(0, 12)),
        "housing",
        Feature("payments", Domain.integers(0, 12)),
    ],
)
ROW = {"income": 30, "late": 3, "housing": "rent", "payments": 3}
ACTIONS = {
    "income": {"direction": "up", "step": 1, "most": 15, "cost": {"each": "0.5"}},
    "late": {"direction": "down", "low": 1, "cost": {"fixed": 1, "each": 2}},
    "housing": {"to": ["own"], "cost": 6},
}


def test_what_is_told_names_changes_costs_and_others():
    found = Explainer(LOAN).recourse(ROW, ACTIONS, alternatives=3)
    assert (found.changes, found.cost) == ({"late": 2, "income": 40}, 8)
    assert found.alternatives == ({"housing": "own", "late": 2},)
    assert str(found) == (
        "Now: the prediction is refuse (score -3.75).\n"
        "Proven: with these changes the prediction is grant; they cost 8, and no others that do cost less.\n"
        "  income  30 -> 40  cost 5\n"
        "  late    3 -> 2    cost 3\n"
        "Or: for 9:\n"
        "  late     3 -> 2       cost 3\n"
        "  housing  rent -> own  cost 6\n"
        "Others: none changes all the features that one before it changes; there is no other."
    )


def test_relations_are_kept_and_those_that_the_row_breaks_are_named():
    explainer = Explainer(LOAN)
    kept = explainer.recourse(ROW, ACTIONS, relations=[("payments", "<=", "late")])
    assert not kept.is_possible  # nothing is said of payments, so that late payments cannot become fewer
    assert "Kept: payments <= late." in str(kept)
    with pytest.raises(CertificateError, match="a relation between columns"):
        kept.certificate()
    more = {**ACTIONS, "payments": {"direction": "down", "cost": 1}}
    assert explainer.recourse(ROW, more, relations=[("payments", "<=", "late")]).changes["payments"] == 2
    broken = explainer.recourse(ROW, ACTIONS, relations=[("payments", "<", "late")])
    assert broken.cost == 8
    assert "Not asked: payments < late: it does not hold in the row itself." in str(broken)


def test_what_cannot_be_reached_is_proven_and_certified():
    explainer = Explainer(LOAN)
    found = explainer.recourse(ROW, {"housing": {"to": ["own"]}})
    assert str(found).endswith("Proven: with no changes that the actions allow the prediction is grant.")
    told = suffice_check.check(explainer.compiled.content, found.certificate().text.encode())
    assert "the prediction stays 'refuse'" in told
    assert "'housing' one of 'rent' and 'own'" in told
    assert "'income' one of 30" in told
    none = explainer.recourse(ROW, {"income": {"direction": "up", "step": 1, "most": 3}})
    told = suffice_check.check(explainer.compiled.content, none.certificate().text.encode())
    assert "'income' one of 30, 31, 32 and 33" in told  # all that it can become, not those alone that matter


def test_small_steps_along_a_shape_of_steps_cost_no_time():
    actions = {"income": {"direction": "up", "step": "0.0001", "cost": {"each": 1}}}
    found = Explainer(LOAN).recourse(ROW | {"late": 2, "income": "30.00005"}, actions)
    assert found.changes == {"income": Fraction("40.00005")}  # the first step that reaches 40
    assert found.cost == 10


def test_one_set_of_features_is_listed_once():
    shapes = [Table({"x": 0, "y": gain}) for gain in (10, 5, 5, 10)]
    explainer = Explainer(AdditiveModel(shapes, -10, features=list("abce"), classes=["n", "y"]))
    actions = {name: {"to": ["y"], "cost": cost} for name, cost in zip("abce", (1, "1.5", "1.5", 4), strict=True)}
    found = explainer.recourse(["x"] * 4, actions, alternatives=5)
    assert [set(found.changes), *map(set, found.alternatives)] == [{"a"}, {"b", "c"}, {"e"}]
    assert found.plans.is_complete


def test_a_number_beyond_its_limit_does_not_move():
    row = ROW | {"late": 2}
    assert Explainer(LOAN).recourse(row, {"income": {"direction": "up", "step": 1, "high": 45}}).is_possible
    assert not Explainer(LOAN).recourse(row, {"income": {"direction": "up", "step": 1, "high": 20}}).is_possible


def test_when_time_is_up_a_bound_is_told():
    found = Explainer(LOAN).recourse(ROW, ACTIONS, max_seconds=-1)
    assert found.status is Status.BOUNDED
    assert found.lower_bound <= 8 <= found.cost
    assert "may cost less, but not less than" in str(found)


def test_tiny_gains_are_decided_exactly():
    tiny = Fraction(1, 2**60)
    shapes = [Table({"a": 0, "b": 1 - tiny}), Table({"a": 0, "b": tiny, "c": 2 * tiny})]
    explainer = Explainer(AdditiveModel(shapes, -1, features=["x", "y"], classes=["n", "y"]))
    actions = {"x": {"to": ["b"]}, "y": {"to": ["b", "c"], "cost": {"b": 1, "c": 3}}}
    assert explainer.recourse(["a", "a"], actions).changes == {"x": "b", "y": "b"}  # exactly 0, a tie that is enough
    strict = Explainer(AdditiveModel(shapes, -1, features=["x", "y"], classes=["n", "y"], ties="negative"))
    assert strict.recourse(["a", "a"], actions).changes == {"x": "b", "y": "c"}


@pytest.mark.parametrize(
    ("actions", "error", "said"),
    [
        ({"wage": {}}, FeatureNameError, "'wage' is not a feature"),
        ([], ActionError, "actions are a mapping"),
        ({"income": "up"}, ActionError, "the action on 'income' is a mapping with direction"),
        ({"income": {"upwards": 1}}, ActionError, "the action on 'income' is a mapping with direction"),
        ({"income": {}}, ActionError, "'income' needs a step"),
        ({"income": {"step": 0}}, ActionError, "step must be above 0"),
        ({"income": {"step": "x"}}, ActionError, "step: 'x' is not a number"),
        ({"income": {"step": "0.001", "cost": lambda old, new: 1}}, ActionError, "more than 100,000 values"),
        ({"late": {"direction": "left"}}, ActionError, "direction is 'up', 'down' or 'any'"),
        ({"late": {"cost": -1}}, ActionError, "it cannot be negative"),
        ({"late": {"cost": {"percentile": 1}}}, ActionError, "percentiles need a table"),
        ({"late": {"cost": {1: 1}}}, ActionError, "there is no cost for 2, which it can become"),
        ({"late": {"cost": {}}}, ActionError, "cost is a number, a mapping with"),
        ({"housing": {}}, ActionError, "must say in `to` what it can become"),
        ({"housing": {"to": "own"}}, ActionError, "`to` is a list of values"),
        ({"housing": {"to": ["caravan"]}}, ActionError, "outside its domain"),
        ({"late": {"cost": lambda old, new: Fraction(1, 10**13 + new.numerator)}}, ActionError, "no common unit"),
    ],
)
def test_actions_that_mean_nothing_are_refused(actions, error, said):
    with pytest.raises(error) as caught:
        Explainer(LOAN).recourse(ROW, actions)
    assert said in str(caught.value)


def test_aims_and_relations_that_mean_nothing_are_refused():
    explainer = Explainer(LOAN)
    for relations, error in (
        ([("late", "<=")], ActionError),
        ([("late", "~", "payments")], ActionError),
        ([("late", "<=", "wage")], FeatureNameError),
        ([("late", "<", "housing")], ActionError),
    ):
        with pytest.raises(error):
            explainer.recourse(ROW, ACTIONS, relations=relations)
    with pytest.raises(ClaimError, match="must name a class"):
        explainer.recourse(ROW, ACTIONS, "maybe")
    with pytest.raises(OptionError, match="alternatives must be"):
        explainer.recourse(ROW, ACTIONS, alternatives=-1)
    three = Explainer(AdditiveModel([Steps([0], [[0, 0, 0], [0, 1, 2]])], [0, 0, 0], "multiclass", ["x"]))
    with pytest.raises(ClaimError, match="towards one of two classes"):
        three.recourse([1], {"x": {"step": 1, "most": 3}}, 1)
    pair = PairSteps(Bins([1]), Bins([1]), [[0, 1], [1, 0]])
    both = AdditiveModel([Steps([0], [0, 1])] * 2, 0, features=["a", "b"], pairs={("a", "b"): pair})
    with pytest.raises(ActionError, match="terms over two features"):
        Explainer(both).recourse([1, 1], {"a": {"step": 1, "most": 3}})
    smooth = AdditiveModel([Smooth("tanh")], 0, features=[Feature("a", Domain.interval(-1, 1))])
    assert Explainer(smooth).recourse({"a": -1}, {"a": {"step": 1, "most": 3}}).changes == {"a": 1}


def test_what_is_so_already_costs_nothing():
    found = Explainer(LOAN).recourse(ROW, ACTIONS, "refuse")
    assert (found.cost, found.changes) == (0, {})
    assert "the prediction is refuse without any change" in str(found)


def test_there_is_a_command_with_a_file_of_actions(tmp_path):
    LOAN.save(tmp_path / "loan.safetensors")
    (tmp_path / "rows.csv").write_text("income,late,housing,payments\n30,3,rent,3\n90,0,own,1\n5,9,rent,3\n")
    actions = tmp_path / "actions.toml"
    actions.write_text(
        'relations = [["payments", "<=", "late"]]\n[actions.income]\ndirection = "up"\nstep = 1\nmost = 15\n'
        'cost = { each = 0.5 }\n[actions.late]\ndirection = "down"\nlow = 1\ncost = { fixed = 1, each = 2 }\n'
        '[actions.payments]\ndirection = "down"\ncost = 0.25\n'
    )
    files = ["recourse", str(tmp_path / "loan.safetensors"), str(tmp_path / "rows.csv"), str(actions)]

    def run(*more):
        return CliRunner().invoke(app, [*files, *more])

    proof = tmp_path / "there.json"
    told = run("--row", "0", "--certificate", str(proof)).stdout
    assert "they cost 8.25" in told.replace("\n", " ")
    assert "stays 'grant'" in suffice_check.check((tmp_path / "loan.safetensors").read_bytes(), proof.read_bytes())
    document = json.loads(run("--outcome", "grant", "--json").stdout)
    assert [one["row"] for one in document["recourses"]] == [0, 2]
    assert document["recourses"][0]["plans"][0]["cost"]["exact"] == "33/4"
    assert "2 rows not decided grant" in run("--outcome", "grant").stdout.replace("\n", " ")
    assert run("--row", "7").exit_code == 1
    assert run().exit_code == 2
    actions.write_text("[action.income]\nstep = 1\n")
    assert "needs a table [actions.NAME]" in run("--row", "0").stderr.replace("\n", " ")


def test_rows_that_cannot_be_read_are_told_apart():
    table = np.array([[30, 3, "rent", 3], ["?", 0, "own", 0]], dtype=object)
    found = Explainer(LOAN).recourse_batch(table, ACTIONS, "grant")
    assert found.rows.tolist() == [0]
    assert "Left out: 1 row; row 1: " in str(found)


def one_step(at, domain):
    return Explainer(AdditiveModel([Steps([at], [-1, 1])], 0, features=[Feature("a", domain)], classes=["no", "yes"]))


def test_a_step_into_a_gap_of_the_domain_does_not_end_the_way():
    explainer = one_step("1.5", Domain.interval(0, 1) | Domain.interval(3, 4))
    assert explainer.recourse([0], {"a": {"direction": "up", "step": 1}}).changes == {"a": 3}
    mixed = one_step("1.5", Domain.interval(0, 1) | Domain.integers(3, 4))
    assert mixed.recourse(["0.5"], {"a": {"direction": "up", "step": "0.75"}}).is_possible is False
    assert mixed.recourse(["0.5"], {"a": {"direction": "up", "step": "0.25"}}).changes == {"a": 3}


def test_steps_between_integers_pass_over_the_numbers_between():
    explainer = one_step("0.3", Domain.integers(0, 4))
    assert explainer.recourse([0], {"a": {"direction": "up", "step": "0.5"}}).changes == {"a": 1}
    assert explainer.recourse([0], {"a": {"direction": "up", "step": "1.5"}}).changes == {"a": 3}


def test_a_row_beyond_a_limit_is_brought_within_it():
    shapes = [Steps([8], [1, -1])]
    explainer = Explainer(AdditiveModel(shapes, 0, features=[Feature("a", Domain.integers(0, 20))]))
    assert explainer.recourse([10], {"a": {"direction": "down"}}).changes == {"a": 7}
    assert explainer.recourse([10], {"a": {"direction": "down", "high": 5}}).changes == {"a": 5}
    assert not explainer.recourse([10], {"a": {"direction": "up", "high": 5}}).is_possible


def test_the_certificate_of_a_score_that_is_reached_states_the_score():
    explainer = Explainer(AdditiveModel([Steps([1, 3], [-1, 1, 2])], 0, features=[Feature("a", Domain.integers(0, 4))]))
    found = explainer.recourse([0], {"a": {"direction": "up"}}, claim=AtLeast(2))
    told = suffice_check.check(explainer.compiled.content, found.certificate().text.encode())
    assert "the score (the log-odds of 1) stays at least 2" in told


def test_a_relation_is_between_two_features():
    with pytest.raises(ActionError, match="with itself"):
        one_step(1, Domain.integers(0, 4)).recourse([0], {"a": {}}, relations=[("a", "<=", "a")])
