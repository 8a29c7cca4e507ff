"""A model behind transformers: in the columns that the user has, and asked through these transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import table_maker
from suffice.adapters.column import Columns, used
from suffice.adapters.draft import Draft
from suffice.adapters.pair_parts import pairs_behind
from suffice.adapters.parts import assemble, mains_of, new_model
from suffice.adapters.products import product_terms, set_apart
from suffice.errors import AdapterError
from suffice.model.additive import Feature


def put_behind(
    inner: Draft,
    columns: Columns,
    names: Sequence[str] | None,
    count: int,
    prepare: Callable[[Any], Any],
    source: str,
    *,
    has_gaps: bool = False,
) -> Draft:
    """Return the draft of a model that comes after transformers.

    Parameters
    ----------
    inner : Draft
        The model, over the columns that come to it.
    columns : Columns
        These columns, each with its source.
    names : sequence of str, optional
        Of the user's columns; None if the user has an array.
    count : int
        How many columns the user has.
    prepare : function
        What the transformers make of a table as the user has it.
    has_gaps : bool
        Whether the model takes zeros for missing cells, as XGBoost does with those of a sparse table.
    """
    called = [f"x{k}" for k in range(count)] if names is None else [str(name) for name in names]
    model, parts, pairs = inner.model, mains_of(inner.model), inner.model.pairs
    if has_gaps:
        parts = [part.with_zero_missing() for part in parts]
    if len(used(columns)) != len(parts):
        raise AdapterError(f"{inner.source} has {len(parts)} columns, but {len(used(columns))} come to it")
    apart = set_apart(columns, parts, pairs, len(model.intercept))
    sources, made = assemble(apart.columns, apart.parts, len(model.intercept), called)
    features = [Feature(called[k]) for k in sources]
    mains = [one.part for one in made]
    together = pairs_behind(pairs, columns, sources, mains, called) if pairs else []
    together += product_terms(apart, sources, mains, called)
    intercept = [a + b for a, b in zip(model.intercept, apart.constant, strict=True)]
    classes, offset = model.classes or None, model.logit_offset
    whole = new_model(mains, intercept, model.task, features, classes, model.ties, together, offset)
    table = table_maker(names, count, sources, [one.originals for one in made])
    live = inner.live

    def asked(rows: Any) -> NDArray[Any]:
        assert live is not None
        return live(_as_array(prepare(table(rows)), has_gaps=has_gaps))

    return replace(inner, model=whole, source=source, live=None if live is None else asked, table=table)


def _as_array(table: Any, *, has_gaps: bool) -> NDArray[Any]:
    if hasattr(table, "toarray"):
        table = table.toarray()
    elif hasattr(table, "to_numpy"):
        table = table.to_numpy()
    return np.where(table == 0, np.nan, table) if has_gaps else np.asarray(table)
