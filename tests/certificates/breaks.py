"""Single lines of the checker, broken on purpose: does a normal run of the tests tell?

    python tests/certificates/breaks.py [part of a name]    # each line in a copy of the checker

What may notice: the corpus (what holds is accepted, each attack is rejected at its step, what is no certificate is
refused), the forgeries of `test_forge.py`, or the other tests of the checker. Prints a table, and fails if a break is
not noticed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CHECKER = HERE.parents[1] / "src" / "suffice_check"
NOTHING = 3  # the exit code if nothing is found
TESTS = (
    "test_attacks.py",
    "test_checker_core.py",
    "test_checker_pieces.py",
    "test_corpus.py",
    "test_curved_certificates.py",
    "test_pair_attacks.py",
    "test_pair_certificates.py",
    "test_smooth_certificates.py",
)


class Break(NamedTuple):
    """A line of a file of the checker, and what it becomes."""

    file: str
    before: str
    after: str


BREAKS = {
    # limits, edges and ends
    "a limit is taken from the other side": Break("curves.py", "return sign if steep > 0", "return -sign if steep > 0"),
    "what only comes close counts as reached": Break("core.py", "-way if way >= 0", "0 if way >= 0"),
    "what goes beyond only comes close": Break("core.py", "else self.many)", "else -1)"),
    "the turn of a curve is left out": Break("curves.py", "return [*found, (least,", "return found or [(least,"),
    "roots that differ by a fraction are equal": Break("roots.py", "and rest == 0", "and True"),
    # smooth shapes
    "what an exponential is off by is left out": Break("balls.py", "((3 * k + halvings + 8) >> by) + 2", "0"),
    "a sum that goes on is taken for whole": Break("balls.py", "short += term + off + 1", "short += 1"),
    "terms are not rounded": Break("balls.py", "(off * (power + 1) + term >> bits) // k + 3", "0"),
    "a distribution function is flat": Break("balls.py", "(r * steep >> BITS) + 1", "1"),
    "a quantile is what floats say": Break("balls.py", "if not below + r <= less <= above - s:", "if False:"),
    "a quantile has the other sign": Break("balls.py", "return y if p == less else -y, off", "return y, off"),
    "a sine is not turned": Break("balls.py", "turned[quarters % 4]", "turned[quarters % 2]"),
    "an inverse is rounded inwards": Break("balls.py", "-(-(1 << 2 * BITS) // low)", "(1 << 2 * BITS) // low"),
    "products are exact": Break("balls.py", "abs(n) * r + r * s) >> BITS) + 2", "abs(n) * r + r * s) >> BITS)"),
    "a second derivative stays as it is": Break(
        "smooth_functions.py", "change = (third * r >> (BITS + 1)) + 1", "change = 1"
    ),
    "a slope stays as it is": Break("smooth_functions.py", "((2 * most(bend) + change) * r >> BITS) + 1", "1"),
    "a sigmoid is as steep elsewhere as in the middle": Break(
        "smooth_functions.py", "min(ONE >> 3, larger(most(at[1]), r))", "min(ONE >> 6, most(at[1]))"
    ),
    "a wide sigmoid is flat": Break("smooth_functions.py", "of_ends(0, steep), (0, (steep >> 1) + 1)", "NONE, NONE"),
    "a GELU bends less than it does": Break(
        "smooth_functions.py", "third, far, grown = 4 * ONE // 5", "third, far, grown = ONE // 5"
    ),
    "corners are smooth": Break("smooth_functions.py", "found if is_smooth else (found[0], found[1], None)", "found"),
    "one side of a corner is left out": Break("smooth_functions.py", "else joined(found, part)", "else part"),
    "a curve rises on all sides": Break("smooth.py", "slant * h - (low * h * h >> BITS)", "slant * h"),
    "a slope is flat about the middle": Break(
        "smooth.py", "(slant * slant << BITS) // (4 * low) + 1", "(slant * slant << BITS) // (8 * low) + 1"
    ),
    "slopes do not bend in a layer": Break(
        "smooth.py", "slope[1] + (2 * most(top) * h >> BITS) + 1) if", "slope[1] + 1) if"
    ),
    "radii do not add up in a layer": Break(
        "smooth.py", "sum(map(mul, sizes, radii))\n            value", "0\n            value"
    ),
    "a skip is left out of values": Break("smooth.py", "list(map(plus, found, states[self.skips[number]]))", "found"),
    "jumps inside of a function are overlooked": Break(
        "smooth.py", "pieces.cell(t, -1).at(t) == pieces.cell(t, 0).at(t) == pieces.cell(t, 1).at(t)", "True"
    ),
    "entries of tables are no knots": Break("smooth.py", "[*found, *self.entries.entries.listed.knots]", "found"),
    "what falls is lowest on its left": Break("cells.py", "else left if steep > 0 else right", "else left"),
    "knots do not count for themselves": Break("cells.py", "if at in knots or low == high", "if low == high"),
    "the first cell is the lowest": Break("cells.py", "while open_ and (not least or", "if open_ and (not least or"),
    "a row is known exactly": Break(
        "cells.py", "Number(self.high[c] - self._lowest", "Number(self.low[c] - self._lowest"
    ),
    "an unknown class is taken for known": Break("cells.py", "if not is_known:", "if False:"),
    "a limit from the right is a value": Break("core.py", "Number(left.value, 1)", "Number(left.value)"),
    "a limit from the left is a value": Break("core.py", "Number(right.value, -1)", "Number(right.value)"),
    "falling without end is no fall": Break("core.py", "endless.add(c)", "pass"),
    "the last integer of a piece is left out": Break("core.py", "ceil(right.value) - 1", "ceil(right.value) - 2"),
    "knots are left out": Break(
        "core.py",
        "if mark is not None and span.holds(Number(mark.value)):",
        "if mark is not None and mark in (span.low, span.high):",
    ),
    "ends of spans are left out": Break(
        "core.py",
        "if mark is not None and span.holds(Number(mark.value)):",
        "if mark is not None and mark not in (span.low, span.high):",
    ),
    "what lies just beyond a radius is left out": Break("question.py", "at.edge if radius else 0", "0"),
    "ordered numbers are rounded up": Break("ordered.py", "- (one.value.denominator == 1 and one.edge < 0)", ""),
    # inputs
    "an input may lie anywhere": Break("core.py", "if not self.region[i].holds(places[i]):", "if False:"),
    "an input may change what is fixed": Break("core.py", "if i not in allowed:", "if False:"),
    "an input may change one feature more": Break("core.py", "counted > self.few:", "counted > self.few + 1:"),
    "a ball is taken for a box": Break("verdict.py", 'few = most if self.question.norm == "inf" else 1', "few = most"),
    "an input need only touch the margin": Break("core.py", "> one.loose for", ">= one.loose for"),
    # sufficiency
    "ties are overlooked": Break(
        "alone.py", "is not None)]) > constraint.margin:", "is not None)]).value > constraint.margin.value:"
    ),
    "one change at once is enough to look at": Break(
        "alone.py", "reverse=True)[: self.most]", "reverse=True)[: self.most and 1]"
    ),
    "what falls without bound is overlooked": Break(
        "alone.py", "if None in drops or None in always:", "if None in always:"
    ),
    "ranges are taken for fixed": Break(
        "alone.py", "always = [self.drop(c, i) for i in ranged]", "always = [ZERO for i in ranged]"
    ),
    # no cheaper set
    "witnesses may lie anywhere": Break(
        "alone.py", "if not all(self.region[i].holds(at) for row", "if any(None for row"
    ),
    "a leaf may be off by one": Break(
        "tree.py", "bound(node, freed, open_) > most:", "bound(node, freed, open_) > most + 1:"
    ),
    "multipliers may be negative": Break(
        "tree.py",
        "len(multipliers) != len(self.loose) or min(multipliers) < 0:",
        "len(multipliers) != len(self.loose):",
    ),
    "open items count where that lowers the bound": Break("tree.py", "rest if k in freed else max(ZERO, rest)", "rest"),
    "what is free in any case does nothing": Break(
        "tree.py", "parts += [times(-multipliers[c], self.base[c]) for c in used]", "pass"
    ),
    "all move at once in a tree": Break(
        "tree.py", "if self.few is None else sorted(falls, reverse=True)[: self.few]", "if True else falls"
    ),
    "a listed set may be fixed in part": Break(
        "tree.py", "listed[node.item] & (freed | open_ | choices.free)", "listed[node.item] & freed"
    ),
    "dear items are better": Break("tree.py", "costs[a] >= costs[b] and all", "costs[a] <= costs[b] and all"),
    "items with larger falls are better": Break(
        "tree.py", "all(x <= y for x, y in falls)", "all(x >= y for x, y in falls)"
    ),
    "an item need not be freed": Break("tree.py", "elif not breaks(more):", "elif False:"),
    "a subtree may be missing": Break(
        "tree.py", 'if stack:\n        raise RejectedError("tree", "a subtree is missing")', "pass"
    ),
    "an item may be decided twice": Break("tree.py", "if node.item not in rest:", "if False:"),
    # changes
    "changes of the whole budget are overlooked": Break(
        "alone.py", "choices.costs[k] <= budget)", "choices.costs[k] < budget)"
    ),
    "a change counts twice against the budget": Break(
        "tree.py", "Number(-price * choices.costs[k])", "Number(-2 * price * choices.costs[k])"
    ),
    "one change fewer is looked at": Break("tree.py", "reverse=True)[:budget]", "reverse=True)[: max(budget - 1, 0)]"),
    "changes may be counted for nothing": Break("tree.py", "if most is None and each:", "if False:"),
    "what must be fixed may change": Break("verdict.py", "if touched & self.choices.fix:", "if False:"),
    # kinds of results
    "lower bounds may be anything": Break(
        "verdict.py", "if units.denominator != 1 or not 0 <= units <= most:", "if False:"
    ),
    "every bound is called the best": Break("verdict.py", "self.is_best = units == most", "self.is_best = True"),
    "radii are on either side of their end": Break(
        "verdict.py", "if isinstance(radius, Number) and radius.edge == wrong:", "if False:"
    ),
    "a least change may be just beyond": Break("verdict.py", "or least.edge > 0 or least > ONE:", "or least > ONE:"),
    "smallest sets need not be all": Break("verdict.py", "self._most(cost + is_complete)", "self._most(cost)"),
    "one item that is needed makes a set minimal": Break(
        "verdict.py", "if not all(possible.breaks(freed | {k})", "if not any(possible.breaks(freed | {k})"
    ),
    "what is necessary may be relevant": Break(
        "verdict.py", "around.check_sufficient(choices.members(every - {k}), without)", "pass"
    ),
    "what is relevant may be irrelevant": Break(
        "tree.py", "choices.all - choices.free - freed - open_ - {item}", "choices.all - choices.free - freed - open_"
    ),
    "what lowers the score is taken to lower nothing": Break(
        "alone.py", "if drop is None or drop > ZERO:", "if drop is None:"
    ),
    "a stretch is proven at its end": Break(
        "verdict.py", "self._check_least(self._around(step.start)", "self._check_least(self._around(step.end)"
    ),
    "later ranges may move too": Break("verdict.py", "ranged[: place + 1]", "ranged"),
    "ranges may end on the wrong side": Break("ranges.py", "(one.low is not None and one.low.edge < 0) or", ""),
    "the next number is the last of the range": Break("ranges.py", "one.high.edge + 1", "one.high.edge"),
    "options mean nothing": Break("verdict.py", "sorted(self.question.given() - TAKES[self.kind])", "()"),
    # what is asked
    "charges are not kept to spare": Break("verdict.py", "Number(margin - charge, edge)", "Number(margin, edge)"),
    "charges do not loosen": Break("verdict.py", "Number(loose + charge, edge)", "Number(loose, edge)"),
    "a logarithm is its upper bound": Break(
        "verdict.py", "part.constant + largest + part.gap", "part.constant + largest"
    ),
    "a logarithm is its lower bound": Break("claims.py", "sign * offset - high", "sign * offset - low"),
    "enclosures are believed": Break(
        "claims.py", "or not (exp_bounds(low, bits)[1] <= odds <= exp_bounds(high, bits)[0])", ""
    ),
    "units are ignored": Break("question.py", "radius *= unit", "pass"),
    "immutable features move": Break("question.py", "if i in immutable:", "if False:"),
    "costs are counted in ones": Break("question.py", "[int(cost / unit) for cost in costs]", "[1 for cost in costs]"),
    "categories change at radius 0": Break("domain.py", "is_free = radius != ZERO if", "is_free = True if"),
    "ranks are not counted": Break("domain.py", "if self.is_ordered:\n            at", "if False:\n            at"),
    "one rank less is reached": Break("domain.py", "abs(k - at))) <= radius", "abs(k - at) + 1)) <= radius"),
    "a step is reached at once": Break("domain.py", "else Number(self.step) <= radius", "else radius != ZERO"),
    "steps are free": Break("question.py", 'if question.categories == "free":', "if True:"),
    "ranks have no unit": Break(
        "question.py", "(feature.domain.spans or feature.domain.is_ordered)", "feature.domain.spans"
    ),
    "codes may become numbers": Break("domain.py", "return Domain([], [], [x])", "return self"),
    "integers are reals": Break("domain.py", "and not (self.is_integers and (x.edge or x.value.denominator != 1))", ""),
    "every tie is kept": Break(
        "claims.py", 'keeps_tie = (first == 1) == (model.ties == "positive")', "keeps_tie = True"
    ),
    "a tie goes to the higher index": Break("claims.py", "Fraction(0), other < first)", "Fraction(0), other > first)"),
    # shapes
    "a cut belongs to the other bin": Break("shapes.py", 'pair[closed == "left"]', 'pair[closed == "right"]'),
    "labels are not scaled": Break(
        "shapes.py", "tuple(self.factor * entry for entry in self.shape.label(value))", "self.shape.label(value)"
    ),
    "mirrored pieces keep their order": Break(
        "shapes.py", "if knot(ONE) > knot(ZERO) else Pieces(knots[::-1], cells[::-1])", "if True else None"
    ),
    "a table comes after the rest": Break(
        "shapes.py", "lambda entry, rest: entry or rest", "lambda entry, rest: rest or entry"
    ),
    "pieces of a smaller interval are used": Break(
        "shapes.py", "stop is None or (high is not None and high <= stop)", "True"
    ),
    "a unit bends elsewhere": Break("network.py", "Fraction(edge - offset, slope)", "Fraction(edge, slope)"),
    "a unit crosses one threshold only": Break("network.py", "while zone != last:", "if zone != last:"),
    "skips are left out": Break("network.py", "if number in self.skips:", "if False:"),
    "the rest of a series is left out": Break(
        "exponential.py", "return low, high + high_term", "return low, high - high_term"
    ),
    # the file
    "another model's certificate is taken": Break("checker.py", "if certificate.model != self.digest:", "if False:"),
    "fields may be missing or unknown": Break("reading.py", "if name not in names:", "if False:"),
    # words
    "ends of domains are not told": Break(
        "sentence.py", "for one in near if self._is_cut(", "for one in near if not 1 and ("
    ),
    # terms over two features
    "messages are received and not paid for": Break(
        "joint.py", "return Fraction(best, scale)", "return Fraction(min(best, 0), scale)"
    ),
    "splits leave labels out": Break(
        "joint.py", "for groups in (left[step.feature] - step.groups, ", "for groups in ("
    ),
    "what is approached jointly is reached": Break(
        "joint.py",
        "return Number(fall.value, -1) if isinstance(at, Number)",
        "return Number(fall.value) if isinstance(at, Number)",
    ),
    "scenarios of many changes count": Break(
        "scenarios.py", "return self.few is None or len(one.alone) <= self.few", "return True"
    ),
    "products of two choices are left out": Break(
        "scenarios.py", "products[pair] = products.get(pair, Fraction(0)) + multiplier * value", "pass"
    ),
}


def broken(name: str) -> str:
    """Return the text of a file of the checker with one line broken."""
    file, before, after = BREAKS[name]
    text = (CHECKER / file).read_text()
    if text.count(before) != 1:
        raise ValueError(f"{name}: the line is in {file} {text.count(before)} times")
    return text.replace(before, after)


def cases() -> Iterator[tuple[str, str, str, str]]:
    """Yield what is known: what a difference is called, a model file and a certificate in hexadecimal, a verdict.

    The verdict is "accepted", "unreadable", the step at which it is rejected, or "false": not to be accepted.
    """
    from forge import FORGERIES, SEED, forgeries
    from inputs import is_true
    from test_corpus import ATTACKS, INVALID, MALFORMED, MODELS_BY_NAME, VALID, model_of

    from suffice.model.writing import to_bytes

    for name, path in {**VALID, **INVALID, **MALFORMED}.items():
        wanted = "accepted" if name in VALID else ATTACKS[name][1] if name in INVALID else "unreadable"
        of_another = name in MALFORMED or name == "another_models_hash"
        model = MODELS_BY_NAME["positive"] if of_another else model_of(path)
        yield f"corpus: `{name}`", model.read_bytes().hex(), path.read_bytes().hex(), wanted
    for plain, _, document, is_own in forgeries(FORGERIES, SEED):
        try:
            wanted = "accepted" if is_own else "" if is_true(plain, document) else "false"
        except (LookupError, ValueError, TypeError):  # it does not even say something
            continue
        if wanted:
            found = "forgeries: true, refused" if is_own else "forgeries: false, accepted"
            yield found, to_bytes(plain.model).hex(), json.dumps(document).encode().hex(), wanted


def hunt(path: str) -> str:
    """Return what tells the checker that is imported from one that works."""
    from suffice_check.checker import Checker
    from suffice_check.reading import RejectedError, UnreadableError

    checkers: dict[str, Checker] = {}
    for found, model, content, wanted in json.loads(Path(path).read_text()):
        try:
            if model not in checkers:
                checkers[model] = Checker(bytes.fromhex(model))
            checkers[model].check(bytes.fromhex(content))
            verdict = "accepted"
        except (RejectedError, UnreadableError) as error:
            verdict = getattr(error, "step", "unreadable")
        if (verdict == "accepted") if wanted == "false" else (verdict != wanted):
            return found
    return ""


def found_by(name: str, known: Path) -> str:
    """Return what notices a break; nothing if all goes on as before."""
    with tempfile.TemporaryDirectory() as folder:
        copytree(CHECKER, Path(folder, "suffice_check"))
        Path(folder, "suffice_check", BREAKS[name].file).write_text(broken(name))
        places = [folder, str(CHECKER.parent), str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        run = partial(
            subprocess.run,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
            capture_output=True,
            text=True,
            cwd=HERE.parents[1],
        )
        hunted = run([sys.executable, __file__, "--hunt", str(known)])
        if hunted.returncode != NOTHING:
            return hunted.stdout.strip() or f"an error: {hunted.stderr.strip().splitlines()[-1][:60]}"
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "-c"]
        tests = run([*command, "pyproject.toml", *(str(HERE / test) for test in TESTS)])
        failed = [line.split(" ")[1] for line in tests.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return f"`{failed[0].partition('::')[2].partition('[')[0]}`" if failed else ""


def main() -> int:
    """Break one line after the other, print what notices, and fail if nothing does."""
    if sys.argv[1:2] == ["--hunt"]:
        found = hunt(sys.argv[2])
        print(found)
        return 0 if found else NOTHING
    part, missed = " ".join(sys.argv[1:]), 0
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder, "cases.json")
        known.write_text(json.dumps(list(cases())))
        if found := hunt(str(known)):
            print(f"the checker fails as it is: {found}", file=sys.stderr)
            return 1
        print("| break | file | found by |\n| --- | --- | --- |", flush=True)
        for name in BREAKS:
            if part in name:
                found = found_by(name, known)
                missed += not found
                print(f"| {name} | `{BREAKS[name].file}` | {found or '**nothing**'} |", flush=True)
    print(f"{missed} breaks are not found", file=sys.stderr)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
