"""Kinds of results about models with terms over two features, put together from what `joint` and `scenarios` show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

from suffice_check.certificate import JOINT, Radius
from suffice_check.core import Around
from suffice_check.joint import Bins, Bounds, Joint, Step, check_enough
from suffice_check.model import Domain
from suffice_check.ordered import Number
from suffice_check.reading import RejectedError, Value
from suffice_check.scenarios import Scenarios, Seen
from suffice_check.tree import Node, check_changes
from suffice_check.verdict import Proven, after, check_few

Proofs = Sequence[Sequence[Step]]  # by messages, one for each inequality


class JointlyProven(Proven):
    """One certificate against one model with terms over two features."""

    def wanted(self) -> Collection[str]:
        """Return what evidence consists of."""
        return {"input"} if self.kind == "insufficient" else JOINT.get(self.kind, {}).keys()

    def _inside(self, region: list[Domain]) -> Joint:
        around = super()._inside(region)
        given = around.parts, around.row, around.region, around.constraints, around.most, around.few
        return Joint(given, self.model.pairs)

    def _bounds(self, around: Around, bins: Bins) -> Bounds:
        assert isinstance(around, Joint)
        return Bounds(around, bins)

    def _check_least_jointly(self, around: Around, bound: int, scenarios: list[Seen], tree: list[Node]) -> None:
        """Check that no allowed set that costs less than a bound is sufficient."""
        assert isinstance(around, Joint)
        if bound:
            Scenarios(around, scenarios, self.choices).check(tree, self._most(bound))
        elif scenarios or tree:
            raise RejectedError("lower bound", "there is evidence for one, and none is claimed")

    def _check_changes_jointly(self, bounds: Bounds, budget: int, proofs: Proofs) -> None:
        """Check that no changes whose items cost at most so much break the claim."""
        if len(proofs) != (0 if budget < 0 else len(self.constraints)):
            raise RejectedError("messages", "there must be a proof for each inequality")
        choices, most = self.choices, bounds.around.most
        is_plain = {*choices.costs} <= {1} and not (choices.has_groups and most is not None)
        moving = choices.features(k for k in choices.open if choices.costs[k] <= budget)

        def close(margin: Number, drops: list[Number], forced: set[int], tree: list[Node]) -> None:
            # What is changed in any case is paid for, and changes no further; the rest of its items is free then.
            touched = {k for k in choices.open if not forced.isdisjoint(choices.items[k])}
            left = None if most is None else most - len(forced)
            rest = budget - choices.cost(touched)
            if rest < 0 or (left is not None and left < 0):
                return
            paid = choices._replace(free=choices.free | touched)
            if not is_plain:
                check_changes(tree, margin, drops, paid, rest, left)
            elif tree:
                raise RejectedError("messages", "a leaf has a tree, though costs are all the same")
            else:
                check_few(margin, drops, paid, rest, left)

        for c, steps in enumerate(proofs):
            bounds.check(c, moving, steps, close)

    # --- the kinds of results -----------------------------------------------------------------------------------------

    def _check_explanation(  # type: ignore[override]
        self, fixed: list[int], lower_bound: Fraction, bins: Bins, messages: Proofs, scenarios: list[Seen],
        tree: list[Node],
    ) -> None:  # fmt: skip
        """Fixed features suffice, and no allowed set below the bound does."""
        around, cost = self._around(), self._cost(fixed)
        check_enough(self._bounds(around, bins), self._others(fixed), messages)
        bound = self._units(lower_bound, cost)
        self._check_least_jointly(around, bound, scenarios, tree)
        self.is_best = bound == cost

    def _check_contrast(  # type: ignore[override]
        self, changed: list[int], lower_bound: Fraction, input: list[Value], bins: Bins, fewer: Proofs,  # noqa: A002
    ) -> int:  # fmt: skip
        """An input that changes these features alone breaks the claim; no changes below the bound do."""
        around = self._around()
        cost = self._check_change(around, changed, input)
        bound = self._units(lower_bound, cost)
        self._check_changes_jointly(self._bounds(around, bins), bound - 1, fewer)
        self.is_best = bound == cost
        return cost

    def _check_counterfactual(  # type: ignore[override]
        self, least: Number, nearer: Proofs, bins: Bins, **contrast: Any
    ) -> None:
        """The same; and at this cost no change that stays within a multiple of the radii breaks the claim."""
        cost = self._check_contrast(bins=bins, **contrast)
        self._check_changes_jointly(self._bounds(self._nearer(least), bins), cost, nearer)

    def _check_radius(  # type: ignore[override]
        self, fixed: list[int], holds_at: Radius, fails_at: Radius | None, input: list[Value] | None,  # noqa: A002
        bins: Bins, messages: Proofs,
    ) -> None:  # fmt: skip
        """Fixed features suffice at one radius, so at every smaller one; not at another, so at no larger one."""
        self._check_edge(holds_at, 1)
        check_enough(self._bounds(self._around(holds_at), bins), self._others(fixed), messages)
        self._check_failure(fixed, fails_at, input)
        self.is_best = fails_at is not None and fails_at == after(holds_at)

    def _check_explanations(  # type: ignore[override]
        self, minimal: str, sets: list[list[int]], is_complete: bool, bins: Bins, messages: list[Proofs],
        scenarios: list[Seen], tree: list[Node],
    ) -> None:  # fmt: skip
        """Each set is sufficient and minimal; and all others contain one of them, if these are all."""
        around = self._around()
        bounds = self._bounds(around, bins)
        if len(messages) != len(sets):
            raise RejectedError("messages", "there must be proofs for each set")
        for one, proofs in zip(sets, messages, strict=True):
            check_enough(bounds, self._others(one), proofs)
        assert isinstance(around, Joint)
        self._check_minimal(minimal, sets, is_complete, Scenarios(around, scenarios, self.choices), tree)
