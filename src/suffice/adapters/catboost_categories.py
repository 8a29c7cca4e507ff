"""Categories of CatBoost: it keeps hashes of them, and for most of them numbers made of the target.

So what a split answers for a category is asked: the leaf that a tree sends a row to tells the answer of each of its
splits, and all other features stay as they are. Which categories there are, the reference rows tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from suffice.adapters.cells import float_table, listed
from suffice.adapters.draft import UNSEEN
from suffice.adapters.tree_categories import Categories
from suffice.errors import AdapterError
from suffice.model.domain import is_missing


class Asked(NamedTuple):
    """The categories of columns; and of splits, by tree and depth, the column and the codes that go left."""

    categories: Mapping[int, Categories]
    splits: Mapping[int, Mapping[int, tuple[int, frozenset[int]]]]


def has_categories(document: Mapping[str, Any]) -> bool:
    """Whether a model has features of categories."""
    return bool(document["features_info"].get("categorical_features"))


def asked_categories(obj: Any, document: Mapping[str, Any], rows: Any, source: str) -> Asked:
    """Return what a model's splits answer for each category of the reference, and for one that it never saw."""
    if isinstance(obj, Mapping) or rows is None:
        raise AdapterError(
            f"{source} has categorical features, of which it keeps no names; give the fitted model with reference "
            "rows, whose categories are then known: from_model(fitted, X)"
        )
    info = document["features_info"]
    columns = [int(one["flat_feature_index"]) for one in info["categorical_features"]]
    names = list(obj.feature_names_)
    cells = [_cells(row, names, source) for row in listed(rows)]
    if not cells:
        raise AdapterError("the reference has no rows; give some, with what the model predicts for them")
    found = {k: _categories([row[k] for row in cells]) for k in columns}
    answers = {k: _leaves(obj, cells[0], k, known, columns) for k, known in found.items()}
    splits: dict[int, dict[int, tuple[int, frozenset[int]]]] = {}
    for number, tree in enumerate(document["oblivious_trees"]):
        for depth, split in enumerate(tree["splits"] or []):
            if split["split_type"] == "FloatFeature":
                continue
            k = _column(split, info, source)
            left = frozenset(code for code, leaves in enumerate(answers[k]) if not leaves[number] >> depth & 1)
            splits.setdefault(number, {})[depth] = (k, left)
    return Asked(found, splits)


def _cells(row: Any, names: list[str], source: str) -> list[Any]:
    cells = [row.get(name) for name in names] if isinstance(row, Mapping) else list(row)
    if isinstance(row, Mapping) and not set(names) <= set(row):
        raise AdapterError(f"{source} has the columns {', '.join(names[:6])}; give reference rows with these")
    if len(cells) != len(names):
        raise AdapterError(f"a reference row has {len(cells)} cells, but {source} has {len(names)} columns")
    return cells


def _categories(cells: list[Any]) -> Categories:
    names = {str(cell): cell.item() if isinstance(cell, np.generic) else cell for cell in cells if not is_missing(cell)}
    ordered = [names[text] for text in sorted(names)]
    return Categories(ordered, range(len(ordered)), float(len(ordered)), takes_missing=False)


def _leaves(obj: Any, row: list[Any], k: int, known: Categories, columns: list[int]) -> Any:
    """Return the leaf of each tree for a row with each category, and with one that was never seen."""
    import catboost

    rows = [[name if j == k else cell for j, cell in enumerate(row)] for name in (*known.names, _never_seen(known))]
    return obj.calc_leaf_indexes(catboost.Pool(rows, cat_features=columns)).astype(np.int64)


def _never_seen(known: Categories) -> str:
    texts = {str(name) for name in known.names}
    return next(text for n in range(len(texts) + 1) if (text := UNSEEN + " " * n) not in texts)


def _column(split: Mapping[str, Any], info: Mapping[str, Any], source: str) -> int:
    """Return the column that a split is about."""
    if split["split_type"] == "OneHotFeature":
        place = int(split["cat_feature_index"])
        return int(info["categorical_features"][place]["flat_feature_index"])
    # Borders of numbers are numbered first, then categories, then what was made of the target.
    first = sum(len(one.get("borders") or ()) for one in info.get("float_features") or ())
    first += sum(len(one.get("values") or ()) for one in info["categorical_features"])
    for ctr in info.get("ctrs") or ():
        last = first + len(ctr["borders"])
        if split["split_type"] == "OnlineCtr" and first <= split["split_index"] < last:
            elements = ctr["elements"]
            if len(elements) != 1 or elements[0]["combination_element"] != "cat_feature_value":
                raise AdapterError(
                    f"{source} joins categories with other features before it splits; train it with "
                    "max_ctr_complexity=1"
                )
            place = int(elements[0]["cat_feature_index"])
            return int(info["categorical_features"][place]["flat_feature_index"])
        first = last
    raise AdapterError(f"{source} has a split of type {split['split_type']}; encode the column as numbers")


def tables(categories: Mapping[int, Categories]) -> Callable[[Any], Any]:
    """Return how rows become a table that CatBoost takes."""
    if not categories:
        return float_table

    def table(rows: Any) -> Any:
        return [
            [
                categories[k].original(cell, _never_seen(categories[k])) if k in categories else _number(cell)
                for k, cell in enumerate(row)
            ]
            for row in rows
        ]

    return table


def _number(cell: Any) -> float:
    return float_table([[cell]])[0, 0].item()
