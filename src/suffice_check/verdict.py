"""Is what a certificate says true of a model? A few words if it is proven, an error that names the step if not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from fractions import Fraction

from suffice_check.certificate import Certificate, read_certificate
from suffice_check.claims import inequalities
from suffice_check.drops import Constraint, Drop, bound_drops, witness_drop
from suffice_check.model import Domain, Model, read_model
from suffice_check.question import choices, indices, radii
from suffice_check.reading import CERTIFICATE_LIMIT, MODEL_LIMIT, RejectedError, Value, read_bytes, unreadable
from suffice_check.sentence import Sentence
from suffice_check.shapes import NoValueError
from suffice_check.tree import Cover

# What each kind of result takes besides a radius, its unit, immutable features and a claim.
_TAKES = {
    "explanation": {"fix", "free", "cost", "groups", "max_changed", "norm", "arithmetic"},
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {"fix", "max_changed", "arithmetic"},
    "radius": set(),
}


def check_files(model: str | os.PathLike[str], certificate: str | os.PathLike[str]) -> str:
    """Return in words what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    try:
        return check(read_bytes(model, MODEL_LIMIT), read_bytes(certificate, CERTIFICATE_LIMIT))
    except MemoryError as error:
        raise unreadable("the files, for there is not enough memory", error) from None


def check(model: bytes, certificate: bytes) -> str:
    """Return in words what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    read = read_certificate(certificate)
    found = hashlib.sha256(model).hexdigest()
    if read.model != found:
        raise RejectedError("model", f"the certificate is for the model {read.model[:16]}..., this is {found[:16]}...")
    try:
        return _Case(read_model(model), read).check()
    except RecursionError as error:
        raise unreadable("the model file", error) from None
    except NoValueError:
        raise RejectedError("model", "a shape has no value somewhere in a region") from None


class _Case:
    """One certificate against one model: row, region and constraints worked out from scratch."""

    def __init__(self, model: Model, certificate: Certificate) -> None:
        self.model, self.certificate, self.question = model, certificate, certificate.question
        self.count = len(model.features)
        for option in sorted(self.question.given() - _TAKES[certificate.kind]):
            raise RejectedError("question", f"{option!r} has no meaning for a result of kind {certificate.kind!r}")
        self._check_row(certificate.row)
        if {*certificate.features} - {*range(self.count)} or len({*certificate.features}) != len(certificate.features):
            raise RejectedError("features", "one does not exist, or is listed twice")
        self.radii, self.choices = radii(self.question, model), choices(self.question, model)
        self.region = self._around(self.radii)
        self.scores = self._scores(certificate.row)
        parts, text = inequalities(self.question.claim, certificate.enclosure, model, self.scores)
        self.constraints = []
        for part, charge in zip(parts, self._charges(len(parts)), strict=True):
            margin = part.constant + part.of(self.scores)
            if margin < 0:
                raise RejectedError("claim", "it is false at the row itself")
            self.constraints.append(Constraint(part, margin - charge, margin + part.gap + charge))
        self.words = Sentence(model, certificate, text)

    def check(self) -> str:
        """Return what is proven."""
        is_best = getattr(self, f"_check_{self.certificate.kind}")(self.certificate.features)
        return self.words.text(is_best=bool(is_best))

    def _check_row(self, row: Sequence[Value]) -> None:
        if len(row) != self.count:
            raise RejectedError("row", f"the model has {self.count} features, the row has {len(row)} values")
        for feature, x in zip(self.model.features, row, strict=True):
            if not feature.domain.holds(x):
                raise RejectedError("row", f"{feature.name!r} is outside its domain")

    def _around(self, radii: Sequence[Fraction | None], *, is_open: bool = False) -> list[Domain]:
        each = zip(self.model.features, self.certificate.row, radii, strict=True)
        return [feature.domain.around(x, radius, is_open=is_open) for feature, x, radius in each]

    def _charges(self, count: int) -> list[Fraction]:
        """Return by how much each inequality must hold at least: 0, if the certificate does not say more."""
        charges = self.certificate.charges
        if charges is None:
            return [Fraction(0)] * count
        if self.question.arithmetic == "exact" or len(charges) != count or min(charges) < 0:
            raise RejectedError("charges", "there is one from 0 up for each inequality, or none in exact arithmetic")
        return charges

    def _scores(self, row: Sequence[Value]) -> list[Fraction]:
        parts = [feature.shape.at(x, 0) for feature, x in zip(self.model.features, row, strict=True)]
        return [sum(column, start) for start, *column in zip(self.model.intercept, *parts, strict=True)]

    def _others(self, features: Sequence[int]) -> list[int]:
        named = {*features}
        return [i for i in range(self.count) if i not in named]

    @property
    def _max_changed(self) -> int | None:
        """How many features may differ from the row at once, where an input is shown."""
        # Changes of one feature lie in the ball of any norm; more at once need not.
        return self.question.max_changed if self.question.norm == "inf" else 1

    # --- the kinds of results -----------------------------------------------------------------------------------------

    def _check_explanation(self, fixed: Sequence[int]) -> bool:
        """Fixed features suffice: what the others can do fits into every margin. No set below the bound does."""
        self._check_sufficient(self._others(fixed), [None] * self.count)
        cost = self.choices.check({*fixed})
        tree, least = self.certificate.tree, self.certificate.lower_bound / self.choices.unit
        if least.denominator != 1 or not 0 <= least <= cost:
            raise RejectedError("lower bound", "it is not what a set can cost, or more than the fixed features cost")
        if least:
            Cover(self.constraints, self._witness_drops(), self.choices, self._max_changed).check(tree, int(least))
        elif self.certificate.witnesses or tree:
            raise RejectedError("lower bound", "there is evidence for one, and none is claimed")
        return least == cost

    def _check_insufficient(self, fixed: Sequence[int]) -> None:
        """An input that has these features fixed and breaks the claim."""
        self._check_input(self._others(fixed))

    def _check_contrast(self, changed: Sequence[int]) -> bool:
        """An input that changes these features alone and breaks the claim; fewer cannot: their drops are too small."""
        free = self._others(indices(self.question.fix, self.model, "choices"))
        if not {*changed} <= {*free}:
            raise RejectedError("features", "one that must be fixed is changed")
        self._check_input(changed)
        least = int(self.certificate.lower_bound)
        if least > len(changed):
            raise RejectedError("lower bound", f"{least} is more than the {len(changed)} features that break the claim")
        if least <= 1 and self.certificate.points:
            raise RejectedError("points", "there are some, but nothing claimed needs them")
        none: list[list[Drop]] = [[] for _ in self.constraints]
        drops = self._bound_drops(free, [None] * self.count) if least > 1 else none
        for constraint, falls in zip(self.constraints, drops, strict=True):
            if least and not constraint.holds(self._largest(falls, least - 1)):
                raise RejectedError("lower bound", f"{least - 1} features may be able to break the claim")
        return least == len(changed)

    def _check_radius(self, fixed: Sequence[int]) -> None:
        """Fixed features suffice at every smaller radius, and at this one if attained; at no larger one."""
        certificate, free = self.certificate, self._others(fixed)
        radius, is_open = certificate.radius, not certificate.is_attained
        if self.question.radius != 1 or (radius is not None and radius < 0):
            raise RejectedError("radius", "a largest one is from 0 up, and that of the question is 1")
        units = [unit or Fraction(0) for unit in self.radii]
        immutable = {*indices(self.question.immutable, self.model, "immutable")}
        whole = [Fraction(0) if i in immutable else None for i in range(self.count)]
        ends = whole if radius is None else [radius * unit for unit in units]
        # At all finite radii together, what has a unit of 0 stays where it is.
        reaches = [end if unit else Fraction(0) for end, unit in zip(ends, units, strict=True)] if is_open else ends
        self.region = self._around(reaches, is_open=is_open)
        self._check_sufficient(free, reaches if is_open else [None] * self.count)
        if is_open:  # at this radius some input breaks the claim
            self.region = self._around(ends)
            self._check_input(free)
        elif radius is not None:  # beyond, categories are in reach if it can grow, numbers as close as one likes
            each = zip(self.model.features, certificate.row, units, ends, strict=True)
            self.region = self._around([Fraction(u > 0) if x in f.domain.categories else end for f, x, u, end in each])
            self._check_beyond(free, units)
        if (not is_open and certificate.input) or ((is_open or radius is None) and certificate.beyond):
            raise RejectedError("beyond", "there is evidence for more than is claimed")

    # --- the kinds of evidence ----------------------------------------------------------------------------------------

    def _check_sufficient(self, free: Sequence[int], reaches: Sequence[Fraction | None]) -> None:
        """Check that what free features can do together, strictly within their reaches if any, fits every margin."""
        for constraint, falls in zip(self.constraints, self._bound_drops(free, reaches), strict=True):
            if not constraint.holds(self._largest(falls, len(free))):
                raise RejectedError("sufficiency", "the free features can break the claim together")

    def _bound_drops(self, free: Sequence[int], reaches: Sequence[Fraction | None]) -> list[list[Drop]]:
        """Return, for each constraint, the proven drops of free features, strictly within their reaches if any."""
        certificate, parts = self.certificate, [constraint.inequality for constraint in self.constraints]
        if len(certificate.points) != self.count or any(certificate.points[i] for i in self._others(free)):
            raise RejectedError("points", "there must be a list for each feature, empty for one that is fixed")
        found = []
        for i in free:
            x, reach = certificate.row[i], reaches[i]
            ends = [x - reach, x + reach] if isinstance(x, Fraction) and reach else []
            feature, region, points = self.model.features[i], self.region[i], certificate.points[i]
            found.append(bound_drops(feature, x, region, points, parts, ends))
        return [[drops[c] for drops in found] for c in range(len(parts))]

    def _witness_drops(self) -> list[list[Drop]]:
        """Return, for each constraint and feature, a drop that a witness shows."""
        certificate = self.certificate
        if [len(part) for part in certificate.witnesses] != [self.count] * len(self.constraints):
            raise RejectedError("witnesses", "there must be one, or null, for each inequality and feature")
        return [
            [
                witness_drop(feature, x, region, one, constraint.inequality)
                for feature, x, region, one in zip(self.model.features, certificate.row, self.region, part, strict=True)
            ]
            for constraint, part in zip(self.constraints, certificate.witnesses, strict=True)
        ]

    def _check_input(self, changed: Sequence[int]) -> None:
        """Check that an input lies in the region, changes only what it may, and breaks the claim."""
        row, there, may_change = self.certificate.row, self.certificate.input, {*changed}
        if len(there) != self.count:
            raise RejectedError("input", f"it has {len(there)} values, the model has {self.count} features")
        for i, feature in enumerate(self.model.features):
            if there[i] != row[i] and i not in may_change:
                raise RejectedError("input", f"it changes {feature.name!r}, which is fixed")
            if not self.region[i].holds(there[i]):
                raise RejectedError("input", f"{feature.name!r} is outside its region")
        changes = sum(a != b for a, b in zip(row, there, strict=True))
        if self._max_changed is not None and changes > self._max_changed:
            raise RejectedError("input", f"it changes {changes} features, more than are allowed to change at once")
        scores = self._scores(there)
        for constraint in self.constraints:
            fall = constraint.inequality.of(self.scores) - constraint.inequality.of(scores)
            if constraint.breaks([Drop(False, fall, 0)]):
                return
        raise RejectedError("input", "the claim holds there, or does not fail by enough")

    def _check_beyond(self, free: Sequence[int], units: Sequence[Fraction]) -> None:
        """Check that every larger radius breaks the claim, by what is in reach just beyond this one."""
        beyond, may_move = self.certificate.beyond, {*free}
        if len(beyond) != self.count:
            raise RejectedError("beyond", "there must be a witness, or null, for each feature")
        if any(one is not None and (i not in may_move or (one.side and not units[i])) for i, one in enumerate(beyond)):
            raise RejectedError("beyond", "one is of a feature that cannot move")
        each = list(zip(self.model.features, self.certificate.row, self.region, beyond, strict=True))
        for constraint in self.constraints:
            if constraint.breaks(witness_drop(*one, constraint.inequality, is_beyond=True) for one in each):
                return
        raise RejectedError("beyond", "a larger radius is not shown to break the claim")

    def _largest(self, drops: Sequence[Drop], most: int) -> list[Drop]:
        """Return the largest drops, of no more features than may change at once."""
        limit = most if self.question.max_changed is None else min(most, self.question.max_changed)
        return sorted(drops, reverse=True)[:limit]
