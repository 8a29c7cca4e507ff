"""What a PyTorch module does to its columns before the networks: it may scale them, and cut them off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.adapters.layout import Layer, Layout, State, normalisation
from suffice.errors import AdapterError
from suffice.numbers.exact import Rational, rational
from suffice.shapes import Activation

_CENTER = re.compile(r"mean|mu\b|cent(?:er|re)|loc|shift|min", re.IGNORECASE)
_SCALE = re.compile(r"std|sigma|scale|range|sd\b", re.IGNORECASE)


def scaling_of(state: State, names: Sequence[str], count: int) -> tuple[str | None, str | None, list[str]]:
    """Return which parameters beside the networks scale the columns, and those that are left.

    They are told by their names and sizes; whether the module means them so shows when it is asked.
    """
    norm = next((name.removesuffix(".running_mean") for name in names if name.endswith(".running_mean")), None)
    if norm is not None and state.size(f"{norm}.running_mean") == count:
        return norm, None, [name for name in names if not name.startswith(f"{norm}.")]
    wide = [name for name in names if state.size(name) == count]
    center = next((name for name in wide if _CENTER.search(name)), None)
    scale = next((name for name in wide if name != center and _SCALE.search(name)), None)
    return center, scale, [name for name in names if name not in (center, scale)]


def read_scaling(state: State, layout: Layout, count: int) -> list[tuple[Rational, Rational]] | None:
    """Return the centre and the scale of each column; None if the module does not scale them."""
    if layout.center is not None and f"{layout.center}.running_mean" in state:
        factor, offset = normalisation(state, layout.center, layout.epsilon)
        exact = [(rational(float(f)), rational(float(o))) for f, o in zip(factor, offset, strict=True)]
        if any(f == 0 for f, _ in exact):
            raise AdapterError(f"the normalisation at {layout.center!r} multiplies a column by 0; take that column out")
        return [(-o / f, 1 / f) for f, o in exact]
    if layout.center is None and layout.scale is None:
        return None
    centers = np.zeros(count) if layout.center is None else state.take(layout.center).ravel()
    scales = np.ones(count) if layout.scale is None else state.take(layout.scale).ravel()
    if not len(centers) == len(scales) == count or not all(scales):
        raise AdapterError(
            f"the module scales {count} columns by {len(centers)} centres and {len(scales)} scales; there must be as "
            "many, and no scale may be 0"
        )
    return [(rational(float(c)), rational(float(s))) for c, s in zip(centers, scales, strict=True)]


def with_clip(layout: Layout, module: Any) -> Layout:
    """Return a layout with the ends of a Hardtanh that a module applies to its columns, beside the networks."""
    if layout.clip is not None or module is None:
        return layout
    stem = layout.network.split("{i}")[0]
    found = [
        part
        for name, part in module.named_modules()
        if type(part).__name__ == "Hardtanh" and not re.search(rf"(?:^|\.){re.escape(stem)}\d", name)
    ]
    if len(found) != 1:
        return layout
    return replace(layout, clip=(float(found[0].min_val), float(found[0].max_val)))


def clipping(layout: Layout) -> list[Layer]:
    """Return the layer that cuts a column off, none where the module does not."""
    if layout.clip is None:
        return []
    low, high = layout.clip
    return [Layer(np.ones((1, 1), dtype=np.float32), None, None, Activation.hard_tanh(float(low), float(high)))]
