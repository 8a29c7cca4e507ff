"""Which features matter at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

from suffice.answers.answer import Answer, Status
from suffice.answers.words import allowed, headline, tie
from suffice.certificate.certify import certify_relevance
from suffice.certificate.document import Certificate
from suffice.core.case import Case
from suffice.layout.facts import Fact, Facts
from suffice.question.documents import Json
from suffice.solvers.problem import Problem
from suffice.solvers.roles import Roles


@dataclass(frozen=True, repr=False)
class Relevance(Answer):
    """Features by their role in the subset-minimal explanations, in the order of the model.

    Parameters
    ----------
    case : Case
        The question and the row.
    necessary : tuple of str
        In every sufficient set: alone it can break the claim.
    relevant : tuple of str
        In some subset-minimal explanation, but not in every one.
    irrelevant : tuple of str
        In none.
    undecided : tuple of str
        Their role was not decided within the budget, or is a tie as far as smooth shapes can be enclosed.
    problem : Problem
        Which items may be freed together.
    roles : Roles
        The same by items.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2]), Steps([0.5], [0, 1])], features=["age", "risk"]))
    >>> explainer.relevance({"age": 20, "risk": 0}, radius=5, unit="raw").necessary
    ('age',)
    """

    case: Case
    necessary: tuple[str, ...]
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]
    undecided: tuple[str, ...]
    problem: Problem
    roles: Roles

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof of every role that is decided; see `Explanation.certificate`."""
        decided = {role: items for role, items in self.roles._asdict().items() if role not in ("undecided", "tied")}
        return certify_relevance(self.case, self.problem, decided, model_file)

    @property
    def status(self) -> Status:
        """Whether every feature is settled."""
        return Status.BOUNDED if self.undecided else Status.PROVEN

    def facts(self) -> Facts:
        """Return a sentence for each kind of feature."""
        among = allowed(self.case.question)
        parts = {
            f"Necessary (in every sufficient set{among})": self.necessary,
            f"Relevant (in some minimal set{among})": self.relevant,
            f"Irrelevant (in no minimal set{among})": self.irrelevant,
            f"Undecided ({self._why_not})": self.undecided,
        }
        told = [Fact(what, ", ".join(names)) for what, names in parts.items() if names]
        nothing = Fact("Proven", "the preferences decide every feature, so none has a role.")
        return (*headline(self.case), *(told or [nothing]))

    @property
    def _why_not(self) -> str:
        budget = "the search ran out of its budget"
        return f"{tie(self.case)}, or {budget}" if self.case.compiled.is_enclosed else budget

    def _document(self) -> Json:
        return {
            "status": self.status.value,
            "necessary": list(self.necessary),
            "relevant": list(self.relevant),
            "irrelevant": list(self.irrelevant),
            "undecided": list(self.undecided),
        }
