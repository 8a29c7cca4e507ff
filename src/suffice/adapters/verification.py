"""Trust nothing: what was read must give the original's own predictions, or it is refused.

In: a draft, and reference rows with predictions, or a live model to ask. Out: how many rows agreed, and how closely.
Guaranteed: at every row checked, what the original says agrees with the exact score to within the rounding that its
arithmetic explains: scores, probabilities, and what its `predict` answers. A live model is asked at the reference rows
and at rows of our own, always at both. The tolerance can only refuse a model; it decides nothing about one that is
taken.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.adapters.cells import listed
from suffice.adapters.draft import FLOAT32, UNSEEN, Cell, Draft, Live
from suffice.adapters.links import LINKS, probability_links
from suffice.adapters.probes import probes
from suffice.errors import AdapterError, RowError
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain, format_value
from suffice.numbers.enclosure import FIRST_BITS, middle
from suffice.numbers.exact import nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row, by_feature, read_row
from suffice.shapes import PairPieces

_LARGEST_EXPONENT = 600.0  # beyond it the float of an exponential may be infinite
_ALONE = 8  # rows asked about one by one


class Check(NamedTuple):
    """What an import was checked on."""

    rows: int
    error: float  # largest difference from the exact score, relative to the size of the parts summed


UNCHECKED = Check(0, 0.0)


class _Exact(NamedTuple):
    """The exact scores of some rows, rounded once, and the size of what is summed in each row, as a column."""

    scores: NDArray[np.float64]
    size: NDArray[np.float64]


_HINT = (
    "look for a scaler that is not part of the model, another column order, another activation or layout, or an "
    "untrained copy"
)
_OWN = "a subclass may have changed them; convert the model that it derives from, or the one inside"

_LABELS = "all of them are 0 or 1, as labels are: give scores or probabilities"
_NONE = ", or a step that fills NaN and not None: write missing cells as NaN"


def verify(
    draft: Draft,
    reference: Any = None,
    domains: Sequence[Domain] | None = None,
    read: Sequence[Row] | None = None,
) -> Check:
    """Compare a draft with its original, and with the user's reference.

    Parameters
    ----------
    reference : rows, or a pair of rows and predictions
        Predictions are scores (logits, raw margins), probabilities, or what the original predicts of a regression.
    domains : sequence of Domain, optional
        Where rows of our own are drawn from. Default: wherever the draft has a score.
    read : sequence of Row, optional
        The rows of the reference, where they were read before: thousands of columns take seconds.

    Raises
    ------
    AdapterError
        If any row disagrees, if the original is no function of a row, or if nothing is there to compare with though the
        original does not describe itself fully.
    """
    compiled = Compiled(draft.model)
    rows, predictions = split(reference)
    own = read
    if own is None:
        own = [] if rows is None and predictions is None else read_rows(draft.model, rows)
    checks = []
    if predictions is not None:
        predicts = draft.predicts or draft.link
        links = {"score": LINKS["score"], predicts: LINKS[predicts], **probability_links(draft.model)}
        given = _table(predictions, len(own), draft.model)
        is_labels = draft.model.task != "regression" and set(np.unique(given)) <= {0.0, 1.0}
        hint = _LABELS if is_labels else _HINT
        checks.append(_compare(draft, _exact(compiled, own), own, given, links, "the reference predictions", hint))
    asked = [own, _probes(draft, compiled, domains or draft.model.domains)] if draft.live is not None else []
    written = [read_cells(draft.model, rows) if own else None, None]
    checks += [_compare_live(draft, compiled, *some) for some in zip(asked, written, strict=False) if some[0]]
    if not checks and draft.doubt is not None:
        raise AdapterError(
            f"{draft.source} {draft.doubt}; give reference rows and predictions: from_model(obj, (rows, scores))"
        )
    count = len(own if checks else []) + sum(map(len, asked[1:]))
    return Check(count, max(check.error for check in checks)) if checks else UNCHECKED


def read_rows(model: AdditiveModel, rows: Any) -> list[Row]:
    """Return the rows of a reference, exactly as the original would read them."""
    return _each(lambda row: _read(model, row), rows)


def read_cells(model: AdditiveModel, rows: Any) -> list[list[Any]]:
    """Return the cells of a reference as they are, in the order of the features; other columns are left out."""
    return _each(lambda row: _cells_of(model, row), rows)


def _each(read: Callable[[Any], Any], rows: Any) -> list[Any]:
    """Return what is read of each row of a reference; an error says which row it is about."""
    values = []
    for k, row in enumerate(listed(rows)):
        try:
            values.append(read(row))
        except RowError as error:
            raise AdapterError(f"row {k} of the reference: {error}") from None
    if not values:
        raise AdapterError("the reference has no rows; give some, with what the model predicts for them")
    return values


def _compare_live(
    draft: Draft, compiled: Compiled, rows: Sequence[Row], written: Sequence[Sequence[Any]] | None
) -> Check:
    """Ask the original about some rows, all that it can be asked; about a missing cell as it is written."""
    cells: list[list[Any]] = [[_cell(value) for value in row] for row in rows]
    if written is not None:
        cells = [
            [None if raw is None else cell for cell, raw in zip(*both, strict=True)]
            for both in zip(cells, written, strict=True)
        ]
        if any(None in row for row in cells):
            draft = replace(draft, hint=draft.hint + _NONE)
    assert draft.live is not None
    given = _table(_ask(draft.live, cells, draft.source), len(rows), draft.model)
    exact = _exact(compiled, rows)
    _check_is_function(draft, cells, given, _unit(draft.link, given, exact.size))
    check = _compare(draft, exact, rows, given, {draft.link: LINKS[draft.link]}, draft.source)
    if draft.chances is not None:
        given = _table(_ask(draft.chances, cells, draft.source), len(rows), draft.model)
        _compare(
            draft, exact, rows, given, probability_links(draft.model), f"the probabilities of {draft.source}", _OWN
        )
    if draft.answers is not None and draft.model.task == "regression":
        given = _table(_ask(draft.answers, cells, draft.source), len(rows), draft.model)
        link = draft.predicts or draft.link
        _compare(draft, exact, rows, given, {link: LINKS[link]}, f"the predictions of {draft.source}", _OWN)
    elif draft.answers is not None:
        _compare_labels(draft, exact, rows, np.ravel(_ask(draft.answers, cells, draft.source)))
    return check


def _compare(
    draft: Draft,
    exact: _Exact,
    rows: Sequence[Row],
    given: NDArray[np.float64],
    links: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]],
    whose: str,
    hint: str = _HINT,
) -> Check:
    """Refuse unless predictions follow from the exact scores by one of some links."""
    intercept = draft.model.intercept
    worst = []
    for name, link in links.items():
        expected = link(exact.scores)
        if expected.shape != given.shape:
            continue
        errors = np.abs(given - expected) / _unit(name, expected, exact.size)
        row = int(np.unravel_index(np.argmax(errors), errors.shape)[0])
        worst.append((float(errors.max()), row, expected[row], given[row]))
    if not worst:
        raise AdapterError(
            f"{whose} have shape {given.shape}, but the model has {len(intercept)} scores; "
            "give a score or a probability for each row"
        )
    error, row, mine, theirs = min(worst, key=lambda found: found[0])
    if not error <= draft.precision:
        raise AdapterError(
            f"what was read from {draft.source} gives {_show(mine)} in row {row} "
            f"({_show_row(draft.model, rows[row])}), but {whose} {'says' if whose == draft.source else 'say'} "
            f"{_show(theirs)}; {_told_as_chances(draft, exact, given) or hint + draft.hint}{_scale(draft)}"
        )
    return Check(len(rows), error)


def _compare_labels(draft: Draft, exact: _Exact, rows: Sequence[Row], places: NDArray[np.int64]) -> None:
    """Refuse a model whose own `predict` decides otherwise than its scores do.

    Parameters
    ----------
    places : array of int
        Which of the classes the original predicts in each row, -1 for none of them.
    """
    model = draft.model
    scores, size = exact
    # Of two classes, 0 is what the negative one scores. A tie goes to the first of the largest, or as the model says.
    both = scores if model.task == "multiclass" else np.hstack([np.zeros_like(scores), scores])
    mine = both.argmax(axis=1)
    if model.task == "binary" and model.ties == "positive":
        mine = (scores[:, 0] >= 0).astype(np.int64)
    taken = both[np.arange(len(rows)), np.clip(places, 0, both.shape[1] - 1)]
    # Rounding explains another class only where both score alike; a probability next to 1/2 is rounded too.
    doubt = 2 * draft.precision * np.maximum(size[:, 0], 0.01)
    wrong = np.flatnonzero((places != mine) & ((places < 0) | (both.max(axis=1) - taken > doubt)))
    if not len(wrong):
        return
    row = int(wrong[0])
    theirs = model.classes[places[row]] if places[row] >= 0 else "another class"
    raise AdapterError(
        f"{draft.source} predicts {theirs!r} in row {row} ({_show_row(model, rows[row])}), but its score "
        f"{_show(scores[row])} is one of {model.classes[mine[row]]!r}: it has a decision threshold of its own, or its "
        "predict is not that of its class; set the threshold back (a probability of 0.5), or convert the model inside"
    )


def _exact(compiled: Compiled, rows: Sequence[Row]) -> _Exact:
    """Return the scores of each row, and the size of what is summed there, as a column.

    Parts are exact and rounded once, and their sum is rounded once: exact rationals of thousands of features have
    denominators of as many words, and what is compared here is rounded by the original a thousand times as much.

    A row's size is its own, so that no large row hides an error in another. Only rows whose parts all but vanish count
    as large as the first quarter of the others: a package that scales and shifts on the way rounds larger numbers.
    """
    # Rows of our own have the same few objects in many rows; to hash their values would take longer than to use them.
    known = []
    columns = list(zip(*rows, strict=True))
    for functions, column in zip(compiled.pieces, columns, strict=True):
        values = {id(value): value for value in column}
        known.append(
            {
                place: tuple(nearest_float(middle(one.value(value, FIRST_BITS))) for one in functions)
                for place, value in values.items()
            }
        )
    pairs = [_pair_parts(functions, columns[i], columns[j]) for (i, j), functions in compiled.pairs]
    start = tuple(nearest_float(value) for value in compiled.model.intercept)
    parts = []
    for row, *joint in zip(rows, *pairs, strict=True):
        own = (each[id(value)] for each, value in zip(known, row, strict=True))
        parts.append(list(zip(start, *own, *joint, strict=True)))
    scores = np.array([[_total(column) for column in row] for row in parts])
    sizes = np.array([max(_total(map(abs, column)) for column in row) for row in parts])
    positive = np.sort(sizes[sizes > 0])
    least = positive[(len(positive) - 1) // 4] if len(positive) else 1.0
    return _Exact(scores, np.maximum(sizes, least)[:, None])


def _total(parts: Iterable[float]) -> float:
    """Return a sum, rounded once; NaN if it is beyond all floats."""
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):
        return math.nan


def _pair_parts(
    functions: Sequence[PairPieces], first: Sequence[Value], second: Sequence[Value]
) -> list[tuple[float, ...]]:
    """Return what two features together add to each score, for each row."""
    cells = []
    for function in functions:
        places = []
        for axis, column in zip(function.axes, (first, second), strict=True):
            values = {id(value): value for value in column}
            known = {place: axis.cell_of(value) for place, value in values.items()}
            places.append([known[id(value)] for value in column])
        at = zip(places[0], first, places[1], second, strict=True)
        cells.append([nearest_float(function.limit(*each)) for each in at])
    return list(zip(*cells, strict=True))


def _probes(draft: Draft, compiled: Compiled, domains: Sequence[Domain]) -> list[Row]:
    """Return rows of our own; where a score is a logarithm, only those whose exponential is a float."""
    rows = probes(compiled, domains)
    if "exp" not in (draft.link, draft.predicts):
        return rows
    scores, _ = _exact(compiled, rows)
    return [row for row, score in zip(rows, scores, strict=True) if abs(score).max() < _LARGEST_EXPONENT]


def _told_as_chances(draft: Draft, exact: _Exact, given: NDArray[np.float64]) -> str:
    """Return what to do with an original that returns probabilities where scores are expected; nothing otherwise."""
    for name, link in probability_links(draft.model).items() if draft.link == "score" else ():
        expected = link(exact.scores)
        if expected.shape == given.shape and np.abs(expected - given).max() <= FLOAT32:
            return (
                f"that is the {name} of the score: give the model without its {name}, or, of a PyTorch module, say so: "
                "layout=Layout(..., link='sigmoid')"
            )
    return ""


def _scale(draft: Draft) -> str:
    """Return a hint where scores and predictions are on different scales."""
    if "exp" in (draft.link, draft.predicts):
        return " (its link is the logarithm: a score is the logarithm of what it predicts)"
    return f" (a score is the raw score times {format_value(draft.raw)})" if draft.raw != 1 else ""


def _check_is_function(
    draft: Draft, cells: list[list[Cell]], first: NDArray[np.float64], unit: NDArray[np.float64]
) -> None:
    """Refuse a model whose answer for a row depends on the time of asking, or on the rows beside it."""
    assert draft.live is not None
    again = _table(_ask(draft.live, cells, draft.source), len(cells), draft.model)
    if not np.array_equal(first, again):
        difference = float(np.abs(first - again).max())
        raise AdapterError(
            f"{draft.source} gave two different answers for the same rows (they differ by {difference:.3g}); "
            "turn off dropout and other randomness, in PyTorch with model.eval()"
        )
    for k in range(0, len(cells), max(1, len(cells) // _ALONE)):
        alone = _table(_ask(draft.live, [cells[k]], draft.source), 1, draft.model)
        difference = float(np.abs(alone[0] - first[k]).max())
        if not difference <= draft.precision * float(unit[k].max()):
            raise AdapterError(
                f"{draft.source} scores row {k} differently alone and among other rows (difference "
                f"{difference:.3g}): it is not a function of the row, so there is nothing to explain"
            )


def _ask(live: Live, cells: list[list[Cell]], source: str) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown categories or column names: the answer is what counts
            return np.asarray(live(cells))
    except AdapterError:
        raise
    except Exception as error:  # whatever the package raises: an unfitted part, a damaged pickle
        text = " ".join(str(error).split())[:160]
        raise AdapterError(f"{source} cannot predict: {type(error).__name__}: {text}") from error


def _unit(link: str, expected: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a difference is measured by."""
    if link == "exp":  # a positive mean changes, relative to itself, by as much as its logarithm
        return np.maximum(expected, 1e-300) * np.maximum(size, 1.0)
    # A probability changes less than its score, and by 1 at most.
    return size if link == "score" else np.clip(size, 1.0, 100.0)


# --- rows -------------------------------------------------------------------------------------------------------------


def split(reference: Any) -> tuple[Any, Any]:
    """Return the rows and the predictions of a reference, None for what it lacks."""
    if isinstance(reference, tuple):
        if len(reference) != 2:
            raise AdapterError(f"a reference must be rows, or a pair (rows, predictions), got {len(reference)} items")
        return reference
    return reference, None


def _cells_of(model: AdditiveModel, given: Any) -> list[Any]:
    if isinstance(given, Mapping) and not set(model.names) <= set(given) and len(given) == len(model.names):
        given = list(given.values())  # the model has no names of its own
    if isinstance(given, Mapping):
        given = {name: given[name] for name in model.names if name in given}
    return by_feature(model.names, given, what="a reference row")


def _read(model: AdditiveModel, given: Any) -> Row:
    """Return a row; a value that the original never saw is marked as such where the original takes those."""
    cells = _cells_of(model, given)
    return read_row(model, [_marked(domain, cell) for domain, cell in zip(model.domains, cells, strict=True)])


def _marked(domain: Domain, cell: Any) -> Any:
    # The original reads "0.1" as a float, so here that text is no tenth.
    if isinstance(cell, str) and not domain.holds(str(cell)):
        with suppress(ValueError):
            cell = float(cell)
    return UNSEEN if UNSEEN in domain.codes_ and cell not in domain else cell


def _cell(value: Value) -> Cell:
    return nearest_float(value) if isinstance(value, fmpq) else value


def _table(predictions: Any, rows: int, model: AdditiveModel) -> NDArray[np.float64]:
    """Return predictions as a table of floats, a row for each and a column for each score."""
    given = predictions.detach().cpu().numpy() if hasattr(predictions, "detach") else np.asarray(predictions)
    try:
        table = given.astype(np.float64).reshape(len(given), -1)
    except (TypeError, ValueError):
        raise AdapterError(
            "predictions must be scores or probabilities, not labels: labels hide small errors"
        ) from None
    if len(table) != rows:
        raise AdapterError(f"there are {rows} reference rows but {len(table)} predictions; give one for each row")
    if model.task == "binary" and table.shape[1] == 2:  # probabilities of both classes
        table = table[:, 1:]
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        raise AdapterError(f"the prediction for row {int(bad[0, 0])} is {table[tuple(bad[0])]}; all must be finite")
    return table


def _show(values: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:.9g}" for value in values)


def _show_row(model: AdditiveModel, row: Row, most: int = 3) -> str:
    shown = [f"{name}={_cell(value)}" for name, value in zip(model.names, row, strict=True)]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
