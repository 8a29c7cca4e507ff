"""Words that answers share: what was predicted, claimed and allowed to move; numbers, lists and changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple, cast

from suffice.answers.likelihood import probability_words
from suffice.core.case import Case
from suffice.layout.facts import Fact
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, format_value, in_full
from suffice.numbers.enclosure import Enclosure
from suffice.numbers.exact import ONE, Rational, rational
from suffice.numbers.surd import Surd, exact
from suffice.numbers.values import Value
from suffice.question.claims import Same
from suffice.question.question import Question


def tie(case: Case) -> str:
    """Return what is said where shapes were enclosed ever more closely and a question is still not decided."""
    if case.compiled.has_tangents:
        return "not told by the tangents that enclose curves beside terms over two features"
    if case.compiled.is_bounded:
        return "not told by bounds of networks with too many pieces to be tabulated"
    return "a tie, as far as 512 bits of smooth shapes tell"


def amount(value: Fraction | Surd | float) -> str:
    """Return a number as people read it."""
    return "any amount" if value == math.inf else format_value(cast(Rational, exact(value)))


def approximately(value: Fraction) -> str:
    """Return a number as people read it, marked where it is rounded: for bounds, which must not say too much."""
    text, exact = format_value(rational(value)), rational(value)
    is_short = exact.height_bits() <= 200  # of longer numbers the text is none
    return text if is_short and rational(text) == exact else f"about {text}"


def inward(end: Fraction, *, is_low: bool) -> str:
    """Return an end of a range in six digits, none of which lies outside: a range must not say too much."""
    context = Context(prec=6, rounding=ROUND_CEILING if is_low else ROUND_FLOOR)
    return format_value(rational(context.divide(Decimal(end.numerator), Decimal(end.denominator))))


def spoken(value: Any) -> str:
    """Return a prediction, or a value of a feature, as people read it."""
    if isinstance(value, Enclosure):
        return format_value(value.near())
    return amount(value) if isinstance(value, Fraction) else str(value)


def true_end(case: Case, more: Rational) -> str | None:
    """Return how much further something reaches whose true end is only enclosed; None where it is known."""
    # A rational sum never meets a threshold that is not; curves and terms that vary in two features may end anywhere.
    kind = "" if case.has_pairs or case.compiled.is_curved else ", which is not rational,"
    return f"the true end{kind} lies less than {format_value(more)} beyond" if more else None


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def others(number: int) -> str:
    """Return what the features not named do: "the other one does", "the other 3 do"."""
    return "the other one does" if number == 1 else f"the other {number} do"


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, as they stand in messages."""
    return ", ".join(repr(name) for name in names) or "no feature"


class Move(NamedTuple):
    """A feature that changes: its name, the row's value and the new one, in full."""

    name: str
    old: str
    new: str


def moves(case: Case, point: Sequence[Value], first: int | None = None) -> list[Move]:
    """Return the features in which an input differs from the row, one of them first."""
    changed = [i for i in case.features if case.row[i] != point[i]]
    changed.sort(key=lambda i: i != first)
    return [Move(case.model.names[i], format_value(case.row[i]), in_full(point[i])) for i in changed]


# --- what was asked ---------------------------------------------------------------------------------------------------


def headline(case: Case, margin: str = "", *, has_distance: bool = True, has_fixed: bool = False) -> list[Fact]:
    """Return what was predicted, what must stay true if that is not just the prediction, and what may move.

    How far is left out where that is what was asked (`has_distance`). That some features are fixed in any case is said
    where it limits what may move (`has_fixed`).
    """
    is_plain = isinstance(case.question.claim, Same)
    about = [one for one in (probability_words(case), margin if is_plain else "") if one]
    facts = [Fact("Prediction", spoken(case.prediction) + (f" ({', '.join(about)})" if about else ""))]
    if not is_plain:
        more = f" ({margin})" if margin else ""
        facts.append(Fact("Claim", case.question.claim.sentence(case.model, case.prediction) + more))
    around = region(case.question, case.model, has_distance=has_distance, has_fixed=has_fixed)
    return [*facts, Fact("Region", around)] if around else facts


def stays(case: Case) -> str:
    """Return what is proven not to change, as the end of a sentence."""
    return "the prediction stays the same" if isinstance(case.question.claim, Same) else "the claim stays true"


def can_fail(case: Case) -> str:
    """Return what happens where it is not, as the end of a sentence."""
    return "the prediction can change" if isinstance(case.question.claim, Same) else "the claim can fail"


def break_it(case: Case) -> str:
    """Return what a contrast does, as a verb phrase."""
    return "change the prediction" if isinstance(case.question.claim, Same) else "break the claim"


def region(question: Question, model: AdditiveModel, *, has_distance: bool = True, has_fixed: bool = False) -> str:
    """Return what free features may do, in words."""
    ball = f" in the ball of the {int(question.norm)}-norm" if question.is_ball else ""
    parts = [f"{_reach(question)}{ball}"] if has_distance else []
    if _is_cut(question, model) and parts != ["anywhere in the domain"]:
        parts = [", ".join([*parts, "inside the domain"])]
    parts += _categories(question, model, has_distance=has_distance)
    if question.max_changed is not None:
        parts.append(f"at most {counted(question.max_changed, 'feature')} changed at once")
    parts += _named(question, question.immutable, "cannot change")
    if has_fixed:
        fixed = question.choices.features(sorted(question.choices.fix))
        parts += _named(question, fixed, "stays fixed" if len(fixed) == 1 else "stay fixed")
    return "; ".join(parts)


def _categories(question: Question, model: AdditiveModel, *, has_distance: bool) -> list[str]:
    """Return what categories may become within finite radii; how far is left out where that is what was asked."""
    each = zip(model.names, question.domains(model), question.radii, question.reach, strict=True)
    # Ranks that do not vary are 0 standard deviations wide: they stay within every finite radius, which is said too.
    near = [
        (name, domain, radius)
        for i, (name, domain, radius, reach) in enumerate(each)
        if domain.categories_
        and (radius or (radius == 0 and domain.is_ordered and reach and i not in question.immutable))
    ]
    ranks = [(name, radius) for name, domain, radius in near if domain.is_ordered]
    others = {
        name: domain.step is None or radius >= domain.step for name, domain, radius in near if not domain.is_ordered
    }
    which = "a category without an order" if ranks else "a category"
    parts = []
    if not has_distance:
        least = " at a radius of 1 or more" if question.categories == "step" else ""
        parts += [f"{which} may become any other{least}"] if others else []
        parts += ["ordered categories move by rank"] if any(radius for _, radius in ranks) else []
        still = [name for name, radius in ranks if not radius]
        return parts + ([f"no finite radius moves {_some(still)}, of a standard deviation of 0"] if still else [])
    reached = [name for name, is_so in others.items() if is_so]
    if reached:
        whose = "" if len(reached) == len(others) else f" of {_some(reached)}"
        parts.append(f"{which}{whose} may become any other")
    if len(reached) < len(others):
        whose = f" of {_some([name for name in others if name not in reached])}" if reached else ""
        parts.append(f"{which}{whose} stays as it is, a radius of 1 from any other")
    moves = [f"{name} by at most {counted(int(radius.floor()), 'rank')}" for name, radius in ranks]
    return parts + ([f"categories move by rank: {_some(moves)}"] if moves else [])


def held_back_by_categories(case: Case, fixed: Collection[int] = ()) -> str | None:
    """Return what to ask where categories that are free at any radius above 0 may be why none is safe."""
    domains, question = case.question.domains(case.model), case.question
    if any(
        i not in fixed and i not in question.immutable and domain.categories_[1:] and not domain.has_distances
        for i, domain in enumerate(domains)
    ):
        return (
            'a category without an order may become any other at any radius above 0; with categories "step" '
            "it takes a radius of 1, and immutable ones stay as they are."
        )
    return None


def allowed(question: Question) -> str:
    """Return the words that limit what is said of sets to those that the preferences allow."""
    return "" if question.choices.is_plain else " that the preferences allow"


def unit_words(question: Question) -> str:
    """Return what the radius counts, where it is what was asked for."""
    return {
        "std": "standard deviations",
        "raw": "the features' own units",
        "model": "the model's scaled units",
    }[question.unit]


def _is_cut(question: Question, model: AdditiveModel) -> bool:
    """Whether the numbers of some feature that may move end somewhere, or leave some out."""
    plain = ((), Domain.reals().spans)
    return any(
        radius != 0 and domain.spans not in plain for radius, domain in zip(question.radii, model.domains, strict=True)
    )


def _reach(question: Question) -> str:
    reach = {one for i, one in enumerate(question.reach) if i not in question.immutable}
    if len(reach) != 1:
        return f"each feature within its own radius (in {unit_words(question)})" if reach else "nothing may change"
    (radius,) = reach
    return "anywhere in the domain" if radius is None else f"within {distance(radius, question)}"


def distance(radius: Rational, question: Question) -> str:
    """Return a radius with its unit: "half a standard deviation"."""
    if question.unit == "std" and radius in (ONE / 2, ONE):
        return "half a standard deviation" if radius == ONE / 2 else "one standard deviation"
    number = in_full(radius)
    return {
        "std": f"{number} standard deviations",
        "raw": f"{number} of the row's value",
        "model": f"{number} of the model's scaled units",
    }[question.unit]


def _named(question: Question, features: Collection[int], what: str, most: int = 3) -> list[str]:
    names = [question.names[i] for i in sorted(features)]
    return [f"{_some(names, most)} {what}"] if names else []


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
