"""What reading and writing model files share."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

VERSION = 2  # with terms over two features; a model without them is written as version 1
KEY = "suffice"  # of the JSON document in the header
NUMBER = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", re.ASCII)

Tensors: TypeAlias = dict[str, NDArray[Any]]
Json: TypeAlias = dict[str, Any]


def is_class(name: Any) -> bool:
    """Whether a class can stand in a file: text, or a finite number."""
    return isinstance(name, (str, int, float)) and not (isinstance(name, float) and not np.isfinite(name))
