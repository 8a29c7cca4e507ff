"""Files of assertions: unit tests of a model, in TOML.

In: a file with tables `[[check]]` and `[[monotone]]`. Out: assertions, each of which an explainer answers, and a report
of all answers. Numbers are read as they are written: 0.1 is one tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from suffice.answers.words import counted
from suffice.decisions.face import Decisions
from suffice.decisions.toml_files import read_toml
from suffice.errors import AssertionFileError, BudgetError, ClaimError, SufficeError, UnsettledError
from suffice.layout.facts import Fact, Facts
from suffice.layout.told import Told
from suffice.numbers.exact import ONE, brief, rational
from suffice.question.claims import AtLeast, AtMost, ProbabilityAtLeast
from suffice.question.documents import Json, read_class

if TYPE_CHECKING:
    from suffice.decisions.check import Verdict
    from suffice.decisions.monotone import Monotonicity

_CHECK = ("name", "where", "decides", "probability", "score")
_MONOTONE = ("name", "feature", "direction", "outcome")


Finding: TypeAlias = "Verdict | Monotonicity"


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion of a file: its name, and how an explainer is asked about it."""

    name: str
    ask: Callable[[Decisions, Any], Finding]


@dataclass(frozen=True, slots=True)
class Tested:
    """What became of an assertion: a finding, or why there is none."""

    name: str
    finding: Finding | None
    reason: str = ""

    @property
    def verdict(self) -> str:
        """PROVEN, REFUTED or UNKNOWN."""
        return "UNKNOWN" if self.finding is None else "PROVEN" if self.finding else "REFUTED"


@dataclass(frozen=True)
class TestReport(Told):
    """What became of all assertions of a file; `bool()` tells whether every one is proven.

    Parameters
    ----------
    tested : tuple of Tested
        One for each assertion, in the order of the file, those of `[[check]]` first.
    """

    __test__ = False  # not a test of pytest's

    tested: tuple[Tested, ...]

    def __bool__(self) -> bool:
        return all(one.verdict == "PROVEN" for one in self.tested)

    def count(self, verdict: str) -> int:
        """Return how many assertions have a verdict."""
        return sum(one.verdict == verdict for one in self.tested)

    def facts(self) -> Facts:
        """Return a line for each assertion, with what its finding says, and a count."""
        found: list[Any] = []
        for one in self.tested:
            found.append(Fact(one.verdict, one.name))
            found += one.finding.facts() if one.finding is not None else [Fact("Reason", one.reason)]
        return (*found, Fact("Summary", self.summary))

    @property
    def summary(self) -> str:
        """How many assertions hold."""
        each = [f"{self.count(verdict)} {verdict.lower()}" for verdict in ("PROVEN", "REFUTED", "UNKNOWN")]
        return f"{counted(len(self.tested), 'assertion')}: {', '.join(each)}"

    def document(self) -> Json:
        """Return the report as JSON."""
        return {
            "passed": bool(self),
            "assertions": [
                {"name": one.name, "verdict": one.verdict.lower()}
                | ({"reason": one.reason} if one.finding is None else one.finding.document())
                for one in self.tested
            ],
        }


def read_assertions(path: str | Path) -> tuple[Assertion, ...]:
    """Return the assertions of a file.

    Raises
    ------
    AssertionFileError
        If the file cannot be read, is not TOML, or has a field that is not known or missing.
    """
    return assertions_of(read_toml(path, "a file of assertions", AssertionFileError, parse_float=str), str(path))


def assertions_of(document: Mapping[str, Any], path: str) -> tuple[Assertion, ...]:
    """Return the assertions that a parsed file makes; `path` is named in errors."""
    for name in document:
        if name not in ("check", "monotone"):
            raise AssertionFileError(
                f"{path}: {brief(name)} is not a kind of assertion; write [[check]] or [[monotone]]"
            )
    found = []
    for kind, fields, make in (("check", _CHECK, _check), ("monotone", _MONOTONE, _monotone)):
        listed = document.get(kind, [])
        if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
            raise AssertionFileError(f"{path}: write [[{kind}]], in double brackets, for each assertion")
        for number, one in enumerate(listed, 1):
            where = f"{path}: {kind} {number}"
            for name in one:
                if name not in fields:
                    raise AssertionFileError(f"{where}: has no field {name!r}; choose from {', '.join(fields)}")
            try:
                found.append(Assertion(str(one.get("name", f"{kind} {number}")), make(where, one)))
            except ClaimError as error:
                raise AssertionFileError(f"{where}: {error}") from None
    if not found:
        raise AssertionFileError(f"{path}: asserts nothing; write [[check]] or [[monotone]]")
    return tuple(found)


def run_assertions(explainer: Decisions, assertions: Sequence[Assertion], table: Any = None) -> TestReport:
    """Return what becomes of assertions; one that cannot be settled is reported, and the others go on."""
    portfolio = None if table is None else explainer.portfolio(table)
    found = []
    for one in assertions:
        try:
            found.append(Tested(one.name, one.ask(explainer, portfolio)))
        except (BudgetError, UnsettledError) as error:
            found.append(Tested(one.name, None, str(error)))
        except SufficeError as error:
            raise AssertionFileError(f"{one.name}: {error}") from None
    return TestReport(tuple(found))


def _check(where: str, given: Mapping[str, Any]) -> Callable[[Decisions, Any], Finding]:
    asked = [name for name in ("decides", "probability", "score") if name in given]
    if len(asked) != 1:
        raise AssertionFileError(f"{where}: needs one of decides, probability and score, and has {len(asked)}")
    box, (kind,) = given.get("where", {}), asked
    if kind == "decides":
        return lambda explainer, table: explainer.check(box, given[kind], table=table)
    limit, value = _limit(where, kind, given[kind])
    if kind == "score":
        claim = (AtLeast if limit == "at_least" else AtMost)(value)
        return lambda explainer, table: explainer.check(box, claim=claim, table=table)
    outcome = given[kind].get("of")
    if limit == "at_least":
        return lambda explainer, table: explainer.check(box, outcome, claim=ProbabilityAtLeast(value), table=table)
    return lambda explainer, table: explainer.check(
        box, _other(explainer, outcome), claim=ProbabilityAtLeast(ONE - rational(value)), table=table
    )


def _limit(where: str, kind: str, given: Any) -> tuple[str, Any]:
    """Return which limit is given, and its number."""
    allowed = {"at_least", "at_most"} | ({"of"} if kind == "probability" else set())
    limits = sorted({"at_least", "at_most"} & set(given)) if isinstance(given, Mapping) else []
    if not isinstance(given, Mapping) or len(limits) != 1 or not set(given) <= allowed:
        example = '{ of = "grant", at_least = 0.8 }' if kind == "probability" else "{ at_least = 1.5 }"
        raise AssertionFileError(
            f"{where}: {kind} is written as {example}, with at_least or at_most; got {brief(given)}"
        )
    return limits[0], given[limits[0]]


def _other(explainer: Decisions, outcome: Any) -> Any:
    """Return the other of two classes: that one is improbable says that the other one is probable."""
    classes = explainer.compiled.model.classes
    found = read_class(explainer.compiled.model, outcome)
    return classes[1 - classes.index(found)] if found in classes and len(classes) == 2 else outcome


def _monotone(where: str, given: Mapping[str, Any]) -> Callable[[Decisions, Any], Finding]:
    for name in ("feature", "direction"):
        if not isinstance(given.get(name), str):
            raise AssertionFileError(f"{where}: needs the field {name!r}, a text")
    if given["direction"] not in ("up", "down"):
        raise AssertionFileError(f'{where}: direction is "up" or "down", got {brief(given["direction"])}')
    return lambda explainer, table: explainer.monotone(
        given["feature"], given["direction"], given.get("outcome"), table=table
    )
