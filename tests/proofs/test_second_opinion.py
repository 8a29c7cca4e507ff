"""The check of covering trees that Coq proves right and translates to OCaml, against all subsets of small problems."""

import itertools
import math
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None or shutil.which("ocamlfind") is None,
    reason="Coq or OCaml is missing: apt-get install coq ocaml",
)
ZERO = (Fraction(0), Fraction(0))


class Problem(NamedTuple):
    """Drops of items in each inequality, and what they must not exceed: pairs (a, b) for a + b·ε."""

    limits: list
    drops: list  # a list for each inequality
    costs: list
    base: list
    undecided: list


def plus(numbers):
    numbers = list(numbers)
    return sum((a for a, _ in numbers), Fraction(0)), sum((b for _, b in numbers), Fraction(0))


def times(factor, number):
    return factor * number[0], factor * number[1]


def breaks(problem, freed):
    each = zip(problem.drops, problem.limits, strict=True)
    return any(plus(row[k] for k in freed) > limit for row, limit in each)


def dearest(problem):
    """Return the most that can be freed, by trying all sets; None if not even what must be free fits."""
    sets = (
        {*problem.base, *more}
        for size in range(len(problem.undecided) + 1)
        for more in itertools.combinations(problem.undecided, size)
    )
    return max((sum(problem.costs[k] for k in freed) for freed in sets if not breaks(problem, freed)), default=None)


def some_problem(rng):
    count, rows = rng.randint(1, 6), rng.randint(1, 3)
    some = lambda: (Fraction(rng.randint(0, 8), rng.choice([1, 1, 2, 3])), Fraction(rng.choice([0, 0, -1, count])))  # noqa: E731
    roles = [rng.choice(["base", "fix", "open", "open", "open", "open"]) for _ in range(count)]
    return Problem(
        [(Fraction(rng.randint(0, 14)), Fraction(rng.choice([0, -1]))) for _ in range(rows)],
        [[max(ZERO, some()) for _ in range(count)] for _ in range(rows)],
        [rng.randint(1, 4) for _ in range(count)],
        [k for k in range(count) if roles[k] == "base"],
        [k for k in range(count) if roles[k] == "open"],
    )


def is_better(problem, a, b):
    mine, yours = ([row[k] for row in problem.drops] for k in (a, b))
    if (mine, problem.costs[a]) == (yours, problem.costs[b]):
        return a < b
    return problem.costs[a] >= problem.costs[b] and all(x <= y for x, y in zip(mine, yours, strict=True))


def some_tree(problem, most, freed, open_, multipliers):
    """Return the words of a tree that proves a bound, if these multipliers are enough at its leaves."""
    for chosen in multipliers:
        rests = [
            plus(
                [
                    (Fraction(cost), Fraction(0)),
                    *(times(-m, row[k]) for m, row in zip(chosen, problem.drops, strict=True)),
                ]
            )
            for k, cost in enumerate(problem.costs)
        ]
        parts = [times(m, limit) for m, limit in zip(chosen, problem.limits, strict=True)]
        value, edge = plus([*parts, *(rests[k] for k in freed), *(max(ZERO, rests[k]) for k in open_)])
        if math.floor(value) - (value.denominator == 1 and edge < 0) <= most:
            return ["bound", *map(fraction, chosen)]
    if not open_:
        return None
    item = min(open_)
    more = {item} | {k for k in open_ if is_better(problem, k, item)}
    kept = some_tree(
        problem, most, freed, {k for k in open_ if k != item and not is_better(problem, item, k)}, multipliers
    )
    if kept is None or breaks(problem, freed | more):
        return kept and ["fix", str(item), *kept]
    free = some_tree(problem, most, freed | more, open_ - more, multipliers)
    return free and ["branch", str(item), *kept, *free]


def forged_tree(rng, problem, depth):
    kind = rng.choice(["bound", "branch", "fix"]) if depth else "bound"
    if kind == "bound":
        return [kind, *(fraction(Fraction(rng.randint(-1, 6), rng.choice([1, 2, 5]))) for _ in problem.limits)]
    below = [forged_tree(rng, problem, depth - 1) for _ in range(2 if kind == "branch" else 1)]
    return [kind, str(rng.randrange(len(problem.costs))), *itertools.chain(*below)]


def fraction(number):
    return f"{Fraction(number).numerator:b}/{Fraction(number).denominator:b}"


def written(problem, most, tree):
    rows = [[limit, *row] for limit, row in zip(problem.limits, problem.drops, strict=True)]
    words = [len(problem.costs), len(rows), *(fraction(part) for row in rows for one in row for part in one)]
    words += [*(f"{cost:b}" for cost in problem.costs), f"{most:b}"]
    words += [len(problem.base), *problem.base, len(problem.undecided), *problem.undecided, *tree]
    return " ".join(map(str, words))


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The program: whether it accepts each of some problems."""
    program = tmp_path_factory.mktemp("program") / "tree_check"
    command = [sys.executable, str(ROOT / "scripts" / "check_proofs.py"), "--extract", str(program)]
    subprocess.run(command, check=True)

    def verdicts(problems):
        done = subprocess.run([str(program)], input="\n".join(problems), capture_output=True, text=True, check=True)
        return [line == "accepted" for line in done.stdout.splitlines()]

    return verdicts


@needs_coq
def test_coq_program_accepts_trees_of_true_bounds_and_no_tree_of_a_false_one(judge):
    rng = random.Random(0)
    asked, expected, kinds = [], [], set()
    while len(asked) < 1500:
        problem = some_problem(rng)
        true = dearest(problem)
        choices = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(100)]
        multipliers = list(itertools.product(choices, repeat=len(problem.limits)))
        most = (-1 if true is None else true) + rng.choice([0, 0, 0, 1])
        tree = some_tree(problem, most, {*problem.base}, {*problem.undecided}, multipliers)
        if tree is None:  # no multipliers tried are enough, or there is nothing left to decide
            continue
        kinds |= {*tree} & {"branch", "fix", "bound"}
        asked.append(written(problem, most, tree))
        expected.append(True)
        for bound in range(-2, true if true is not None else -2):  # whatever the tree, these are false
            asked.append(written(problem, bound, tree))
            expected.append(False)
    assert judge(asked) == expected
    assert kinds == {"branch", "fix", "bound"}
    assert 100 < sum(expected) < len(expected) - 100


@needs_coq
def test_coq_program_believes_nothing_that_is_false_of_forged_trees(judge):
    rng = random.Random(1)
    asked, truths = [], []
    for _ in range(2000):
        problem = some_problem(rng)
        true = dearest(problem)
        most = (-1 if true is None else true) + rng.randint(-2, 3)
        asked.append(written(problem, most, forged_tree(rng, problem, rng.randint(0, 2))))
        truths.append(true is None or true <= most)
    verdicts = judge(asked)
    assert len(verdicts) == len(truths)
    assert not [k for k, (said, truth) in enumerate(zip(verdicts, truths, strict=True)) if said and not truth]
    assert sum(verdicts) > 100
