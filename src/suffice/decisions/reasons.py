"""Why was it decided so? The fewest factors that would have changed a decision, had they been at a reference.

In: a row, and a reference to compare it with. Out: `Reasons`. Each feature may stay, or be as in the reference; nothing
else is in the region. So the principal reasons are a contrast, and what is proven of it is proven of them: how many are
enough, and that no fewer are.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from suffice.answers.answer import Status
from suffice.answers.contrast import Contrast
from suffice.answers.documents import prediction_document, value_document
from suffice.answers.words import counted, spoken
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.decisions.letter import Factor, Letter, Line, write_letter
from suffice.decisions.reference import Reference
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.model.domain import in_full
from suffice.numbers.values import to_user
from suffice.question.box import listed
from suffice.question.claims import Same
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.question.row import Row as Values
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, search
from suffice.search.contrast import NODES, contrast
from suffice.solvers.breaks import smallest_breaks

_OF_DECISIONS = "the decision would have stayed", "changed it", "changes it"
_OF_CLAIMS = "the claim would have stayed true", "broken the claim", "breaks the claim"
_NOT_HERE = "every reason counts the same, and any may be one; name those that may not in immutable"


class Found(NamedTuple):
    """What the search finds: a contrast, the other sets of its size by item, and the roles of items."""

    contrast: Contrast
    sets: list[tuple[int, ...]]
    is_complete: bool
    necessary: tuple[int, ...]
    alone: tuple[int, ...]


@search(
    "reasons",
    honours=ALWAYS | BUDGET | {"groups"},
    refuses={
        "fix": _NOT_HERE,
        "free": _NOT_HERE,
        "cost": _NOT_HERE,
        "max_changed": "the fewest are looked for",
        "norm": BOX_ONLY,
        "arithmetic": "a letter is about the exact model",
    },
)
def find_reasons(case: Case, limit: int) -> Found:
    """Return the fewest factors that break the claim, other sets of the same size, and what each factor does."""
    best = contrast.run(case)
    choices = case.question.choices
    if best.point is None:
        return Found(best, [], best.caveat is None, (), ())
    # Of numbers that are only enclosed, outer constraints refuse what is broken for certain, inner ones what may be.
    sets, is_complete = smallest_breaks(case.outer, choices, best.units, limit, case.clock(NODES))
    if case.inner != case.outer:
        possible, is_all = smallest_breaks(case.inner, choices, best.units, limit, case.clock(NODES))
        is_settled = {frozenset(one) for one in sets} == {frozenset(one) for one in possible}
        case.settle(is_settled)
        is_complete &= is_all and is_settled
    necessary, alone = [], []
    for k, item in enumerate(choices.items):
        others = [i for i in case.features if i not in item]
        if _holds(case, others):
            necessary.append(k)
        if _holds(case, item) is False:
            alone.append(k)
    return Found(best, sets, is_complete and best.caveat is None, tuple(necessary), tuple(alone))


def _holds(case: Case, freed: Collection[int]) -> bool | None:
    """Whether the claim holds whatever some features do; None where that is not settled."""
    if all(one.admits(freed) for one in case.inner):
        return True
    is_broken = not all(one.admits(freed) for one in case.outer)
    case.settle(is_broken)
    return False if is_broken else None


@dataclass(frozen=True)
class Reasons(Told):
    """The fewest factors that would have changed a decision, had they been as in a reference.

    Parameters
    ----------
    case : Case
        The row, and the region in which each feature stays or is as in the reference.
    reference : Reference
        What the row is compared with.
    found : Found
        What the search found.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([18], [-1, 2]), Steps([3], [1, -4])]
    >>> model = AdditiveModel(shapes, 0, features=["age", "late"], classes=["no", "yes"])
    >>> why = Explainer(model).reasons({"age": 17, "late": 5}, {"age": 30, "late": 0})
    >>> why.features, why.alternatives, why.necessary, why.alone
    (('late',), (), ('late',), ('late',))
    """

    case: Case
    reference: Reference
    found: Found

    @property
    def is_possible(self) -> bool:
        """Whether being as in the reference would change the decision at all."""
        return self.found.contrast.is_possible

    @property
    def status(self) -> Status:
        """Whether fewer are proven not to be enough."""
        return self.found.contrast.status

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the principal reasons, the strongest first; none if the decision would stay."""
        return self.found.contrast.features

    @property
    def size(self) -> int:
        """How many factors (features or groups) are enough."""
        return self.found.contrast.units

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Other sets of factors, as many in each, that would have changed the decision too."""
        choices = self.case.question.choices
        chosen = {k for k, item in enumerate(choices.items) if set(item) & set(self.found.contrast.changed)}
        return tuple(self._names(one) for one in self.found.sets if set(one) != chosen)

    @property
    def is_complete(self) -> bool:
        """Whether there are no further alternatives."""
        return self.found.is_complete

    @property
    def necessary(self) -> tuple[str, ...]:
        """Factors without which nothing would have changed the decision: they are in every set."""
        return self._names(self.found.necessary)

    @property
    def alone(self) -> tuple[str, ...]:
        """Factors each of which would have changed the decision by itself."""
        return self._names(self.found.alone)

    def _names(self, items: tuple[int, ...]) -> tuple[str, ...]:
        names, choices = self.case.model.names, self.case.question.choices
        return tuple(names[item[0]] if len(item := choices.items[k]) == 1 else choices.names[k] for k in items)

    @property
    def instead(self) -> Any:
        """What would have been decided."""
        point = self.found.contrast.point
        return None if point is None else self.case.predicted_at(point)

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that these factors would have changed the decision, and fewer not; or that none would."""
        return self.found.contrast.certificate(model_file)

    def facts(self) -> Facts:
        """Return the reasons, how many are enough, and what else would have done."""
        head = Fact("Decision", spoken(self.case.prediction))
        against = Fact("Compared with", self.reference.words)
        is_proven, is_same = self.status is Status.PROVEN, isinstance(self.case.question.claim, Same)
        claim = () if is_same else (Fact("Claim", f"{self._claim}."),)
        stayed, changed, changes = _OF_DECISIONS if is_same else _OF_CLAIMS
        if not self.is_possible:
            known = (
                Fact("Proven", f"{stayed} even so.") if is_proven else Fact("Open", f"whether {stayed} is not known.")
            )
            return head, *claim, against, known
        fewer = f"no fewer would have {changed}" if is_proven else str(self.found.contrast.caveat)
        told = Fact(
            "Proven",
            f"had {counted(self.size, 'factor')} been as there, it would have been {spoken(self.instead)}; {fewer}.",
        )
        grid = Grid(
            ("factor", "here", "compared with"),
            tuple(
                Row(
                    (
                        line.feature if line.feature == name else f"{name}: {line.feature}",
                        line.here,
                        f"there {line.there}",
                    )
                )
                for name, lines in self.factors
                for line in lines
            ),
        )
        more: list[Fact] = []
        if self.alternatives:
            shown = "; ".join(" and ".join(one) for one in self.alternatives[:5])
            count = f"{len(self.alternatives)}{'' if self.is_complete else ' or more'}"
            more.append(Fact("Alternatives", f"{count} of the same size: {shown}."))
        elif self.is_complete:
            more.append(Fact("Alternatives", "none of the same size."))
        if self.necessary:
            more.append(Fact("Necessary", f"{', '.join(self.necessary)}: without a change there, nothing {changes}."))
        return (head, *claim, against, told, grid, *more)

    @property
    def _claim(self) -> str:
        return self.case.question.claim.sentence(self.case.model, self.case.prediction)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The principal reasons, the strongest first, with the values that differ; of a group those that count."""
        point, choices = self.found.contrast.point, self.case.question.choices
        if point is None:
            return ()
        found: dict[int, list[Line]] = {}
        for i in self.found.contrast.changed:
            (k,) = (k for k, item in enumerate(choices.items) if i in item)
            line = Line(self.case.model.names[i], in_full(self.case.row[i]), in_full(point[i]))
            found.setdefault(k, []).append(line)
        return tuple(Factor(self._names((k,))[0], tuple(lines)) for k, lines in found.items())

    def letter(self, codes: Mapping[str, Any] | None = None) -> Letter:
        """Return a letter with the reasons; `codes` has a text, and perhaps a code, for features (see `read_codes`)."""
        claim = None if isinstance(self.case.question.claim, Same) else self._claim
        return write_letter(
            spoken(self.case.prediction),
            spoken(self.instead) if self.is_possible else None,
            self.reference.words,
            self.factors,
            codes or {},
            claim=claim,
            is_proven=self.status is Status.PROVEN,
        )

    def document(self) -> Json:
        """Return the reasons as JSON."""
        names = self.case.model.names
        row = {name: value_document(to_user(value)) for name, value in zip(names, self.case.row, strict=True)}
        against = {name: value_document(to_user(value)) for name, value in zip(names, self.reference.row, strict=True)}
        return {
            "prediction": prediction_document(self.case.prediction),
            "row": row,
            "reference": {"words": self.reference.words, "row": against},
            "is_possible": self.is_possible,
            "status": self.status.value,
            "reasons": list(self.features),
            "size": self.size,
            "instead": None if self.instead is None else prediction_document(self.instead),
            "alternatives": [list(one) for one in self.alternatives],
            "is_complete": self.is_complete,
            "necessary": list(self.necessary),
            "alone": list(self.alone),
        }


def reasons(compiled: Compiled, question: Question, row: Values, reference: Reference, limit: int) -> Reasons:
    """Return the reasons of a decision."""
    find_reasons.check(question)
    region = tuple(
        listed(domain, (here, there) if i not in question.immutable else (here,))
        for i, (domain, here, there) in enumerate(zip(compiled.model.domains, row, reference.row, strict=True))
    )
    found = find_reasons.of(Case.of(compiled, question, row, region=region), limit)
    return Reasons(found.contrast.case, reference, found)
