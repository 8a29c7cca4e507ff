"""A stand-in for a VNN-COMP tool: reads ONNX and VNN-LIB, asks HiGHS, and writes the competition's result file.

    python standin.py NETWORK.onnx PROPERTY.vnnlib RESULT [seconds]

ReLU networks become a mixed-integer program with big-M constraints, minimising Y_0. Shares nothing with suffice.
"""

import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from scipy.optimize import Bounds, LinearConstraint, milp


def interval(weight, bias, low, high):
    rising, falling = np.maximum(weight, 0), np.minimum(weight, 0)
    return rising @ low + falling @ high + bias, rising @ high + falling @ low + bias


class Program:
    """Variables with bounds, and rows `Σ coefficient · variable` between two numbers."""

    def __init__(self):
        self.low, self.high, self.whole, self.rows = [], [], [], []

    def add(self, low, high, whole=0):
        self.low.append(low), self.high.append(high), self.whole.append(whole)
        return len(self.low) - 1

    def constrain(self, terms, low, high):
        self.rows.append((terms, low, high))

    def minimise(self, objective, seconds):
        matrix = np.zeros((len(self.rows), len(self.low)))
        for k, (terms, _, _) in enumerate(self.rows):
            for variable, coefficient in terms:
                matrix[k, variable] += coefficient
        rows = LinearConstraint(matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows])
        cost = np.eye(len(self.low))[objective]
        options = {"time_limit": seconds, "mip_rel_gap": 1e-9}
        return milp(cost, constraints=rows, bounds=Bounds(self.low, self.high), integrality=self.whole, options=options)


def encode(model, box, program):
    """Return the variable of the network's output."""
    values = {t.name: numpy_helper.to_array(t).astype(float) for t in model.graph.initializer}
    flow = {"X": [program.add(low, high) for low, high in box]}
    for node in model.graph.node:
        if node.op_type == "Gemm":
            source, weight, bias = flow[node.input[0]], values[node.input[1]], values[node.input[2]]
            ends = (np.array([side[v] for v in source]) for side in (program.low, program.high))
            low, high = interval(weight, bias, *ends)
            made = [program.add(a, b) for a, b in zip(low, high, strict=False)]
            for row, b, variable in zip(weight, bias, made, strict=False):
                program.constrain([*zip(source, row, strict=False), (variable, -1.0)], -b, -b)
        elif node.op_type == "Relu":
            made = [relu(program, v) for v in flow[node.input[0]]]
        elif node.op_type == "Add":
            (first,), (second,) = (flow[name] for name in node.input)
            made = [program.add(*(side[first] + side[second] for side in (program.low, program.high)))]
            program.constrain([(first, 1.0), (second, 1.0), (made[0], -1.0)], 0, 0)
        else:
            raise SystemExit(f"unknown operator {node.op_type}")
        flow[node.output[0]] = made
    (output,) = flow["Y"]
    return output


def relu(program, variable):
    low, high = program.low[variable], program.high[variable]
    result = program.add(max(low, 0.0), max(high, 0.0))
    if low >= 0:
        program.constrain([(variable, 1.0), (result, -1.0)], 0, 0)
    elif high > 0:
        is_on = program.add(0, 1, whole=1)
        program.constrain([(result, 1.0), (variable, -1.0)], 0, np.inf)
        program.constrain([(result, 1.0), (variable, -1.0), (is_on, -low)], -np.inf, -low)
        program.constrain([(result, 1.0), (is_on, -high)], -np.inf, 0)
    return result


def main(network, wanted, result, seconds="60"):
    text = Path(wanted).read_text()
    assert "(assert (<= Y_0 0.0))" in text
    sides = [dict(re.findall(rf"\(assert \({sign} X_(\d+) (\S+)\)\)", text)) for sign in (">=", "<=")]
    box = [(float(sides[0][str(k)]), float(sides[1][str(k)])) for k in range(len(sides[0]))]
    program = Program()
    output = encode(onnx.load(network), box, program)
    found = program.minimise(output, float(seconds))
    with open(result, "w") as file:
        if found.status != 0:
            file.write("timeout\n")
        elif found.fun > 0:
            file.write("unsat\n")
        else:
            point = [f"(X_{k} {value!r})" for k, value in enumerate(found.x[: len(box)].tolist())]
            file.write("sat\n(" + "\n".join([*point, f"(Y_0 {float(found.fun)!r})"]) + ")\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
