"""What is proven, in words: the statement, and the region, row and model that it speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from suffice_check.certificate import Certificate
from suffice_check.model import Model
from suffice_check.words import listed, quoted, show, show_floor, show_value

_UNITS = {"std": "", "raw": " (in its own units)", "model": " (in the model's scaled units)"}


class Sentence:
    """What a certificate says of a model, once it is proven. All text from files is quoted and escaped."""

    def __init__(self, model: Model, certificate: Certificate, claim: str) -> None:
        self.certificate, self.question, self.claim = certificate, certificate.question, claim
        self.cells = {
            f.name: (x, x in f.domain.categories) for f, x in zip(model.features, certificate.row, strict=True)
        }
        self.chosen = [model.features[i].name for i in certificate.features]
        self.fixed = self.question.fix if certificate.kind == "contrast" else self.chosen
        fixed, immutable = {*self.fixed}, {*self.question.immutable}
        self.rest = [name for name in self.cells if name not in fixed]
        self.moving, self.still = ([n for n in self.rest if (n in immutable) == is_so] for is_so in (False, True))
        charge = min(certificate.charges or [Fraction(0)])
        self.spare = f"at least {show_floor(charge)} of score" if charge else ""

    def text(self, *, is_best: bool) -> str:
        """Return it all; `is_best` where what is found reaches its lower bound."""
        certificate, arithmetic = self.certificate, self.question.arithmetic
        held = [f"{self._values(self.fixed)} fixed"] if self.fixed and certificate.kind != "insufficient" else []
        held += [f"{quoted(self.still)} immutable"] if self.still else []
        has_region = self.moving and not (certificate.kind == "radius" and certificate.radius is None)
        parts = {
            "Proven": f"with {' and '.join(held)}, {self._said(is_best)}" if held else self._said(is_best),
            "Region": self._region() if has_region else "",
            "Rest of the row" if self.fixed else "Row": self._values(self.rest),
            "Model": f"the file whose SHA-256 begins with {certificate.model[:16]}",
            "Not checked": "" if arithmetic == "exact" else f"whether this covers the rounding of {arithmetic}",
        }
        return " ".join(f"{name}: {part}." for name, part in parts.items() if part)

    def _said(self, is_best: bool) -> str:
        kind, least, radius = self.certificate.kind, self.certificate.lower_bound, self.certificate.radius
        by, to_spare = (f" by {self.spare}", f", with {self.spare} to spare") if self.spare else ("", "")
        if kind == "insufficient":
            fixed = self._values(self.fixed) or "nothing"
            return f"fixing {fixed} is not enough: the claim that {self.claim} is false{by} at an input of the region"
        if kind == "contrast":
            fewer = "; no fewer features can" if is_best else f"; fewer than {least} features cannot" if least else ""
            return f"changing {quoted(self.chosen)} alone can break the claim that {self.claim}{by}{fewer}"
        if kind == "radius" and radius is None:
            finite = "at every finite radius, but not "
            return f"{self.claim} {'' if self.certificate.is_attained else finite}on the whole domain"
        if kind == "radius" and radius is not None:
            end = show(radius) + (" standard deviations" if self.question.unit == "std" else "")
            until = f"up to and including {end}, but at no larger one"
            until = until if self.certificate.is_attained else f"below {end}, but not at this one"
            return f"{self.claim} at every radius {until}"
        others = f"the {len(self.moving)}" if len(self.moving) == len(self.cells) else f"the other {len(self.moving)}"
        do = f"{others} features do" if len(self.moving) > 1 else f"{quoted(self.moving)} does"
        region = f"whatever {do} within the region" if self.moving else "for nothing else can change"
        return f"{self.claim}{to_spare}, {region}{self._least(is_best) if least else ''}"

    def _least(self, is_best: bool) -> str:
        """Return which sets are not enough."""
        question, least, has_costs = (
            self.question,
            self.certificate.lower_bound,
            self.question.cost or self.question.groups,
        )
        fewer = f"set that costs less than {show(least)}" if has_costs else f"set of fewer than {least} features"
        rules = [f"fixes {quoted(question.fix)}"] if question.fix else []
        rules += [f"leaves {quoted(question.free)} free"] if question.free else []
        rules += [f"takes {quoted(group)} as one ({name!r})" for name, group in question.groups.items()]
        said = "; no " + (fewer if not is_best else "cheaper set" if has_costs else "smaller set")
        said += f"{f' that {listed(rules)}' if rules else ''} is enough"
        said += ", even if the claim may fail by as much" if self.spare else ""
        costs = listed(f"{show(cost)} for {name!r}" for name, cost in question.cost.items())
        return said + (f" (to fix costs {costs}, else 1)" if costs else "")

    def _region(self) -> str:
        """Return how far features may move; if other sets are ruled out, those that are fixed in this one too."""
        question, immutable = self.question, {*self.question.immutable}
        also = self.fixed if self.certificate.kind == "explanation" and self.certificate.lower_bound else []
        reach = {name: question.reach(name) for name in (*self.moving, *also) if name not in immutable}
        first, *more = reach.values()
        said = listed(f"{name!r} {self._within(one)}" for name, one in reach.items())
        said = f"every free feature {self._within(first)}" if more and all(one == first for one in more) else said
        said += "; a category may become any other" if any(reach[n] and self.cells[n][1] for n in reach) else ""
        said += "" if question.max_changed is None else f"; at most {question.max_changed} may change at once"
        return said + ("" if question.norm == "inf" else f"; all changes in the ball of the {question.norm}-norm")

    def _within(self, reach: Fraction | None) -> str:
        if not reach:
            return "anywhere in its domain" if reach is None else "held at its value"
        unit, count = self.question.unit, " standard deviation" if reach == 1 else " standard deviations"
        size = "that radius" if self.certificate.kind == "radius" else show(reach) + (count if unit == "std" else "")
        return f"within {size} of the row{_UNITS[unit]}"

    def _values(self, names: Iterable[str]) -> str:
        return listed(f"{name!r} = {show_value(self.cells[name][0])}" for name in names)
