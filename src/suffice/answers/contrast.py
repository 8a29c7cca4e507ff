"""Smallest changes that break a claim: contrasts, and counterfactuals, which are also nearest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from suffice.answers.answer import Answer, Status
from suffice.answers.documents import cost_document, number_document, value_document
from suffice.answers.frames import plain, to_frame
from suffice.answers.words import approximately, break_it, counted, headline
from suffice.certificate.certify import certify_contrast
from suffice.certificate.document import Certificate
from suffice.certificate.radii import certify_counterfactual
from suffice.core.case import Case
from suffice.errors import ClaimError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.model.domain import format_value, in_full
from suffice.numbers.exact import Rational, to_fraction
from suffice.numbers.values import Label, Value, to_user
from suffice.question.documents import Json
from suffice.question.preferences import cost_of


@dataclass(frozen=True, repr=False)
class Contrast(Answer):
    """A smallest set of features whose change alone breaks a claim, and an input that shows it.

    If nothing in the region breaks the claim, there is no such set and `is_possible` is False.

    Parameters
    ----------
    case : Case
        The question and the row.
    changed : tuple of int
        The features that change, by index; `features` has their names.
    point : tuple of values, or None
        An input of the region where the claim is false; None if none is known.
    units : int
        What these changes cost, counted in units of cost.
    bound : int
        No set of changes that costs less breaks the claim.
    caveat : str, optional
        Why less may be enough, where that is not ruled out.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"]))
    >>> what = explainer.contrast({"age": 20, "risk": 0}, radius=5, unit="raw")
    >>> what.features, what.counterexample["age"], what.status
    (('age',), Fraction(15, 1), Status.PROVEN)
    """

    case: Case
    changed: tuple[int, ...]
    point: tuple[Value, ...] | None
    units: int
    bound: int
    caveat: str | None = None

    @property
    def is_possible(self) -> bool:
        """Whether an input of the region is known to break the claim; if not and proven, none does."""
        return self.point is not None

    @property
    def status(self) -> Status:
        """Whether nothing less is proven to be enough."""
        return Status.BOUNDED if self.caveat else Status.PROVEN

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that change, those that can lower the margin most first."""
        names = self.model.names
        return tuple(names[i] for i in self.changed)

    @property
    def size(self) -> int:
        """How many features change."""
        return len(self.changed)

    @property
    def cost(self) -> int | Fraction:
        """What the changes cost; without preferences, how many they are."""
        return cost_of(self.units, self.case.question.choices.unit)

    @property
    def lower_bound(self) -> int | Fraction:
        """Changes that cost less cannot break the claim."""
        return cost_of(self.bound, self.case.question.choices.unit)

    @property
    def counterexample(self) -> dict[str, Fraction | Label]:
        """An input where the claim is false, by feature name; `ClaimError` if there is none."""
        if self.point is None:
            raise ClaimError("no input in the region is known to break the claim")
        return {name: to_user(value) for name, value in zip(self.model.names, self.point, strict=True)}

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that the input breaks the claim and fewer features cannot; see `Explanation.certificate`."""
        if self.point is None and self.caveat:
            raise ClaimError(f"there is no proof to certify: {self.caveat}")
        return certify_contrast(self.case, self.changed, self.point, self.bound, model_file)

    # --- in words -----------------------------------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row for each feature that changes, with its value and the new one."""
        at = self.point or self.row
        return to_frame(
            {
                "feature": list(self.features),
                "value": [plain(self.row[i]) for i in self.changed],
                "new": [plain(at[i]) for i in self.changed],
            }
        )

    def facts(self) -> Facts:
        """Return what would change the prediction."""
        facts = headline(self.case, has_fixed=True)
        if not self.is_possible and self.caveat:
            return (*facts, Fact("Open", f"no input is known to {break_it(self.case)}: {self.caveat}."))
        if not self.is_possible:
            few = self.case.question.max_changed
            limit = "" if few is None else f" of at most {counted(few, 'feature')}"
            return (*facts, Fact("Proven", f"no change{limit} within the region can {break_it(self.case)}."))
        return (*facts, Fact("Proven", f"{self._proven()}."), self._moves())

    def _proven(self) -> str:
        return f"changing {counted(self.size, 'feature')} can {break_it(self.case)}; {self._least()}"

    def _least(self) -> str:
        choices, given = self.case.question.choices, self.case.question.given
        because = f" ({self.caveat})" if self.caveat and self.bound < self.units else ""
        if not self.bound and self.units:
            return f"whether less can is not known{because}"
        if given & {"cost", "groups"}:
            return f"no set of changes that costs less than {self.lower_bound} can{because}"
        counting = ", not counting those that change at no cost" if choices.free else ""
        if self.bound == self.units:
            return f"no fewer can{counting}{because}"
        return f"fewer than {self.lower_bound} cannot{counting}{because}"

    def _moves(self) -> Grid:
        assert self.point is not None
        changes = [f"{format_value(self.row[i])} -> {in_full(self.point[i])}" for i in self.changed]
        names = (self.model.names[i] for i in self.changed)
        rows = [Row((name, change)) for name, change in zip(names, changes, strict=True)]
        return Grid(("feature", "change"), tuple(rows))

    def _document(self) -> Json:
        point = None
        if self.is_possible:
            point = {name: value_document(value) for name, value in self.counterexample.items()}
        return {
            "status": self.status.value,
            "is_possible": self.is_possible,
            "size": self.size,
            "cost": cost_document(self.cost),
            "lower_bound": cost_document(self.lower_bound),
            "caveat": self.caveat,
            "features": list(self.features),
            "point": point,
        }

    def __repr__(self) -> str:
        what = f"{self.size} of {len(self.row)} features" if self.is_possible else "impossible"
        return f"<{type(self).__name__}: {self.prediction!r}, {what}, {self.status.value}>"


@dataclass(frozen=True, repr=False)
class Counterfactual(Contrast):
    """Of all inputs that break the claim with as few changes as possible, one whose largest change is smallest.

    Changes are counted in radii. No change below `least_change` breaks the claim with so few features. Where one of
    exactly that size does not either (`is_attained` is False), the input lies just beyond it.

    Parameters
    ----------
    least : Rational, optional
        The smallest largest change, in radii; None if nothing breaks the claim.
    is_attained : bool
        Whether a change of that size breaks it.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> near = explainer.counterfactual({"age": 20}, radius=5, unit="raw")
    >>> near.features, near.least_change, near.is_attained
    (('age',), Fraction(2, 5), False)
    """

    least: Rational | None = None
    is_attained: bool = False

    @property
    def least_change(self) -> Fraction:
        """The smallest largest change, in radii; `ClaimError` if nothing breaks the claim."""
        if self.least is None:
            raise ClaimError("no input in the region is known to break the claim")
        return to_fraction(self.least)

    @property
    def changes(self) -> dict[str, Fraction]:
        """How far each changed feature goes, in radii; a change of label that has no distance counts as 0."""
        if self.point is None:
            return {}
        found, domains = {}, self.case.question.domains(self.model)
        for i in self.changed:
            radius = self.case.question.radii[i]
            way = domains[i].distance(self.row[i], self.point[i]) if radius else None
            found[self.model.names[i]] = Fraction(0) if way is None or not radius else to_fraction(way / radius)
        return found

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of the contrast, and that no smaller change breaks the claim at its cost."""
        if self.point is None and self.caveat:
            raise ClaimError(f"there is no proof to certify: {self.caveat}")
        least = self.least, self.is_attained
        return certify_counterfactual(self.case, self.changed, self.point, self.bound, *least, model_file)

    def _proven(self) -> str:
        because = f" ({self.caveat})" if self.caveat and self.bound == self.units else ""
        if not self.least_change and self.caveat:
            return f"{super()._proven()}; how small such a change can be is not known{because}"
        if not self.least_change and self.is_attained:  # labels change, which have no distance
            return super()._proven()
        least = f"{approximately(self.least_change)} {'radius' if self.least_change == 1 else 'radii'}"
        how_far = f"be at least {least}" if self.is_attained or self.caveat else f"exceed {least}"
        has_costs = self.case.question.given & {"cost", "groups"}
        which = "at this cost" if has_costs else "with so few changes"
        return f"{super()._proven()}; {which}, the largest change must {how_far}{because}"

    def _document(self) -> Json:
        document = super()._document()
        if self.is_possible:
            document["least_change"] = number_document(self.least_change)
            document["is_attained"] = self.is_attained
            document["changes"] = {name: number_document(change) for name, change in self.changes.items()}
        return document
