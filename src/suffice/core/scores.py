"""The scores of inputs, enclosed as closely as what is asked of them needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from suffice.errors import BudgetError, Undecided
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import FIRST_BITS, Real
from suffice.numbers.values import Value
from suffice.question.claims import predicted

Answer = TypeVar("Answer")

MOST_BITS = 16_384  # how closely a number of the claim that is not rational is enclosed at most
MOST_SMOOTH_BITS = 512  # smooth shapes at most: two numbers that agree so far are taken for a tie, which is not decided


def predict(compiled: Compiled, row: Sequence[Value], bits: int = FIRST_BITS) -> Any:
    """Return what is predicted at an input: a class, or a score."""
    return at_scores(compiled, row, lambda scores: predicted(compiled.model, scores), bits)


def at_scores(
    compiled: Compiled, row: Sequence[Value], answer: Callable[[tuple[Real, ...]], Answer], bits: int = FIRST_BITS
) -> Answer:
    """Return what the scores of an input tell, enclosed as closely as it needs.

    Raises
    ------
    BudgetError
        If they do not tell it however closely they are enclosed, as where a smooth model has a tie.
    """
    while True:
        try:
            return answer(compiled.scores(row, bits=bits))
        except Undecided:
            bits = more_bits(bits, compiled)


def more_bits(bits: int, compiled: Compiled) -> int:
    """Return more bits, unless that is too many."""
    if twice(bits) > (MOST_SMOOTH_BITS if compiled.is_enclosed else MOST_BITS):
        raise BudgetError(
            f"scores or sums of drops agree to {bits} bits, so that a tie is not ruled out; change the row or the "
            "claim slightly"
            if compiled.is_enclosed
            else f"a sum of drops agrees with the threshold to {MOST_BITS} bits; change the threshold slightly"
        )
    return twice(bits)


def twice(bits: int) -> int:
    """Return the next power of two."""
    return 1 << bits.bit_length()
