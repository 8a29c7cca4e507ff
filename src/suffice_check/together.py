"""Features that act together, in a model with terms over two features: what evidence shows there.

The other way to read evidence, for models without such terms, is in `alone.py`; both answer the same calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from suffice_check.certificate import Reader, index, listed, nullable, places, read_fields
from suffice_check.core import Case
from suffice_check.domain import Domain
from suffice_check.joint import Bins, Bounds, Joint, read_steps
from suffice_check.ordered import Number, total
from suffice_check.reading import RejectedError, ordered
from suffice_check.scenarios import Scenarios, read_scenario_tree, read_seen
from suffice_check.tree import Node, check_changes, check_few

_BINS: dict[str, Reader] = {"bins": listed(listed(ordered))}
_MESSAGES = listed(read_steps)  # a proof for each inequality
_SCENARIOS: dict[str, Reader] = {"scenarios": listed(read_seen), "tree": read_scenario_tree}


class Together(Joint):
    """The row and its region, in a model with terms over two features."""

    EVIDENCE: Mapping[str, dict[str, Reader]] = {
        "explanation": {**_BINS, "messages": _MESSAGES, **_SCENARIOS},
        "insufficient": {"input": places},
        "contrast": {"input": places, **_BINS, "fewer": _MESSAGES},
        "counterfactual": {"input": places, **_BINS, "fewer": _MESSAGES, "nearer": _MESSAGES},
        "radius": {"input": nullable(places), **_BINS, "messages": _MESSAGES},
        "explanations": {**_BINS, "messages": listed(_MESSAGES), **_SCENARIOS},
        "relevance": {
            **_BINS,
            "messages": listed(_MESSAGES),
            "scenarios": _SCENARIOS["scenarios"],
            "sets": listed(listed(index)),
            "trees": listed(read_scenario_tree),
        },
        "curve": {"proofs": listed(partial(read_fields, readers={**_BINS, "messages": _MESSAGES, **_SCENARIOS}))},
        "inflation": {"inputs": listed(places), **_BINS, "messages": _MESSAGES},
    }

    def __init__(self, case: Case, region: Sequence[Domain]) -> None:
        super().__init__(case, region)
        self._bounds: Bounds | None = None

    def bounds(self, bins: Bins) -> Bounds:
        """Return how far features can lower inequalities, with labels in groups; what is found is kept."""
        if self._bounds is None or self._bounds.bins is not bins:
            self._bounds = Bounds(self, bins)
        return self._bounds

    def check_sufficient(self, fixed: Collection[int], proof: Any, ranged: Collection[int] = ()) -> None:
        """Check that what all other features can do, no more at once than may, leaves every inequality true.

        Those in ranges of their own do not count.
        """
        bounds, proofs, kept = self.bounds(proof["bins"]), proof["messages"], {*fixed}
        if len(proofs) != len(self.constraints):
            raise RejectedError("messages", "there must be a proof for each inequality")

        def close(margin: Number, drops: list[Number], forced: set[int], tree: list[Node]) -> None:
            left = None if self.most is None else self.most - len(forced.difference(ranged))
            if tree:
                raise RejectedError("messages", "a leaf has a tree, though nothing is counted")
            if left is not None and left < 0:
                return  # more features are changed than may be
            counted = sorted((drop for i, drop in enumerate(drops) if i not in ranged), reverse=True)[:left]
            if total([*counted, *(drops[i] for i in ranged)]) > margin:
                raise RejectedError("sufficiency", "the free features may break the claim together")

        for c, steps in enumerate(proofs):
            bounds.check(c, [i for i in range(len(self.row)) if i not in kept], steps, close)

    def check_idle(self, features: Collection[int]) -> None:
        """Refuse to take features for such that can lower no inequality."""
        raise RejectedError("tree", "it is empty, and of features that act together that shows nothing")

    def each(self, proof: Mapping[str, Any], count: int) -> list[Any]:
        """Return the evidence that each of some sets suffices."""
        if len(proof["messages"]) != count:
            raise RejectedError("messages", "there must be proofs for each set")
        return [{**proof, "messages": messages} for messages in proof["messages"]]

    def sets(self, proof: Mapping[str, Any]) -> Scenarios:
        """Return which sets can be sufficient as far as scenarios can tell."""
        return Scenarios(self, proof["scenarios"], self.choices)

    def check_changes(self, budget: int, proofs: Sequence[Any], proof: Mapping[str, Any]) -> None:
        """Check that no changes whose items cost at most so much break the claim."""
        if len(proofs) != (0 if budget < 0 else len(self.constraints)):
            raise RejectedError("messages", "there must be a proof for each inequality")
        choices, most = self.choices, self.most
        moving = choices.features(k for k in choices.open if choices.costs[k] <= budget)

        def close(margin: Number, drops: list[Number], forced: set[int], tree: list[Node]) -> None:
            # What is changed in any case is paid for, and changes no further; the rest of its items is free then.
            touched = {k for k in choices.open if not forced.isdisjoint(choices.items[k])}
            left = None if most is None else most - len(forced)
            rest = budget - choices.cost(touched)
            if rest < 0 or (left is not None and left < 0):
                return
            paid = choices._replace(free=choices.free | touched)
            if not choices.is_plain(most):
                check_changes(tree, margin, drops, paid, rest, left)
            elif tree:
                raise RejectedError("messages", "a leaf has a tree, though costs are all the same")
            else:
                check_few(margin, drops, paid, rest, left)

        for c, steps in enumerate(proofs):
            self.bounds(proof["bins"]).check(c, moving, steps, close)
