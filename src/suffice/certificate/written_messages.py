"""Proofs by messages as a certificate writes them: the same groups of numbers for all, and no more than they need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from flint import fmpq

from suffice.certificate.cuts import file_cuts, shortened
from suffice.certificate.messages import Groups, Proof, Start
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import Rational
from suffice.question.documents import Json


class Written:
    """Proofs as one certificate writes them: with the same groups of numbers for all, and no more than they need."""

    def __init__(self, model: AdditiveModel, proofs: Sequence[Proof], *, is_short: bool = True) -> None:
        self.model, self.proofs = model, proofs
        self.is_short = is_short  # short numbers need regions with ends of theirs
        self.starts: list[list[tuple[Rational, int]]] = []
        for i in range(len(model.names)):
            each = [proof.groups[i] for proof in proofs if i in proof.groups]
            touching = {start for groups in each for start in groups.touching}  # where the checker takes tangents
            every = sorted({start for groups in each for start in groups.starts if start is not None} | touching)
            self.starts.append([start for start in every if start in touching or not self._is_idle(i, start, every)])

    def _is_idle(self, i: int, start: tuple[Rational, int], every: Sequence[tuple[Rational, int]]) -> bool:
        """Whether a group has the same messages as the one before it, in all proofs."""
        k = every.index(start)
        before = every[k - 1] if k else None
        return all(
            column == other
            for proof in self.proofs
            if i in proof.groups
            for column, other in zip(
                _columns(proof, i, _group(proof.groups[i], start)),
                _columns(proof, i, _group(proof.groups[i], before)),
                strict=True,
            )
        )

    @property
    def bins(self) -> list[list[str]]:
        """For each feature the numbers that part its groups."""
        return [
            [f"{value}{'+e' if side > 0 else '-e' if side < 0 else ''}" for value, side in self._short(i)]
            for i in range(len(self.starts))
        ]

    def _short(self, i: int) -> list[tuple[Rational, int]]:
        """Return the starts of a feature's groups as shorter numbers that part the same labels of the checker."""
        cuts = file_cuts(self.model, i) if self.is_short else None
        if cuts is None or not self.starts[i]:
            return self.starts[i]
        # A cell's label is where the cell begins, or where the region does, or at the first integer.
        spans = [span for proof in self.proofs if i in proof.groups for span in proof.groups[i].spans]
        places = cuts.union(span.low for span in spans if span.low is not None)
        if any(span.is_integers for span in spans):
            places |= {fmpq(place.ceil()) for place in places}
        return [(value if side else shortened(value, places), side) for value, side in self.starts[i]]

    def steps(self, proof: Proof) -> list[Json]:
        """Return the nodes of a proof."""
        found: list[Json] = []
        for step in proof.steps:
            if step.split is not None:
                i, groups = step.split
                found.append({"split": [i, [g for g, own in enumerate(self._from(proof, i)) if own in groups]]})
                continue
            edges = []
            for (i, j), sent in sorted(step.edges.items()):
                both = [[one[g] for g in self._from(proof, k)] for k, one in zip((i, j), sent, strict=True)]
                # What one side gets more and the other less, all labels alike, says nothing: most are then 0.
                usual = max(sorted(set(both[0])), key=both[0].count)
                both = [[one - usual for one in both[0]], [one + usual for one in both[1]]]
                if any(map(any, both)):
                    edges.append([i, j, *(one if any(one) else [] for one in both)])
            found.append({"messages": {"unit": str(step.unit), "edges": edges, "tree": list(step.tree)}})
        return found

    def _from(self, proof: Proof, i: int) -> list[int]:
        """Return for each group as it is written the group of the proof that it comes from."""
        groups = proof.groups[i]
        numbers = [_group(groups, start) for start in (None, *self.starts[i])] if groups.has_numbers else []
        return [0, *numbers, *range(1 + groups.numbers, groups.count)]


def _group(groups: Groups, start: Start) -> int:
    """Return the group of numbers in which a start lies."""
    if not groups.has_numbers:
        return 0
    if not groups.starts:
        return 1
    known = [one for one in groups.starts if one is not None]
    k = 0 if start is None else bisect_right(known, start)
    return 1 + max(k - (len(known) == len(groups.starts)), 0)


def _columns(proof: Proof, i: int, group: int) -> list[object]:
    """Return what a proof says of a group."""
    found: list[object] = []
    for step in proof.steps:
        if step.split is not None:
            found.append(step.split[0] == i and group in step.split[1])
        else:
            found += [
                one[group]
                for edge, sent in sorted(step.edges.items())
                for k, one in zip(edge, sent, strict=True)
                if k == i
            ]
    return found
