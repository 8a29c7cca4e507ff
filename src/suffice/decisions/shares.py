"""For which share of a table does a feature never matter, and for which does nothing nearby change the decision?

In: the rows of a table, and a question. Out: `Unaffected` and `Stability`. Both read what is proven of each row: that
fixing nothing suffices, where only some features may move, or all of them within a radius. Most rows are settled by
floats with error bounds, the others exactly, as in every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.answers.documents import number_document
from suffice.answers.words import approximately, counted, region
from suffice.batch.result import BatchResult
from suffice.certificate.document import Certificate, PathLike
from suffice.core.case import Case
from suffice.core.drops import bound_drops
from suffice.decisions.rows import Mask, Portfolio
from suffice.decisions.words import failed_facts
from suffice.errors import DataError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.numbers.exact import ZERO, to_fraction
from suffice.question.box import Box
from suffice.question.claims import Same
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.search.sufficiency import sufficiency


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some rows something is proven of.

    Parameters
    ----------
    count, rows : int
        Of so many rows, so many.

    Examples
    --------
    >>> str(Share(1, 8)), float(Share(0, 0))
    ('12.5 % (1 of 8)', nan)
    """

    count: int
    rows: int

    def __float__(self) -> float:
        return self.count / self.rows if self.rows else float("nan")

    def __str__(self) -> str:
        if not self.rows:
            return "no rows"
        # Rounded down: a share is proven, so that 99.96 % must not be shown as all.
        tenths = self.count * 1000 // self.rows
        return f"{tenths // 10}.{tenths % 10} % ({self.count:,} of {self.rows:,})"

    def document(self) -> Json:
        """Return the share as JSON."""
        return {"count": self.count, "rows": self.rows}


@dataclass(frozen=True)
class Unaffected(Told):
    """For which rows of a table some features never matter: whatever values they take, the decision stays.

    Parameters
    ----------
    portfolio : Portfolio
        The model, and the rows of the table.
    question : Question
        What may move, how far, and what must stay true.
    features : tuple of str
        The features that move, together.
    rows : array of bool
        For each row of the table whether it is proven unaffected; False too where it could not be read.
    share : Share
        Of all rows that could be read.
    by_class : dict
        The same for each predicted class; empty for a regression.
    effect : Fraction or None
        The most that the features can move the score on any input, over their whole domains; None where that is not
        known (several scores, terms over two features) or without bound.
    failed : mapping of int to str
        Rows that could not be read, or of which the claim cannot be made, and why.
    unsettled : tuple of int
        Rows of which neither is proven, as smooth shapes leave a tie open; none of other models.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import AdditiveModel, Explainer, Steps, Table
    >>> model = AdditiveModel([Steps([18], [-1, 2]), Table({"f": 0, "m": 1})], -0.5, features=["age", "sex"])
    >>> found = Explainer(model).unaffected(np.array([[30, "f"], [10, "f"], [10, "m"]], dtype=object), ["sex"])
    >>> str(found.share), found.rows.tolist(), found.effect
    ('100.0 % (3 of 3)', [True, True, True], Fraction(1, 1))
    """

    portfolio: Portfolio
    question: Question
    features: tuple[str, ...]
    rows: NDArray[np.bool_]
    share: Share
    by_class: Mapping[Any, Share]
    effect: Fraction | None
    failed: Mapping[int, str]
    unsettled: tuple[int, ...] = ()

    def certificate(self, k: int, model_file: PathLike | None = None) -> Certificate:
        """Return the proof that a row is unaffected, or is not."""
        return _certificate(self.portfolio, self.question, k, self.failed, model_file)

    def facts(self) -> Facts:
        """Return the shares, each predicted class apart, and the largest effect."""
        is_same = isinstance(self.question.claim, Same)
        what = "the prediction stays the same" if is_same else "the claim stays true"
        told = [Fact("Moving", f"{', '.join(self.features)}: {region(self.question, self.portfolio.compiled.model)}")]
        others = self.share.rows - self.share.count - len(self.unsettled)
        rest = f"; of every other row they can {'change' if is_same else 'break'} it" if others else ""
        told.append(Fact("Proven", f"{what}, whatever they do, for {self.share} of the rows{rest}."))
        told += _open_facts(self.unsettled)
        grid = Grid(("predicted", "unaffected"), tuple(Row((str(one), str(n))) for one, n in self.by_class.items()))
        effect = (
            [
                Fact(
                    "Largest effect",
                    f"on any input at all they move the score by {approximately(self.effect)} at most.",
                )
            ]
            if self.effect is not None
            else []
        )
        proxies = Fact("Not covered", "other features that stand in for these (proxies) are held at the row's values.")
        return (*told, *([grid] if self.by_class else []), *effect, proxies, *failed_facts(self.failed))

    def document(self) -> Json:
        """Return the shares as JSON."""
        return {
            "question": self.question.document(),
            "features": list(self.features),
            "share": self.share.document(),
            "by_class": [{"class": class_document(one), **n.document()} for one, n in self.by_class.items()],
            "effect": None if self.effect is None else number_document(self.effect),
            "affected": [
                k for k in np.flatnonzero(~self.rows).tolist() if k not in self.failed and k not in self.unsettled
            ],
            "unsettled": list(self.unsettled),
            "failed": {str(k): text for k, text in self.failed.items()},
        }


@dataclass(frozen=True)
class Stability(Told):
    """For which share of a table nothing within a radius changes the decision, for several radii.

    Parameters
    ----------
    portfolio : Portfolio
        The model, and the rows of the table.
    questions : tuple of Question
        One for each radius.
    radii : tuple of str
        The radii as they were given.
    rows : array of bool
        For each radius (first index) and row whether it is proven stable.
    shares : tuple of Share
        The share of stable rows at each radius.
    right : tuple of Share, or None
        The share of rows that are stable and predicted as they are labelled; None without labels.
    failed : mapping of int to str
        Rows that could not be read, and why.
    unsettled : tuple of tuples of int
        For each radius rows of which neither is proven, as smooth shapes leave a tie open; none of other models.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> found = explainer.stability(np.array([[17], [20], [40]]), [1, 5, 30], unit="raw", labels=[0, 0, 1])
    >>> [str(share) for share in found.shares]
    ['66.6 % (2 of 3)', '33.3 % (1 of 3)', '0.0 % (0 of 3)']
    >>> [share.count for share in found.right]
    [1, 1, 0]
    """

    portfolio: Portfolio
    questions: tuple[Question, ...]
    radii: tuple[str, ...]
    rows: NDArray[np.bool_]
    shares: tuple[Share, ...]
    right: tuple[Share, ...] | None
    failed: Mapping[int, str]
    unsettled: tuple[tuple[int, ...], ...] = ()

    def certificate(self, radius: int, k: int, model_file: PathLike | None = None) -> Certificate:
        """Return the proof that a row is stable at a radius, by its place in the list, or is not."""
        return _certificate(self.portfolio, self.questions[radius], k, self.failed, model_file)

    def facts(self) -> Facts:
        """Return the share for each radius."""
        unit = {"std": "standard deviations", "raw": "the features' own units", "model": "scaled units"}
        is_plain = isinstance(self.questions[0].claim, Same)
        what = "whose prediction nothing within the radius changes" if is_plain else "whose claim nothing there breaks"
        step = ", another category a radius of 1 away" if self.questions[0].categories == "step" else ""
        told = f"share of rows {what} (in {unit[self.questions[0].unit]}{step})."
        heads = ("radius", "stable") + (("stable and right",) if self.right is not None else ())
        right = self.right or ()
        each = zip(self.radii, self.shares, *([right] if right else []), strict=True)
        rows = tuple(Row((f"radius {radius}", *map(str, shares))) for radius, *shares in each)
        note = [Fact("Columns", ", ".join(heads))] if self.right is not None else []
        open_ones = _open_facts(sorted({k for some in self.unsettled for k in some}))
        return (Fact("Proven", told), *note, Grid(heads, rows), *open_ones, *failed_facts(self.failed))

    def document(self) -> Json:
        """Return the shares as JSON."""
        right = self.right or (None,) * len(self.shares)
        return {
            "radii": [
                {"question": question.document(), "stable": share.document(), "unsettled": list(some)}
                | ({} if both is None else {"stable_and_right": both.document()})
                for question, share, both, some in zip(self.questions, self.shares, right, self.unsettled, strict=True)
            ],
            "failed": {str(k): text for k, text in self.failed.items()},
        }


def unaffected(portfolio: Portfolio, question: Question, features: Sequence[int]) -> Unaffected:
    """Return for which rows some features never matter; the question holds all others at the row."""
    compiled = portfolio.compiled
    answered = portfolio.ask(question)
    readable = _readable(len(portfolio), answered.messages)
    stays, is_open = _stays(portfolio, answered)
    is_free = stays & readable
    model = compiled.model
    by_class = {
        name: Share(int((is_free & (answered.answers.classes == k)).sum()), int((answered.answers.classes == k).sum()))
        for k, name in enumerate(model.classes)
    }
    return Unaffected(
        portfolio,
        question,
        tuple(model.names[i] for i in features),
        is_free,
        Share(int(is_free.sum()), int(readable.sum())),
        by_class,
        _largest_effect(compiled, features),
        answered.messages,
        tuple(np.flatnonzero(is_open & readable).tolist()),
    )


def stability(
    portfolio: Portfolio, questions: Sequence[Question], radii: Sequence[str], is_right: Mask | None
) -> Stability:
    """Return for which rows nothing within a radius changes the decision, for each question."""
    rows, is_open, failed = [], [], dict[int, str]()
    for question in questions:
        answered = portfolio.ask(question)
        failed |= answered.messages
        stays, neither = _stays(portfolio, answered)
        rows.append(stays)
        is_open.append(neither)
    readable = _readable(len(portfolio), failed)
    stable = np.array(rows) & readable if rows else np.zeros((0, len(portfolio)), dtype=bool)
    count = int(readable.sum())
    shares = tuple(Share(int(one.sum()), count) for one in stable)
    right = None if is_right is None else tuple(Share(int((one & is_right).sum()), count) for one in stable)
    unsettled = tuple(tuple(np.flatnonzero(one & readable).tolist()) for one in is_open)
    return Stability(portfolio, tuple(questions), tuple(radii), stable, shares, right, failed, unsettled)


def _stays(portfolio: Portfolio, answered: BatchResult) -> tuple[Mask, Mask]:
    """Return for which rows fixing nothing suffices, and for which neither that nor its opposite is proven."""
    found, is_open = np.asarray(answered.sizes == 0), np.zeros(len(portfolio), dtype=bool)
    for k in np.flatnonzero((answered.sizes > 0) & (answered.lower_bounds == 0)).tolist():
        case = Case.of(portfolio.compiled, answered.question, portfolio.row(k))
        one = sufficiency.of(case, ())
        is_open[k] = one.caveat is not None
        found[k] = not is_open[k] and bool(one)
    return found, is_open


def _open_facts(rows: Sequence[int]) -> list[Fact]:
    """Return which rows smooth shapes leave open, if any."""
    shown = ", ".join(map(str, rows[:10])) + (", ..." if len(rows) > 10 else "")
    return (
        [Fact("Not settled", f"{counted(len(rows), 'row')}, where it is a tie or close to one: {shown}.")]
        if rows
        else []
    )


def _certificate(
    portfolio: Portfolio, question: Question, k: int, failed: Mapping[int, str], model_file: PathLike | None
) -> Certificate:
    if k in failed or not 0 <= k < len(portfolio):
        raise DataError(f"row {k}: {failed.get(k, f'the {len(portfolio)} rows of the table count from 0')}")
    return sufficiency.of(Case.of(portfolio.compiled, question, portfolio.row(k)), ()).certificate(model_file)


def _readable(count: int, failed: Mapping[int, str]) -> Mask:
    mask = np.ones(count, dtype=bool)
    mask[list(failed)] = False
    return mask


def _largest_effect(compiled: Compiled, features: Sequence[int]) -> Fraction | None:
    """Return how far apart the score can be on two inputs that differ in some features alone; None if not known."""
    if len(compiled.model.intercept) > 1 or compiled.model.pairs or compiled.is_curved:
        return None
    anchor, effect = Box.read(compiled.model, {}).anchor(), ZERO
    for i in features:
        reach = compiled.model.domains[i]
        for sign in (1, -1):  # how far it falls from the anchor, and how far it rises
            function = compiled.lines((sign,))[i]
            (drop,), _ = bound_drops([function], [function(anchor[i])], (anchor[i],), (reach,))
            if drop.is_infinite:
                return None
            effect += drop.value
    return to_fraction(effect)
