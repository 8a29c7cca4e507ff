"""MaxSAT as a neural additive model (appendix of the paper, mended): the explanation's size tells the optimum.

    python benchmarks/hard/maxsat.py FORMULA.cnf [--verifier exact|bisection]

A formula in DIMACS with n variables and m clauses becomes m² copies of one univariate network of 2n + 1 layers. Its
input, a number from 0 to 2^n - 1 scaled to [0, 1], is taken apart into bits; the output counts satisfied clauses, less
a penalty that makes only whole bits worth while. The network has some 2^n pieces: the smallest set is as hard to find
as the optimum.

Two printed steps do not work (docs/paper.md): the bit `max(0, r / 2^k - 1)` is 0 where r = 2^k exactly, so that no odd
number is ever taken apart right; and with intercept m² an explanation of size 0 means an optimum of r or of r + 1.
Here the bit is `clip(r - 2^k + 1)`, and the intercept m² - 1/2.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

import suffice


def read_dimacs(text):
    """Return the number of variables and the clauses, each a list of numbers, negative where negated."""
    variables, words = 0, []
    for line in text.splitlines():
        if line.startswith("p"):
            variables = int(line.split()[2])
        elif line.strip() and not line.startswith(("c", "%")):
            words += [int(word) for word in line.split()]
    clauses, clause = [], []
    for word in words:
        if word:
            clause.append(word)
        else:
            clauses.append(clause)
            clause = []
    return variables, [*clauses, *([clause] if clause else [])]


def satisfied(clauses, bits):
    """Return how many clauses an assignment satisfies."""
    return sum(any(bits[abs(v) - 1] == (v > 0) for v in clause) for clause in clauses)


def network_of(variables, clauses):
    """Return the univariate network: on [0, 1] its maximum is the largest number of clauses satisfied at once."""
    n, m = variables, len(clauses)
    units = 1  # before the first layer: the input t, with r = (2^n - 1) t
    read_r, read_bits = np.array([2.0**n - 1]), []
    weights, biases = [], []
    for k in reversed(range(n)):
        # units of this layer: relu(r - 2^k + 1), relu(r - 2^k), relu(r), relu(bits so far): all that is carried on is
        # ≥ 0
        rows = np.array([read_r, read_r, read_r, *read_bits])
        weights.append(rows)
        biases.append(np.array([1 - 2.0**k, -(2.0**k), 0.0, *([0.0] * len(read_bits))]))
        units = len(rows)
        bit = np.zeros(units)
        bit[0], bit[1] = 1.0, -1.0
        read_r = -(2.0**k) * bit
        read_r[2] += 1.0
        read_bits = [*np.eye(units)[3:], bit]
    penalty = m + 1.0
    rows, offsets, out = [], [], []
    for clause in clauses:  # relu(1 - Σ literals): 1 if the clause fails, 0 if it holds
        row, offset = np.zeros(units), 1.0
        for v in clause:
            row -= np.sign(v) * read_bits[abs(v) - 1]
            offset -= float(v < 0)
        rows.append(row), offsets.append(offset), out.append(-1.0)
    for bit in read_bits:
        rows += [-bit, bit]
        offsets += [0.5, -0.5]
        out += [penalty, penalty]
    weights += [np.array(rows), np.array([out])]
    biases += [np.array(offsets), np.array([m - penalty * n / 2])]
    return weights, biases


def model_of(variables, clauses):
    """Return the additive model, its row, and the number of clauses that the row's assignment (all false) satisfies."""
    m = len(clauses)
    at_row = satisfied(clauses, [False] * variables)
    weights, biases = network_of(variables, clauses)
    turned = suffice.ReluNetwork([*weights[:-1], -weights[-1]], [*biases[:-1], -(biases[-1] - at_row)])
    features = [suffice.Feature(f"copy{i}", suffice.Domain.interval(0, 1)) for i in range(m * m)]
    model = suffice.AdditiveModel([turned] * (m * m), Fraction(2 * m * m - 1, 2), "binary", features)
    return model, [0] * (m * m), at_row


def optimum_of(size, clauses, at_row):
    """Return the optimum from the size of a smallest explanation: m² - size = ⌊(m² - 1/2) / (optimum - at_row)⌋."""
    copies = len(clauses) ** 2
    for gain in range(len(clauses) + 1):
        freed = copies if gain == 0 else min(copies, (copies - 1) // gain)
        if copies - freed == size:
            return at_row + gain
    raise ValueError(f"no optimum fits an explanation of size {size}")


def main():
    from suffice.paper import BisectionVerifier, ExactVerifier, Problem, cardinally_minimal

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formula", type=Path)
    parser.add_argument("--verifier", choices=["exact", "bisection"], default="exact")
    arguments = parser.parse_args()
    variables, clauses = read_dimacs(arguments.formula.read_text())
    model, row, at_row = model_of(variables, clauses)
    verifier = {"exact": ExactVerifier, "bisection": BisectionVerifier}[arguments.verifier]()
    instance = Problem(model, max_pieces=10**6).instance(row, radius=1)
    result, _ = cardinally_minimal(instance, verifier)
    print(f"{variables} variables, {len(clauses)} clauses: {len(row)} copies, explanation of size {result.size}")
    print(f"optimum {optimum_of(result.size, clauses, at_row)} ({result.trust.value}, {result.minimality.value})")


if __name__ == "__main__":
    main()
