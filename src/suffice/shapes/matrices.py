"""Products of matrices of floats, on this thread alone.

Compiling a network multiplies many matrices that are too small to share out: BLAS would start its threads for them all
the same, and these spin between two products, so that every core is busy and none is faster. BLAS libraries do small
products where they are asked for; so products are made of such blocks. OpenBLAS, which NumPy brings along, keeps up to
2^18 multiplications, and up to 9216 of a matrix with a vector, on one thread; another library may not, which costs time
and nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 64


def product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `left @ right`; the terms of a sum may be added in any order."""
    rows, inner, columns = len(left), len(right), right.shape[1]
    found = np.zeros((rows, columns))
    for i in range(0, rows, _BLOCK):
        for j in range(0, columns, _BLOCK):
            for k in range(0, inner, _BLOCK):
                found[i : i + _BLOCK, j : j + _BLOCK] += (
                    left[i : i + _BLOCK, k : k + _BLOCK] @ right[k : k + _BLOCK, j : j + _BLOCK]
                )
    return found
