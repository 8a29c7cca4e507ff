"""How far features may move: largest radii, and how the size of explanations grows with the radius."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from suffice.answers.answer import Answer, Status
from suffice.answers.documents import cost_document, number_document
from suffice.answers.frames import draw, to_frame
from suffice.answers.words import allowed, approximately, can_fail, headline, held_back_by_categories, stays, unit_words
from suffice.certificate.document import Certificate
from suffice.certificate.radii import certify_curve, certify_radius
from suffice.core.case import Case
from suffice.core.extent import Extent
from suffice.errors import CertificateError, RadiusError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.numbers.exact import Number, to_fraction
from suffice.question.documents import Json
from suffice.question.region import read_radius
from suffice.solvers.radii import Stretch


class Limit(NamedTuple):
    """The end of a stretch of radii: something holds at every smaller one, and at this one if `is_attained`.

    Infinity stands for every radius; `is_attained` then says whether it holds on the whole domain, special codes
    included.

    Parameters
    ----------
    radius : Fraction, or infinity
    is_attained : bool
        Whether it holds at this radius itself.

    Examples
    --------
    >>> print(Limit(Fraction(3, 2), is_attained=False))
    below 1.5
    """

    radius: Fraction | float
    is_attained: bool

    @classmethod
    def of(cls, extent: Extent) -> Limit:
        """Return an end as users see it."""
        return cls(math.inf if extent.radius is None else to_fraction(extent.radius), extent.is_attained)

    def __str__(self) -> str:
        if self.radius == math.inf:
            return "any radius" + (", and the whole domain" if self.is_attained else "")
        return f"{'up to' if self.is_attained else 'below'} {approximately(Fraction(self.radius))}"

    def document(self) -> Json:
        """Return the end as JSON has it."""
        return {"radius": number_document(self.radius), "is_attained": self.is_attained}


@dataclass(frozen=True, repr=False)
class LargestRadius(Answer):
    """The largest radius, the same for all features in the question's unit, for which some features suffice.

    Parameters
    ----------
    case : Case
        The question and the row.
    fixed : tuple of int
        The features that are fixed, by index.
    extent : Extent
        Up to which radius they suffice.
    caveat : str, optional
        Why they may suffice further, where that is not ruled out.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> largest = explainer.radius({"age": 20}, [], unit="raw")
    >>> largest.radius, largest.is_attained, str(largest.limit)
    (Fraction(2, 1), True, 'up to 2')
    >>> largest
    <LargestRadius: 1, up to 2, proven>
    """

    case: Case
    fixed: tuple[int, ...]
    extent: Extent
    caveat: str | None = None

    def __repr__(self) -> str:
        return f"<LargestRadius: {self.prediction!r}, {self.limit}, {self.status.value}>"

    @property
    def limit(self) -> Limit:
        """Up to which radius the features suffice."""
        return Limit.of(self.extent)

    @property
    def radius(self) -> Fraction | float:
        """The largest radius; infinity if they suffice at every one."""
        return self.limit.radius

    @property
    def is_attained(self) -> bool:
        """Whether they suffice at this radius itself."""
        return self.extent.is_attained

    @property
    def status(self) -> Status:
        """Whether they are proven not to suffice any further."""
        return Status.BOUNDED if self.caveat else Status.PROVEN

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that are fixed."""
        names = self.model.names
        return tuple(names[i] for i in self.fixed)

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof: these features suffice up to there, and no further. See `Explanation.certificate`."""
        return certify_radius(self.case, self.extent, self.fixed, model_file)

    def facts(self) -> Facts:
        """Return the largest radius in words."""
        with_fixed = f"with {', '.join(self.features)} fixed" if self.fixed else "with nothing fixed"
        hint = held_back_by_categories(self.case, self.fixed) if not self.limit.radius else None
        note = [Fact("Note", hint)] if hint else []
        return (*headline(self.case, has_distance=False), Fact("Proven", f"{with_fixed}, {self._said()}."), *note)

    def _said(self) -> str:
        limit, unit = self.limit, unit_words(self.case.question)
        if limit.radius == math.inf:
            more = "anywhere in the domain" if limit.is_attained else "at every radius, but not on the whole domain"
            return f"{stays(self.case)} {more}"
        if self.caveat:
            return f"{stays(self.case)} at every radius {limit} (in {unit}); {self.caveat}"
        if not limit.radius:
            return f"no radius is safe: {can_fail(self.case)} at any radius above 0"
        return f"{stays(self.case)} at every radius {limit} (in {unit}), but not beyond"

    def _document(self) -> Json:
        return {**self.limit.document(), "features": list(self.features), "status": self.status.value}


class Step(NamedTuple):
    """A stretch of radii that ends at `limit` and begins where the one before ends; no smaller set suffices there.

    Parameters
    ----------
    limit : Limit
    cost : int or Fraction
        How many features are fixed, or what they cost.
    features : tuple of str
        A set of that cost which suffices on all of the stretch.
    lower_bound : int or Fraction
        No set that suffices there costs less; below `cost` only where a tie leaves that open.

    Examples
    --------
    >>> Step(Limit(Fraction(1), is_attained=True), 1, ("age",), 1).features
    ('age',)
    """

    limit: Limit
    cost: int | Fraction  # how many features, if nothing else is said
    features: tuple[str, ...]  # suffices at the end of the stretch, so on all of it
    lower_bound: int | Fraction


@dataclass(frozen=True, repr=False)
class Curve(Answer):
    """Size of the smallest explanation against the radius, with the exact radii where it grows.

    Parameters
    ----------
    case : Case
        The question and the row.
    steps : tuple of Step
        Stretches of radii with one size each, in order.
    stretches : tuple of Stretch
        The same as the search found them, with their proofs.
    caveat : str, optional
        How much further a stretch may reach, where its true end is not a rational number; what a tie leaves open.
    is_complete : bool
        Whether the curve goes as far as was asked; not where the budget ended before.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> [(str(step.limit), step.cost) for step in explainer.curve({"age": 20}, until=5, unit="raw").steps]
    [('up to 2', 0), ('up to 5', 1)]
    """

    case: Case
    steps: tuple[Step, ...]
    stretches: tuple[Stretch, ...]
    caveat: str | None = None
    is_complete: bool = True

    @property
    def status(self) -> Status:
        """Whether the ends of all stretches are exact, and the curve goes as far as was asked."""
        return Status.PROVEN if self.is_complete and not self.caveat else Status.BOUNDED

    @property
    def _ended(self) -> str | None:
        """What is to be said where the budget ended."""
        end = self.steps[-1].limit
        beyond = "on the whole domain" if end.radius == math.inf else f"beyond the radius {end.radius}"
        return (
            None
            if self.is_complete
            else f"the budget ended: what is best {beyond} is not known; raise max_nodes or max_seconds"
        )

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof: each set suffices to the end of its stretch, and no cheaper one from its start on.

        Raises
        ------
        CertificateError
            If a tie leaves open whether a cheaper one does.
        """
        if any(step.lower_bound < step.cost for step in self.steps):
            raise CertificateError(
                f"that no smaller sets are enough has no certificate, for {self.caveat}; "
                "explanations at single radii have one"
            )
        return certify_curve(self.case, self.stretches, model_file)

    def at(self, radius: Number) -> Step:
        """Return the step that a radius is in.

        Parameters
        ----------
        radius : number
            In the unit of the question.

        Returns
        -------
        Step

        Raises
        ------
        RadiusError
            If it is not a radius, or the curve ends before it.
        """
        exact = read_radius("the radius", radius)
        place = math.inf if exact is None else to_fraction(exact)
        for step in self.steps:
            end = step.limit
            if place < end.radius or (place == end.radius and end.is_attained):
                return step
        more = "a larger `until`" if self.is_complete else "a larger budget, for its own ended"
        raise RadiusError(f"the curve ends at radius {self.steps[-1].limit.radius}; compute it with {more}")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row for each stretch of radii, with the set that is enough up to its end."""
        return to_frame(
            {
                "radius": [float(step.limit.radius) for step in self.steps],
                "size": [len(step.features) for step in self.steps],
                "features": [list(step.features) for step in self.steps],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the size of the smallest explanation against the radius (`suffice.present.plots.curve`)."""
        return draw("curve", self, ax, unit=unit_words(self.case.question))

    def facts(self) -> Facts:
        """Return a line for each stretch of radii."""
        has_costs = bool(self.case.question.given & {"cost", "groups"})
        rows = []
        for before, step in zip((None, *self.steps), self.steps, strict=False):
            noun = "feature" if step.cost == 1 else "features"
            number = str(step.cost) if step.lower_bound == step.cost else f"{step.lower_bound} to {step.cost}"
            size = f"cost {number}" if has_costs else f"{number} {noun}"
            end = f"radius {step.limit}"
            if step.limit.radius == math.inf:
                end = str(step.limit) if before is None else str(step.limit).replace("any", "any larger", 1)
            if before is not None and before.limit.radius == math.inf:
                end = "the whole domain"  # every radius has been told of
            rows.append(Row((f"{end}:", size, ", ".join(step.features))))
        question = self.case.question
        best = "cheapest" if has_costs else "smallest"
        among = f" among those{allowed(question)}" if allowed(question) else ""
        proven = f"{best} sets that are enough{among}, by radius (in {unit_words(question)})."
        note = [Fact("Note", f"of a stretch, {self.caveat}.")] if self.caveat else []
        note += [Fact("Note", f"{self._ended}.")] if self._ended else []
        hint = held_back_by_categories(self.case) if not self.steps[0].limit.radius else None
        note += [Fact("Note", hint)] if hint else []
        table = Grid(("", "", ""), tuple(rows))
        return (*headline(self.case, has_distance=False), Fact("Proven", proven), table, *note)

    def _document(self) -> Json:
        steps = [
            {
                **step.limit.document(),
                "cost": cost_document(step.cost),
                "lower_bound": cost_document(step.lower_bound),
                "features": list(step.features),
            }
            for step in self.steps
        ]
        return {"steps": steps, "status": self.status.value, "caveat": self.caveat or self._ended}
