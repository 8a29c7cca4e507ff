"""What is proven, in words: the statement, and the rows, regions, rules and model that it speaks of.

All text from files is quoted and escaped. Numbers are exact where they are short, else enclosed; one that says how
much is shown is rounded to the weaker side.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import floor
from typing import Any

from suffice_check.certificate import Radius, Range, Step
from suffice_check.domain import Domain, Span
from suffice_check.model import Feature
from suffice_check.ordered import Number
from suffice_check.question import Reach, regions
from suffice_check.ranges import in_range
from suffice_check.reading import Value
from suffice_check.verdict import ONE, Proven
from suffice_check.words import listed, quoted, show, show_domain, show_floor, show_interval, show_value

_UNITS = {"std": "", "raw": " (in its own units)", "model": " (in the model's scaled units)"}


class Sentence:
    """What a certificate says of a model, once it is proven; lists in full if `is_full`."""

    def __init__(self, proven: Proven, *, is_full: bool = False) -> None:
        self.proven, self.question, self.claim = proven, proven.question, proven.claim
        self.kind, self.result, self.most = proven.kind, proven.result, 10**6 if is_full else 6
        self.names = [feature.name for feature in proven.model.features]
        self.cells = dict(zip(self.names, proven.row, strict=True))
        ranged = [one.feature for one in self.result.get("ranges", [])]
        self.fixed = [self.names[i] for i in self.result.get("fixed", ranged)]
        if self.kind in ("contrast", "counterfactual"):
            held = proven.choices.fix  # whole groups, though the question may name a member only
            self.fixed = [self.names[i] for k in sorted(held) for i in proven.choices.items[k]]
        fixed, immutable = {*self.fixed}, {*self.question.immutable}
        self.rest = [name for name in self.names if name not in fixed]
        self.moving, self.still = ([n for n in self.rest if (n in immutable) == is_so] for is_so in (False, True))
        charge = min(proven.certificate.charges or [Fraction(0)])
        self.spare = f"at least {show_floor(charge)} of score" if charge else ""
        self.is_open = self.kind in ("radius", "curve")  # radii are looked for, not given

    def text(self) -> str:
        """Return it all in one line."""
        return " ".join(f"{name}: {part}." for name, part in self.parts().items())

    def parts(self) -> dict[str, str]:
        """Return what is proven, and of what, by labels."""
        arithmetic = self.question.arithmetic
        is_told = self.fixed and self.kind != "inflation"  # so that the rest of the row is all there is to add
        held = [f"{self._values(self.fixed)} fixed"] if is_told and self.kind != "insufficient" else []
        held += [f"{self._quoted(self.still)} immutable"] if self.still else []
        said = getattr(self, f"_{self.kind}")(**self.result)
        parts = {
            "Proven": f"with {' and '.join(held)}, {said}" if held else said,
            "Region": self._region(),
            "Rest of the row" if is_told else "Row": self._values(self.rest if is_told else self.names),
            "Model": f"the file whose SHA-256 begins with {self.proven.certificate.model[:16]}",
            "Not checked": "" if arithmetic == "exact" else f"whether this covers the rounding of {arithmetic}",
        }
        return {name: part for name, part in parts.items() if part}

    def lines(self) -> list[str]:
        """Return all of the statement, with every feature on a line of its own."""
        proven, immutable, fixed = self.proven, {*self.question.immutable}, {*self.fixed}
        parts = {**self.parts(), "Model": f"the file with the SHA-256 {proven.certificate.model}"}
        found = [f"{name}: {part}." for name, part in parts.items() if not name.lower().endswith("row")]
        at: Radius = "inf" if self.is_open else ONE
        region = regions(proven.model, proven.row, proven.radii, at, proven.still)
        features, ranges = proven.model.features, self.result.get("ranges", [])
        inside = {features[one.feature].name: in_range(features[one.feature].domain, one) for one in ranges}
        free = "within that radius in" if self.is_open else "free in"
        for (name, x), domain in zip(self.cells.items(), region, strict=True):
            where = f"{'fixed, if ' if name in fixed else ''}{free} {show_domain(domain)}"
            if name in inside or name in immutable:
                where = f"in {show_domain(inside[name])}" if name in inside else "immutable"
            elif name in fixed and not self._rules_sets_out:
                where = "fixed"
            found.append(f"  {name!r} = {show_value(x, is_exact=True)}: {where}")
        return found

    @property
    def _rules_sets_out(self) -> bool:
        """Whether something is said of other sets, in which what is fixed here may be free."""
        return self.kind == "explanation" and self.result["lower_bound"] > 0

    # --- the kinds of results -----------------------------------------------------------------------------------------

    @property
    def _by(self) -> str:
        return f" by {self.spare}" if self.spare else ""

    @property
    def _kept(self) -> str:
        return f"{self.claim}, with {self.spare} to spare" if self.spare else self.claim

    def _explanation(self, lower_bound: Fraction, **_: Any) -> str:
        least = f"; no {self._less(lower_bound)} is enough" if lower_bound else ""
        least += ", even if the claim may fail by as much" if least and self.spare else ""
        return f"{self._kept}, {self._whatever()}{least}{self._costs() if least else ''}"

    def _insufficient(self, **_: Any) -> str:
        fixed = self._values(self.fixed) or "nothing"
        return f"fixing {fixed} is not enough: the claim that {self.claim} is false{self._by} at an input of the region"

    def _contrast(self, changed: list[int], lower_bound: Fraction, **_: Any) -> str:
        said = f"changing {self._named(changed)} alone can break the claim that {self.claim}{self._by}"
        if not lower_bound:
            return said
        question, has_costs = self.question, self.question.cost or self.question.groups
        best, less = (
            ("no cheaper change", "costs less than") if has_costs else ("no fewer features", "is of fewer than")
        )
        rules = [f"{self._quoted(group)} counted as one ({name!r})" for name, group in question.groups.items()]
        rules += [f"{self._quoted(question.free)} not counted"] if question.free else []
        other = f"no change that {less} {show(lower_bound)}{'' if has_costs else ' features'}"
        return f"{said}; {best if self.proven.is_best else other} can{self._bracketed(rules)}{self._costs('change')}"

    def _counterfactual(self, least: Number, **contrast: Any) -> str:
        must = f"{'exceed' if least.edge == 0 else 'be at least'} {show(least.value)} of its radius"
        return f"{self._contrast(**contrast)}; at this cost, the largest change must {must}"

    def _radius(self, holds_at: Radius, fails_at: Radius | None, **_: Any) -> str:
        said = f"{self._kept}{',' if self.spare else ''} {self._until(holds_at)}"
        if fails_at is None:
            return said
        if self.proven.is_best and isinstance(holds_at, Number):
            return said + (", but not at this one" if holds_at.edge else ", but at no larger one")
        fails = f"is false{self._by} at some input" if self.spare else "not"
        return f"{said}, but {fails} {self._from(fails_at)}"

    def _explanations(self, minimal: str, sets: list[list[int]], is_complete: bool, **_: Any) -> str:
        named = listed((f"[{self._named(one)}]" for one in sets), self.most)
        less = self._less(None) if minimal == "size" else "set with a feature less"
        as_good = "as cheap" if self.question.cost or self.question.groups else "as small"
        others = f"no other set is {as_good if minimal == 'size' else 'minimal'}"
        what = f"fixing {'any of ' if len(sets) > 1 else ''}{named}"
        enough = f"{what} is enough: {self.claim}, whatever the other features do within the region"
        return f"{enough}; no {less} is{f'; {others}' if is_complete else ''}{self._rules()}{self._costs()}"

    def _relevance(self, **roles: list[int]) -> str:
        means = {
            "necessary": "in every sufficient set",
            "relevant": "in some minimal sufficient set, but not in every one",
            "irrelevant": "in no minimal sufficient set",
        }
        told = [f"{means[role]}: {self._named(some)}" for role, some in roles.items() if some]
        return f"for the claim that {self.claim}, {'; '.join(told) or 'no feature has a role'}{self._rules()}"

    def _curve(self, steps: list[Step], **_: Any) -> str:
        told = []
        for step in steps:
            enough = f"fixing {self._named(step.fixed) or 'nothing'} is enough {self._until(step.end)}"
            told.append(enough + (f", and no {self._less(None)} {self._from(step.start)}" if step.fixed else ""))
        return f"for the claim that {self.claim}, {'; '.join(told)}{self._rules()}{self._costs()}"

    def _inflation(self, ranges: list[Range], is_widest: bool, **_: Any) -> str:
        told = [f"{self.names[one.feature]!r} is {self._in(one)}" for one in ranges]
        whatever = f"as long as {listed(told, self.most)}, and " if told else ""
        widest = "; each range is as wide as those before it allow" if is_widest and told else ""
        is_rounded = any(show_interval(*one[1:3]) != show_interval(*one[1:3], is_exact=False) for one in ranges)
        widest += ", but for the rounding of its ends inwards here" if widest and is_rounded else ""
        return f"{self.claim}, {whatever}{self._whatever()}{widest}"

    # --- parts of them ------------------------------------------------------------------------------------------------

    def _in(self, one: Range) -> str:
        if one.values is not None:
            return f"one of {listed(map(show_value, one.values), self.most)}"
        domain = self.proven.model.features[one.feature].domain
        between, others = Span(one.low, one.high, is_integers=False), (*domain.categories, *domain.codes)
        apart = [show_value(x, is_exact=True) for x in others if isinstance(x, Number) and between.holds(x)]
        without = f" without {listed(apart, self.most)}" if apart else ""
        inside = "" if domain.covers(one.low, one.high) else " (of its domain)"
        return f"in {show_interval(one.low, one.high, is_exact=False)}{inside}{without}"

    def _whatever(self) -> str:
        if not self.moving:
            return "for nothing else can change"
        others = f"the {len(self.moving)}" if len(self.moving) == len(self.cells) else f"the other {len(self.moving)}"
        do = f"{others} features do" if len(self.moving) > 1 else f"{self._quoted(self.moving)} does"
        return f"whatever {do} within the region"

    def _less(self, bound: Fraction | None) -> str:
        """Return which sets are not enough: all below a bound, or below what is named."""
        has_costs = self.question.cost or self.question.groups
        if bound is None:
            return "cheaper set" if has_costs else "smaller set"
        if self.proven.is_best:
            return ("cheaper set" if has_costs else "smaller set") + self._that()
        less = f"set that costs less than {show(bound)}" if has_costs else f"set of fewer than {bound} features"
        return less + self._that()

    def _that(self) -> str:
        question = self.question
        rules = [f"fixes {self._quoted(question.fix)}"] if question.fix else []
        rules += [f"leaves {self._quoted(question.free)} free"] if question.free else []
        rules += [f"takes {self._quoted(group)} as one ({name!r})" for name, group in question.groups.items()]
        return f" that {listed(rules, self.most)}" if rules else ""

    def _rules(self) -> str:
        return f" (an allowed set is one{self._that()})" if self._that() else ""

    def _costs(self, do: str = "fix") -> str:
        costs = listed((f"{show(cost)} for {name!r}" for name, cost in self.question.cost.items()), self.most)
        return f" (to {do} costs {costs}, else 1)" if costs else ""

    def _bracketed(self, rules: list[str]) -> str:
        return f" ({listed(rules, self.most)})" if rules else ""

    def _until(self, end: Radius) -> str:
        if not isinstance(end, Number):
            return "at every finite radius" if end == "finite" else "on the whole domain"
        return f"at every radius {'below' if end.edge < 0 else 'up to and including'} {self._amount(end.value)}"

    def _from(self, start: Radius) -> str:
        if not isinstance(start, Number):
            return "on the whole domain"
        return f"{'above' if start.edge > 0 else 'from'} {self._amount(start.value)}{'' if start.edge else ' on'}"

    def _amount(self, radius: Fraction) -> str:
        return show(radius) + (_deviations(radius) if self.question.unit == "std" and self.is_open else "")

    def _region(self) -> str:
        """Return how far features may move; if other sets are ruled out, those that are fixed in this one too."""
        question, immutable = self.question, {*self.question.immutable}
        also = self.fixed if self._rules_sets_out else []
        free = [name for name in (*self.moving, *also) if name not in immutable]
        if not free:
            return ""
        said = [] if self.result.get("holds_at") == "inf" else self._reaches(free)
        said += [] if question.max_changed is None else [f"at most {question.max_changed} may change at once"]
        said += [] if question.norm == "inf" else [f"all changes in the ball of the {question.norm}-norm"]
        return "; ".join(said)

    def _reaches(self, free: list[str]) -> list[str]:
        radii = dict(zip(self.names, self.proven.radii, strict=True))
        reach = {name: Fraction(0) if radii[name] == 0 else self.question.reach(name) for name in free}
        first, *more = reach.values()
        said = [listed((f"{name!r} {self._within(one)}" for name, one in reach.items()), self.most)]
        if more and all(one == first for one in more):
            said = [f"every free feature {self._within(first)}"]
        near = [
            one for one in self.proven.model.features if (radius := reach.get(one.name)) and type(radius) is not list
        ]
        if cut := [one.name for one in near if self._is_cut(one.domain, self.cells[one.name], radii[one.name])]:
            said.append(f"{self._quoted(cut)} only inside {'their domains' if cut[1:] else 'its domain'}")
        said += self._categories([one for one in near if self.cells[one.name] in one.domain.categories], radii)
        labels = [x for _, domain, *_ in near if domain.spans for x in (*domain.categories, *domain.codes)]
        if any(isinstance(x, Number) for x in labels):
            said.append("numbers that are codes or categories count as labels")
        return said

    def _categories(self, near: list[Feature], radii: dict[str, Reach]) -> list[str]:
        """Return what the categories of features that may move can become; those without an order are all alike."""
        ranks = [one for one in near if one.domain.is_ordered]
        others = [one for one in near if not one.domain.is_ordered]
        which = "a category without an order" if ranks else "a category"
        if self.is_open:
            least = "of 1 or more" if self.question.categories == "step" else "above 0"
            said = [f"{which} may become any other at a radius {least}"] if others else []
            names = self._quoted(one.name for one in ranks)
            return said + ([f"the categories of {names} move by rank, in the order of the model"] if ranks else [])
        reached = [self._reached(one, radii) for one in others]
        said = []
        if others and any(reached):
            whose = self._quoted(one.name for one, is_far in zip(others, reached, strict=True) if is_far)
            said.append(f"{which}{'' if all(reached) else f' of {whose}'} may become any other")
        if not all(reached):
            whose = self._quoted(one.name for one, is_far in zip(others, reached, strict=True) if not is_far)
            said.append(f"{which}{f' of {whose}' if any(reached) else ''} stays as it is, a radius of 1 from any other")
        moves = (f"{one.name!r} by at most {self._ranks(radii[one.name])}" for one in ranks)
        return said + ([f"categories move by rank: {listed(moves, self.most)}"] if ranks else [])

    @staticmethod
    def _reached(feature: Feature, radii: dict[str, Reach]) -> bool:
        """Whether a category without an order may become another within the radius."""
        radius, step = radii[feature.name], feature.domain.step
        return step is None or not isinstance(radius, Fraction) or radius >= step

    @staticmethod
    def _ranks(radius: Reach) -> str:
        count = floor(radius) if isinstance(radius, Fraction) else 0
        return "1 rank" if count == 1 else f"{count} ranks"

    def _is_cut(self, domain: Domain, x: Value, radius: Reach) -> bool:
        """Whether some number within a radius of the row is not in the domain."""
        if not isinstance(x, Number) or x in (*domain.categories, *domain.codes):
            return False
        if self.is_open or not isinstance(radius, Fraction):
            return not domain.covers(None, None)
        return not domain.covers(Number(x.value - radius), Number(x.value + radius))

    def _within(self, reach: Reach) -> str:
        if isinstance(reach, list):
            return f"one of {listed(map(show_value, reach), self.most)}"
        if not reach:
            return "anywhere in its domain" if reach is None else "held at its value"
        unit = self.question.unit
        size = "that radius" if self.is_open else show(reach) + (_deviations(reach) if unit == "std" else "")
        return f"within {size} of the row{_UNITS[unit]}"

    def _values(self, names: Iterable[str]) -> str:
        return listed((f"{name!r} = {show_value(self.cells[name])}" for name in names), self.most)

    def _named(self, features: Iterable[int]) -> str:
        return self._quoted(self.names[i] for i in features)

    def _quoted(self, names: Iterable[str]) -> str:
        return quoted(names, self.most)


def _deviations(count: Fraction) -> str:
    return " standard deviation" if count == 1 else " standard deviations"
