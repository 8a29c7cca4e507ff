"""Is what a certificate says true of a model? One sentence if it is proven, an error that names the step if not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from fractions import Fraction

from suffice_check.certificate import Certificate, read_certificate
from suffice_check.claims import inequalities, show
from suffice_check.drops import Constraint, Drop, bound_drops, grows, total, witness_drop
from suffice_check.model import Domain, Model, read_model
from suffice_check.reading import CERTIFICATE_LIMIT, MODEL_LIMIT, RejectedError, Value, read_bytes, unreadable
from suffice_check.shapes import NoValueError
from suffice_check.tree import Choices, Cover


def check_files(model: str | os.PathLike[str], certificate: str | os.PathLike[str]) -> str:
    """Return one sentence that says what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    try:
        return check(read_bytes(model, MODEL_LIMIT), read_bytes(certificate, CERTIFICATE_LIMIT))
    except MemoryError as error:
        raise unreadable("the files, for there is not enough memory", error) from None


def check(model: bytes, certificate: bytes) -> str:
    """Return one sentence that says what a certificate proves; `RejectedError` or `UnreadableError` otherwise."""
    read = read_certificate(certificate)
    found = hashlib.sha256(model).hexdigest()
    if read.model != found:
        raise RejectedError("model", f"the certificate is for the model {read.model[:16]}..., this is {found[:16]}...")
    try:
        return f"Proven: {_Case(read_model(model), read).check()}."
    except RecursionError as error:
        raise unreadable("the model file", error) from None
    except NoValueError:
        raise RejectedError("model", "a shape has no value somewhere in a region") from None


class _Case:
    """One certificate against one model: row, region and constraints worked out from scratch."""

    def __init__(self, model: Model, certificate: Certificate) -> None:
        self.model, self.certificate, self.count = model, certificate, len(model.features)
        self.region = self._region(certificate.row, certificate.radii)
        self._check_features(certificate.features)
        extras = certificate.choices, certificate.charges, certificate.norm
        if certificate.kind != "explanation" and extras != (None, None, None):
            raise RejectedError("choices", "choices, charges and norms are for explanations only")
        scores = self._scores(certificate.row)
        parts, self.text = inequalities(certificate.claim, model, scores)
        self.constraints = []
        for part, charge in zip(parts, self._charges(len(parts)), strict=True):
            margin = part.constant + part.of(scores)
            self.constraints.append(Constraint(part, margin - charge, margin + part.gap + charge))

    def check(self) -> str:
        """Return what is proven."""
        kinds = {
            "explanation": self._check_explanation,
            "insufficient": self._check_insufficient,
            "contrast": self._check_contrast,
            "radius": self._check_radius,
        }
        return kinds[self.certificate.kind](self.certificate.features)

    def _region(self, row: Sequence[Value], radii: Sequence[Fraction | None]) -> list[Domain]:
        if len(row) != self.count or len(radii) != self.count:
            raise RejectedError(
                "row", f"the model has {self.count} features, the certificate has values for {len(row)}"
            )
        for feature, x, radius in zip(self.model.features, row, radii, strict=True):
            if not feature.domain.holds(x):
                raise RejectedError("row", f"{feature.name!r} is outside its domain")
            if radius is not None and radius < 0:
                raise RejectedError("radii", f"that of {feature.name!r} is negative")
        return [f.domain.around(x, r) for f, x, r in zip(self.model.features, row, radii, strict=True)]

    def _charges(self, count: int) -> list[Fraction]:
        """Return by how much each inequality must hold at least: 0, if the certificate does not say more."""
        charges = [Fraction(0)] * count if self.certificate.charges is None else self.certificate.charges
        if len(charges) != count or min(charges) < 0:
            raise RejectedError("charges", "there must be one from 0 up for each inequality")
        return charges

    def _check_features(self, features: Sequence[int]) -> None:
        if len(set(features)) != len(features):
            raise RejectedError("features", "one is listed twice")
        if max(features, default=0) >= self.count:
            raise RejectedError("features", f"there is no feature {max(features)}")

    def _scores(self, row: Sequence[Value]) -> list[Fraction]:
        parts = [feature.shape.at(x, 0) for feature, x in zip(self.model.features, row, strict=True)]
        return [sum(column, start) for start, *column in zip(self.model.intercept, *parts, strict=True)]

    # --- the kinds of results -----------------------------------------------------------------------------------------

    def _check_explanation(self, kept: Sequence[int]) -> str:
        """Kept features suffice: what the others can do fits into every margin. No set below the bound does."""
        free = [i for i in range(self.count) if i not in kept]
        self._check_sufficient(free, [None] * self.count)
        choices = self.certificate.choices or Choices([[i] for i in range(self.count)], [1] * self.count, [], [])
        choices.check(self.count, kept)
        cost, least = choices.cost(k for k, item in enumerate(choices.items) if item[0] in kept), ""
        lower_bound, tree = self.certificate.lower_bound, self.certificate.tree
        if lower_bound > cost:
            raise RejectedError("lower bound", f"{lower_bound} is more than the cost of the kept features, {cost}")
        if lower_bound:
            # Changes of one feature lie in the ball of any norm; more at once need not.
            at_most = self.certificate.at_most if self.certificate.norm is None else 1
            Cover(self.constraints, self._witness_drops(), choices, at_most).check(tree, lower_bound)
            least = self._bound_in_words(lower_bound, is_reached=lower_bound == cost)
        elif self.certificate.witnesses or tree:
            raise RejectedError("lower bound", "there is evidence for one, and none is claimed")
        fixed = f"with {self._names(kept)} fixed, " if kept else ""
        others = (
            f"the other {len(free)} features do in their regions" if len(free) != 1 else "the other does in its region"
        )
        return f"{fixed}{self.text}{self._spare}, whatever {others}{self._budget}{least}"

    def _check_insufficient(self, kept: Sequence[int]) -> str:
        """An input that keeps these features and breaks the claim."""
        self._check_input([i for i in range(self.count) if i not in kept])
        return (
            f"fixing {self._names(kept)} is not enough: there is an input in the region where it fails that {self.text}"
        )

    def _check_contrast(self, moved: Sequence[int]) -> str:
        """An input that moves only these features and breaks the claim; fewer cannot, for their drops are too small."""
        self._check_input(moved)
        lower_bound = self.certificate.lower_bound
        if lower_bound > len(moved):
            raise RejectedError(
                "lower bound", f"{lower_bound} is more than the {len(moved)} features that break the claim"
            )
        none: list[list[Drop]] = [[] for _ in self.constraints]
        if lower_bound <= 1 and self.certificate.points:
            raise RejectedError("points", "there are some, and nothing is claimed that needs them")
        drops = self._bound_drops(range(self.count), [None] * self.count) if lower_bound > 1 else none
        for constraint, falls in zip(self.constraints, drops, strict=True):
            if lower_bound and not constraint.holds(self._largest(falls, lower_bound - 1)):
                raise RejectedError("lower bound", f"{lower_bound - 1} features may be able to break the claim")
        fewer = "no fewer can" if lower_bound == len(moved) else f"fewer than {lower_bound} cannot"
        return (
            f"changing {self._names(moved)} alone, within the region, can break the claim that {self.text}"
            f"{self._budget}; {fewer}"
        )

    def _check_radius(self, kept: Sequence[int]) -> str:
        """Kept features suffice at every smaller radius, and at this one if attained; at no larger one."""
        certificate, free = self.certificate, [i for i in range(self.count) if i not in kept]
        radius, is_open = certificate.radius, not certificate.is_attained
        if (radius is not None and radius < 0) or None in certificate.radii or certificate.at_most is not None:
            raise RejectedError("radii", "a radius from 0 up is counted in finite units, and all features may move")
        units = [unit or Fraction(0) for unit in certificate.radii]
        reaches = [radius * unit if radius is not None else None if unit else Fraction(0) for unit in units]
        each = list(zip(self.model.features, certificate.row, reaches, strict=True))
        self.region = [feature.domain.around(x, reach, is_open=is_open) for feature, x, reach in each]
        self._check_sufficient(free, reaches if is_open else [None] * self.count)
        if is_open:  # at this radius some input breaks the claim
            self.region = [feature.domain.around(x, reach) for feature, x, reach in each]
            self._check_input(free)
        elif radius is not None:  # beyond, categories are in reach if it can grow, numbers as close as one likes
            self.region = [
                feature.domain.around(x, Fraction(unit > 0) if x in feature.domain.categories else reach)
                for (feature, x, reach), unit in zip(each, units, strict=True)
            ]
            self._check_beyond(free, units)
        if (not is_open and certificate.input) or ((is_open or radius is None) and certificate.beyond):
            raise RejectedError("beyond", "there is evidence for more than is claimed")
        held = "" if not kept else f" with {self._names(kept)} fixed"
        still = [i for i in free if not units[i]]
        if still:
            held += f"{' and' if kept else ' with'} {self._names(still)} held where the row is (radius 0)"
        if radius is None:
            end = "at every finite radius, but not on the whole domain" if is_open else "on the whole domain"
        else:
            end = f"{'below' if is_open else 'up to and at'} the radius {show(radius)}, and no further"
        return f"{self.text}{held} {end}"

    # --- the kinds of evidence ----------------------------------------------------------------------------------------

    def _check_sufficient(self, free: Sequence[int], reaches: Sequence[Fraction | None]) -> None:
        """Check that what free features can do together, strictly within their reaches if any, fits every margin."""
        for constraint, falls in zip(self.constraints, self._bound_drops(free, reaches), strict=True):
            if not constraint.holds(self._largest(falls, len(free))):
                raise RejectedError("sufficiency", "the free features can break the claim together")

    def _bound_drops(self, free: Sequence[int], reaches: Sequence[Fraction | None]) -> list[list[Drop]]:
        """Return, for each constraint, the proven drops of free features, strictly within their reaches if any."""
        certificate, parts = self.certificate, [constraint.inequality for constraint in self.constraints]
        if len(certificate.points) != self.count or any(
            certificate.points[i] for i in set(range(self.count)) - set(free)
        ):
            raise RejectedError("points", "there must be a list for each feature, empty for one that is kept")
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

    def _check_input(self, moved: Sequence[int]) -> None:
        """Check that an input lies in the region, moves only what it may, and breaks the claim."""
        row, there = self.certificate.row, self.certificate.input
        if len(there) != self.count:
            raise RejectedError("input", f"it has {len(there)} values, the model has {self.count} features")
        for i, feature in enumerate(self.model.features):
            if there[i] != row[i] and i not in moved:
                raise RejectedError("input", f"it changes {feature.name!r}, which is fixed")
            if not self.region[i].holds(there[i]):
                raise RejectedError("input", f"{feature.name!r} is outside its region")
        changes = sum(a != b for a, b in zip(row, there, strict=True))
        if self.certificate.at_most is not None and changes > self.certificate.at_most:
            raise RejectedError("input", f"it changes {changes} features, more than are allowed to change at once")
        scores = self._scores(there)
        parts = [constraint.inequality for constraint in self.constraints]
        values = [(part.constant + part.gap + part.of(scores), part.is_strict) for part in parts]
        if not any(a < 0 or (a == 0 and is_strict) for a, is_strict in values):
            raise RejectedError("input", "the claim holds there")

    def _check_beyond(self, free: Sequence[int], units: Sequence[Fraction]) -> None:
        """Check that every larger radius breaks the claim: by limits past the margin, or falling further beyond it."""
        beyond = self.certificate.beyond
        if len(beyond) != self.count:
            raise RejectedError("beyond", "there must be a witness, or null, for each feature")
        if any(one is not None and (i not in free or (one.side and not units[i])) for i, one in enumerate(beyond)):
            raise RejectedError("beyond", "one is of a feature that cannot move")
        for constraint in self.constraints:
            part = constraint.inequality
            each = list(zip(self.model.features, self.certificate.row, self.region, beyond, strict=True))
            drops = [witness_drop(f, x, r, one, part, is_beyond=True) for f, x, r, one in each]
            is_used_up = total(drops).value == constraint.loose
            if constraint.breaks(drops) or (is_used_up and any(grows(f, x, one, part) for f, x, _, one in each)):
                return
        raise RejectedError("beyond", "a larger radius is not shown to break the claim")

    def _largest(self, drops: Sequence[Drop], most: int) -> list[Drop]:
        """Return the largest drops, of no more features than may move at once."""
        limit = most if self.certificate.at_most is None else min(most, self.certificate.at_most)
        return sorted(drops, reverse=True)[:limit]

    def _bound_in_words(self, lower_bound: int, *, is_reached: bool) -> str:
        if self.certificate.choices is not None:
            sets = f"allowed set that costs less{'' if is_reached else f' than {lower_bound}'}"
        else:
            sets = "smaller set" if is_reached else f"set of fewer than {lower_bound} features"
        return f"; no {sets} is enough{', even if it may fail by as much' if self._spare else ''}"

    @property
    def _spare(self) -> str:
        charges = self.certificate.charges
        return "" if charges is None else f", with {' and '.join(show(charge) for charge in charges)} to spare"

    def _names(self, features: Sequence[int]) -> str:
        return ", ".join(repr(self.model.features[i].name) for i in features) or "nothing"

    @property
    def _budget(self) -> str:
        most, norm = self.certificate.at_most, self.certificate.norm
        ball = "" if norm is None else f" within the ball of the {norm}-norm"
        return ball + ("" if most is None else f", at most {most} of them changed at once")
