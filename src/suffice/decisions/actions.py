"""What somebody can do about each feature, and what it costs.

In: actions as users write them, by feature name. Out: for a value of a feature the values that it can become, each with
its cost; and relations between columns that must go on to hold. A feature that is not named cannot change.
"""

from __future__ import annotations

import operator
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from flint import fmpq

from suffice.decisions.rows import Portfolio
from suffice.errors import ActionError, FeatureNameError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, format_value
from suffice.numbers.exact import ZERO, Rational, brief, rational
from suffice.numbers.values import Value, to_user

_MOST_OPTIONS = 100_000  # of one feature
_MOST_BYTES = 1 << 24
_DIRECTIONS = {"up": (False, True), "down": (True, False), "any": (True, True)}
_FIELDS = ("direction", "step", "most", "low", "high", "to", "cost")
_COSTS = ("fixed", "each", "percentile")
_RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}


def is_number(domain: Domain, value: Value) -> bool:
    """Whether a value is a number with a size, no code and no label."""
    return isinstance(value, fmpq) and any(span.holds(value) for span in domain.spans)


class Option(NamedTuple):
    """A value that a feature can become, and what that costs."""

    value: Value
    cost: Rational


class Relation(NamedTuple):
    """Two features whose numbers are in a relation."""

    left: int
    sign: str
    right: int

    def holds(self, left: Any, right: Any) -> Any:
        """Whether two numbers, or those of two arrays, are in the relation."""
        return _RELATIONS[self.sign](left, right)


@dataclass(frozen=True)
class Action:
    """What can be done about one feature.

    Parameters
    ----------
    name : str
    domain : Domain
    direction : {"up", "down", "any"}, or None
        Which way numbers can move; None if only `to` says what it can become.
    step : Rational
        Numbers move by multiples of it.
    most : Rational, optional
        How far they can move.
    low, high : Rational, optional
        Between which limits they stay.
    to : tuple of values, or mapping from values to such
        What else it can become, from any value or from each.
    fixed, each, percentile : Rational
        What a change costs: once, for each unit of distance, for each percentile of the table that it passes.
    column : tuple of Rational
        The numbers of the table, in order, if percentiles cost something.
    own : callable or mapping, optional
        The cost in place of these: of a change from one value to another, or of each value that it can become.
    """

    name: str
    domain: Domain
    direction: str | None
    step: Rational
    most: Rational | None
    low: Rational | None
    high: Rational | None
    to: tuple[Value, ...] | Mapping[Value, tuple[Value, ...]]
    fixed: Rational
    each: Rational
    percentile: Rational
    column: tuple[Rational, ...] = ()
    own: Callable[[Any, Any], Any] | Mapping[Value, Rational] | None = None

    def options(self, value: Value, jumps: Sequence[Rational] | None = None) -> list[Option]:
        """Return what a value can become.

        If jumps are given, numbers between two neighbours of them are worth the same, and only the nearest is listed:
        no other one costs less, unless costs are of the user's own making.
        """
        goals: Collection[Rational] = ()
        if is_number(self.domain, value) and self.direction is not None:
            assert isinstance(value, fmpq)
            goals = self._numbers(value, None if self.own is not None else jumps)
        listed = self.to.get(value, ()) if isinstance(self.to, Mapping) else self.to
        known = dict.fromkeys([*goals, *listed])
        return [Option(goal, self._cost(value, goal)) for goal in known if goal != value]

    def _numbers(self, value: Rational, jumps: Sequence[Rational] | None) -> Collection[Rational]:
        found: list[Rational] = []
        spans, step = self.domain.spans, self.step
        if all(span.is_integers for span in spans):
            step = fmpq(step.p)  # of p/q, reduced, only every q-th step leads from one integer to another
        elif any(span.is_integers for span in spans):
            jumps = None  # the first step between two jumps may lead to no integer where a later one does
        for sign, is_open in zip((-1, 1), _DIRECTIONS[self.direction or "any"], strict=True):
            if not is_open:
                continue
            count = int((abs(self._end(value, sign) - value) / step).floor())
            places: Collection[int] = range(1, count + 1)
            if jumps is not None:
                # The first step that reaches a jump, and the first beyond it; so too where the allowed numbers begin.
                ends = [end for span in spans for end in span[:2]] + [self.low, self.high]
                marks = {*jumps, *(end for end in ends if end is not None)}
                steps = [sign * (mark - value) / step for mark in marks if sign * (mark - value) >= 0]
                places = sorted({k for at in steps for k in (int(at.ceil()), int(at.floor()) + 1) if 1 <= k <= count})
            if len(places) > _MOST_OPTIONS:
                raise ActionError(
                    f"the action on {self.name!r} allows more than {_MOST_OPTIONS:,} values; make its step larger, or "
                    "limit it with most, low or high"
                )
            each = (value + sign * k * step for k in places)
            found += [at for at in each if self._is_within(at) and is_number(self.domain, at)]
        return found

    def _is_within(self, number: Rational) -> bool:
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def _end(self, value: Rational, sign: int) -> Rational:
        """Return how far a number can go on one side: the nearest of all limits."""
        lows = [span.low for span in self.domain.spans]
        highs = [span.high for span in self.domain.spans]
        limits = [self.low, None if None in lows else min(low for low in lows if low is not None)]
        if sign > 0:
            limits = [self.high, None if None in highs else max(high for high in highs if high is not None)]
        ends = [end for end in (*limits, None if self.most is None else value + sign * self.most) if end is not None]
        if not ends:
            raise ActionError(f"the action on {self.name!r} has no end; limit it with most, low or high")
        nearest = max(ends) if sign < 0 else min(ends)
        return max(nearest, value) if sign > 0 else min(nearest, value)  # one that is beyond its limit already stays

    def _cost(self, value: Value, goal: Value) -> Rational:
        if self.own is not None:
            given = self.own[goal] if isinstance(self.own, Mapping) else self.own(to_user(value), to_user(goal))
            return _amount(f"the cost of {self.name!r} from {format_value(value)} to {format_value(goal)}", given)
        cost = self.fixed
        if is_number(self.domain, value) and is_number(self.domain, goal):
            assert isinstance(value, fmpq) and isinstance(goal, fmpq)  # noqa: PT018
            cost += self.each * abs(goal - value)
            cost += self.percentile * self._shift(value, goal) if self.percentile else ZERO
        return cost

    def _shift(self, value: Rational, goal: Rational) -> Rational:
        """Return how many percentiles lie between two numbers, rounded up to a hundredth."""
        at = [fmpq(bisect_left(self.column, x) + bisect_right(self.column, x), 2) for x in (value, goal)]
        return fmpq((abs(at[1] - at[0]) * 10_000 / len(self.column)).ceil(), 100)


def read_actions(model: AdditiveModel, given: Any, portfolio: Portfolio | None) -> dict[int, Action]:
    """Return the action on each feature that can change.

    Parameters
    ----------
    given : mapping of feature names to actions
        An action is a mapping; see `Explainer.recourse`.
    portfolio : Portfolio, optional
        The rows whose percentiles cost something.

    Raises
    ------
    ActionError, FeatureNameError
        If something is not known, or means nothing.
    """
    if not isinstance(given, Mapping):
        raise ActionError(f"actions are a mapping of feature names to what can be done, got {brief(given)}")
    found = {}
    for name, action in given.items():
        if name not in model.names:
            raise FeatureNameError(name, model.names)
        i = model.index(name)
        found[i] = _action(name, model.domains[i], action, None if portfolio is None else (portfolio, i))
    return dict(sorted(found.items()))


def _action(name: str, domain: Domain, given: Any, column: tuple[Portfolio, int] | None) -> Action:
    where = f"the action on {name!r}"
    if not isinstance(given, Mapping) or not set(given) <= set(_FIELDS):
        raise ActionError(f"{where} is a mapping with {', '.join(_FIELDS)}, as far as needed; got {brief(given)}")
    goals = _goals(where, domain, given.get("to", ()))
    is_moving = bool(domain.spans) and ("to" not in given or bool({"direction", "step", "most"} & set(given)))
    if not is_moving and not goals:
        raise ActionError(f"{where} must say in `to` what it can become")
    direction = given.get("direction", "any")
    if direction not in _DIRECTIONS:
        raise ActionError(f"{where}: direction is 'up', 'down' or 'any', got {brief(direction)}")
    is_whole = bool(domain.spans) and all(span.is_integers for span in domain.spans)
    if is_moving and "step" not in given and not is_whole:
        raise ActionError(f"{where} needs a step, such as 1: numbers between any two others have no end of choices")
    step = _amount(f"{where}: step", given.get("step", 1))
    if not step:
        raise ActionError(f"{where}: step must be above 0")
    limits = {key: None if key not in given else _number(f"{where}: {key}", given[key]) for key in ("low", "high")}
    most = None if "most" not in given else _amount(f"{where}: most", given["most"])
    costs, own = _costs(where, domain, given.get("cost", 1))
    numbers: tuple[Rational, ...] = ()
    if costs["percentile"]:
        if column is None:
            raise ActionError(f"{where}: percentiles need a table of rows")
        numbers = column[0].numbers(column[1])
        if not numbers:
            raise ActionError(f"{where}: the table has no numbers of it, so that there are no percentiles")
    moves = direction if is_moving else None
    return Action(
        name, domain, moves, step, most, limits["low"], limits["high"], goals, **costs, column=numbers, own=own
    )


def _goals(where: str, domain: Domain, given: Any) -> tuple[Value, ...] | dict[Value, tuple[Value, ...]]:
    if isinstance(given, Mapping):
        return {_value(where, domain, start): _listed(where, domain, goals) for start, goals in given.items()}
    return _listed(where, domain, given)


def _listed(where: str, domain: Domain, given: Any) -> tuple[Value, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, set, frozenset)):
        raise ActionError(f"{where}: `to` is a list of values, or a mapping from values to lists; got {brief(given)}")
    every = sorted(given, key=repr) if isinstance(given, (set, frozenset)) else given
    return tuple(_value(where, domain, one) for one in every)


def _value(where: str, domain: Domain, given: Any) -> Value:
    try:
        value = domain.parse(given)
    except NumberError as error:
        raise ActionError(f"{where}: {error}") from None
    if not domain.holds(value):
        raise ActionError(f"{where} names {format_value(value)}, outside its domain: {domain}")
    return value


def _costs(where: str, domain: Domain, given: Any) -> tuple[dict[str, Rational], Any]:
    nothing = dict.fromkeys(_COSTS, ZERO)
    if callable(given):
        return nothing, given
    if not isinstance(given, Mapping):
        return nothing | {"fixed": _amount(f"{where}: cost", given)}, None
    if given and set(given) <= set(_COSTS):
        return nothing | {key: _amount(f"{where}: cost, {key}", one) for key, one in given.items()}, None
    if not given:
        raise ActionError(
            f"{where}: cost is a number, a mapping with {', '.join(_COSTS)}, or one from values to numbers"
        )
    return nothing, _Listed(
        {_value(where, domain, value): _amount(f"{where}: cost", one) for value, one in given.items()}, where
    )


class _Listed(dict[Value, Rational]):
    """Costs of values; one that is not listed is an error in words."""

    def __init__(self, costs: Mapping[Value, Rational], where: str) -> None:
        super().__init__(costs)
        self.where = where

    def __missing__(self, value: Value) -> Rational:
        raise ActionError(f"{self.where}: there is no cost for {format_value(value)}, which it can become")


def _number(what: str, given: Any) -> Rational:
    try:
        return rational(given)
    except NumberError as error:
        raise ActionError(f"{what}: {error}") from None


def _amount(what: str, given: Any) -> Rational:
    amount = _number(what, given)
    if amount < 0:
        raise ActionError(f"{what} is {brief(given)}; it cannot be negative")
    return amount


def read_relations(model: AdditiveModel, given: Any) -> tuple[Relation, ...]:
    """Return relations between columns, each written as (name, sign, name)."""
    found = []
    for one in given:
        if isinstance(one, str) or not isinstance(one, Sequence) or len(one) != 3 or one[1] not in _RELATIONS:
            signs = ", ".join(_RELATIONS)
            raise ActionError(f"a relation is (name, sign, name) with a sign of {signs}; got {brief(one)}")
        left, sign, right = one
        for name in (left, right):
            if name not in model.names:
                raise FeatureNameError(name, model.names)
            if not model.domains[model.index(name)].spans:
                raise ActionError(f"{name!r} has no numbers, so that it is in no relation")
        if left == right:
            raise ActionError(f"the relation {brief(one)} is of a feature with itself; name two")
        found.append(Relation(model.index(left), sign, model.index(right)))
    return tuple(found)


def load_actions(path: str | Path) -> tuple[Any, Any]:
    """Return the actions and relations of a file in TOML, to be read: tables `[actions.NAME]`, a list `relations`.

    Raises
    ------
    ActionError
        If the file cannot be read, or has other fields.
    """
    try:
        content = Path(path).read_bytes()
        if len(content) > _MOST_BYTES:
            raise ActionError(f"{path}: has more than {_MOST_BYTES:,} bytes")
        document = tomllib.loads(content.decode(), parse_float=str)
    except FileNotFoundError:
        raise ActionError(f"{path}: there is no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ActionError(f"{path}: is not a file of actions in TOML ({brief(str(error))})") from None
    if not set(document) <= {"actions", "relations"} or not document.get("actions"):
        raise ActionError(
            f"{path}: needs a table [actions.NAME] for each feature that can change, and perhaps relations"
        )
    return document["actions"], document.get("relations", [])
