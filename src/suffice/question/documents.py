"""How parts of a question are written down: exact numbers as text, classes as they are in the model's file."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from suffice.model.additive import AdditiveModel

Json: TypeAlias = dict[str, Any]


def class_document(name: Any) -> Any:
    """Return a class as JSON has it."""
    plain = name.item() if isinstance(name, np.generic) else name
    return plain if isinstance(plain, (str, int, float)) else str(plain)


def read_class(model: AdditiveModel, given: Any) -> Any:
    """Return the class that is meant: this very one, or the one that is written so; else what was given."""
    for name in model.classes:
        if type(class_document(name)) is type(given) and class_document(name) == given:
            return name
    return next((name for name in model.classes if str(name) == str(given)), given)
