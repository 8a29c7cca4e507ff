"""Features that act alone: what each can do adds up. Sums of drops show what suffices, sums of falls what does not.

One of the two ways to read evidence; the other, for models with terms over two features, is in `together.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from suffice_check.certificate import Reader, index, listed, nullable, places, read_fields
from suffice_check.core import Around, Case
from suffice_check.domain import Domain
from suffice_check.ordered import ZERO, Number, total
from suffice_check.reading import RejectedError, Value, place
from suffice_check.tree import Cover, check_changes, check_few, read_tree

_PROOF: dict[str, Reader] = {
    "witnesses": listed(listed(lambda document: [] if document is None else [place(document)])),
    "tree": read_tree,
}
_TREES = listed(read_tree)


class Alone(Around):
    """The row and its region, in a model without terms over two features."""

    EVIDENCE: Mapping[str, dict[str, Reader]] = {
        "explanation": _PROOF,
        "insufficient": {"input": places},
        "contrast": {"input": places, "fewer": _TREES},
        "counterfactual": {"input": places, "fewer": _TREES, "nearer": _TREES},
        "radius": {"input": nullable(places)},
        "explanations": _PROOF,
        "relevance": {"witnesses": _PROOF["witnesses"], "sets": listed(listed(index)), "trees": _TREES},
        "curve": {"proofs": listed(partial(read_fields, readers=_PROOF))},
        "inflation": {"inputs": listed(places)},
    }

    def __init__(self, case: Case, region: Sequence[Domain]) -> None:
        super().__init__(case, region)
        self._drops: dict[int, list[Number | None]] = {}

    def fall(self, c: int, places: Sequence[Value], changed: Collection[int]) -> Number:
        """Return by how much an inequality falls if some features go to places of theirs."""
        return total(self.parts[i].fall(c, places[i]) for i in changed)

    def drop(self, c: int, i: int) -> Number | None:
        """Return the largest fall of an inequality that a feature can cause; None where there is none."""
        if i not in self._drops:  # found when it is first asked for
            self._drops[i] = self.parts[i].drops(self.region[i])
        return self._drops[i][c]

    def check_sufficient(self, fixed: Collection[int], _: Any = None, ranged: Collection[int] = ()) -> None:
        """Check that what all other features can do, no more at once than may, and all those ranged, breaks nothing."""
        held = {*fixed, *ranged}
        for c, constraint in enumerate(self.constraints):
            drops = [self.drop(c, i) for i in range(len(self.row)) if i not in held]
            always = [self.drop(c, i) for i in ranged]
            if None in drops or None in always:
                raise RejectedError("sufficiency", "a free feature can lower the score without bound")
            largest = sorted((drop for drop in drops if drop is not None), reverse=True)[: self.most]
            if total([*largest, *(drop for drop in always if drop is not None)]) > constraint.margin:
                raise RejectedError("sufficiency", "the free features can break the claim together")

    def check_idle(self, features: Collection[int]) -> None:
        """Check that some features can lower no inequality, whatever they do."""
        for c in range(len(self.constraints)):
            for drop in (self.drop(c, i) for i in features):
                if drop is None or drop > ZERO:
                    raise RejectedError("tree", "it is empty, though the feature can lower the score")

    def each(self, proof: Any, count: int) -> list[Any]:
        """Return the evidence that each of some sets suffices: none is needed."""
        return [proof] * count

    def sets(self, proof: Mapping[str, Any]) -> Cover:
        """Return which sets can be sufficient as far as witnesses can tell."""
        loose = [constraint.loose for constraint in self.constraints]
        return Cover(loose, self._witnessed(proof["witnesses"]), self.choices, self.few)

    def _witnessed(self, witnesses: Sequence[Sequence[Sequence[Value]]]) -> list[list[Number]]:
        """Return, for each inequality and feature, a fall that a witness of the region shows; 0 without one."""
        if [len(row) for row in witnesses] != [len(self.row)] * len(self.constraints):
            raise RejectedError("witnesses", "there must be one, or null, for each inequality and feature")
        for i, part in enumerate(self.parts):
            if not all(self.region[i].holds(at) for row in witnesses for at in row[i]):
                raise RejectedError("witnesses", f"that of {part.name!r} lies outside its region")
        return [
            [max([ZERO, *(self.parts[i].fall(c, at) for at in one)]) for i, one in enumerate(row)]
            for c, row in enumerate(witnesses)
        ]

    def check_changes(self, budget: int, trees: Sequence[Any], _: Any = None) -> None:
        """Check that no changes whose items cost at most so much break the claim."""
        choices = self.choices
        if len(trees) != (0 if choices.is_plain(self.most) or budget < 0 else len(self.constraints)):
            raise RejectedError("tree", "there must be one for each inequality, or none where costs are all the same")
        moving = {*choices.features(k for k in choices.open if choices.costs[k] <= budget)}
        for c, constraint in enumerate(self.constraints if budget >= 0 else ()):
            drops = [self.drop(c, i) if i in moving else ZERO for i in range(len(self.row))]
            known = [drop for drop in drops if drop is not None]
            if len(known) < len(drops):
                raise RejectedError("lower bound", "a change within the budget may break the claim, without bound")
            if trees:
                check_changes(trees[c], constraint.margin, known, choices, budget, self.most)
            else:
                check_few(constraint.margin, known, choices, budget, self.most)
