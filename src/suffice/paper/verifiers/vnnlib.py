"""Any tool of the VNN-COMP competitions: a query as an ONNX network and a VNN-LIB property, answered by a command.

The network is `Y_0 = constant + Σ networks`, of one input for each free feature in the model's scaled units; the
property asks for a point of the box with `Y_0 ≤ 0`. The answer is read from a result file as the competition has it:
`sat` with a point, `unsat`, `timeout` or `unknown`. Needs the `onnx` package (`pip install suffice[vnnlib]`).
"""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import VerifierError
from suffice.numbers.exact import nearest_float, rational
from suffice.numbers.values import Value
from suffice.paper.instance import Query
from suffice.paper.verifiers.interface import HOLDS, Reply, Trust, Verdict, Verifier, unknown

_PLACES = ("{onnx}", "{vnnlib}", "{result}")
_GRACE = 5.0  # CPU seconds that a tool may overrun its own limit
_OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU) if hasattr(signal, "SIGXCPU") else ()
_WALL = 10.0  # so many times its CPU seconds a tool may last by the clock on the wall, on a machine that is busy
_LARGEST = float(np.finfo(np.float32).max)


class CommandVerifier(Verifier):
    """Runs a command for each query.

    Parameters
    ----------
    command : str
        With the places {onnx}, {vnnlib}, {result} and, if the tool takes a limit, {timeout} (whole seconds), such as
        ``"tool --net {onnx} --prop {vnnlib} --timeout {timeout} --out {result}"``.
    name : str
        For tables.
    precision : {"float32", "float64"}
        Of the numbers in the ONNX file. Few tools read float64.
    folder : path-like, optional
        Where to leave the files of each query, numbered; default: nowhere.
    """

    trust = Trust.VERIFIED

    def __init__(
        self,
        command: str,
        name: str = "command",
        precision: str = "float32",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        if find_spec("onnx") is None:
            raise VerifierError("writing networks for other tools needs onnx: pip install 'suffice[vnnlib]'")
        missing = [place for place in _PLACES if place not in command]
        if missing:
            raise VerifierError(f"the command {command!r} lacks {', '.join(missing)}; it must say where these files go")
        self.command, self.name, self.precision = command, name, precision
        self.folder = None if folder is None else Path(folder)
        self._child_seconds = 0.0

    @property
    def child_seconds(self) -> float:
        """CPU seconds of all commands run so far."""
        return self._child_seconds

    def reply(self, query: Query, seconds: float) -> Reply:
        """Write the files, run the command, read the result."""
        before = _children()
        try:
            return self._reply(query, seconds)
        finally:
            self._child_seconds += _children() - before

    def _reply(self, query: Query, seconds: float) -> Reply:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch) if self.folder is None else self.folder / f"{len(self.asked):05d}"
            place.mkdir(parents=True, exist_ok=True)
            files = {name: place / f"query.{name}" for name in ("onnx", "vnnlib", "result")}
            files["onnx"].write_bytes(onnx_of(query, self.precision))
            files["vnnlib"].write_text(vnnlib_of(query))
            filled = {name: shlex.quote(str(file)) for name, file in files.items()}
            note = _run(self.command.format(**filled, timeout=max(1, round(seconds))), seconds + _GRACE)
            if not files["result"].exists():
                return unknown(note or "the command wrote no result")
            return read_result(query, files["result"].read_text())


def _children() -> float:
    """Return the CPU seconds of child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _run(command: str, seconds: float) -> str:
    """Run a command to its end, or end it and all its children; what went wrong, if anything."""
    # Each of its processes may use so many CPU seconds; one that only waits is ended by the clock on the wall.
    limited = f"ulimit -S -t {math.ceil(seconds)}; {command}"
    child = subprocess.Popen(
        limited, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        code = child.wait(_WALL * seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"time-out after {_WALL * seconds:.3g} s"
    if code in _OUT_OF_TIME:
        return f"time-out after {seconds:.3g} CPU s"
    return f"the command ended with status {code}" if code else ""


def onnx_of(query: Query, precision: str = "float32") -> bytes:
    """Return the query's network as an ONNX file: Gemm, Relu and Add alone, threshold in the last bias."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    kind = TensorProto.FLOAT if precision == "float32" else TensorProto.DOUBLE
    nodes: list[Any] = []
    tensors: list[Any] = []

    def tensor(name: str, array: Any) -> str:
        if precision == "float32" and np.abs(array).max(initial=0.0) > _LARGEST:
            raise VerifierError(f"{name} is too large for float32; write float64")
        tensors.append(numpy_helper.from_array(np.asarray(array, dtype=precision), name))
        return name

    last = ""
    for k, part in enumerate(query.parts):
        layers = part.component.layers.fused
        if not layers.is_relu:
            raise VerifierError(
                f"{part.component.name!r} has other units than ReLU; VNN-COMP tools are asked about those"
            )
        flow = "X"
        for depth, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
            if depth == 0:  # reads its own input only
                weight = np.outer(weight[:, 0], np.arange(len(query.parts)) == k)
            is_last = depth == len(layers.weights) - 1
            if is_last and k == 0:
                bias = bias + nearest_float(query.constant)
            name = f"part{k}_layer{depth}"
            names = [flow, tensor(f"{name}_weight", weight), tensor(f"{name}_bias", bias)]
            nodes.append(helper.make_node("Gemm", names, [name], name, transB=1))
            flow = name
            if not is_last:
                nodes.append(helper.make_node("Relu", [name], [f"{name}_relu"], f"{name}_relu"))
                flow = f"{name}_relu"
        if last:
            nodes.append(helper.make_node("Add", [last, flow], [f"sum{k}"], f"sum{k}"))
        last = f"sum{k}" if last else flow
    nodes[-1].output[0] = "Y"
    shapes = [helper.make_tensor_value_info(n, kind, [1, size]) for n, size in (("X", len(query.parts)), ("Y", 1))]
    graph = helper.make_graph(nodes, "query", shapes[:1], shapes[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


def vnnlib_of(query: Query) -> str:
    """Return the property "some point of the box has Y_0 ≤ 0" in VNN-LIB."""
    lines = [f"(declare-const X_{k} Real)" for k in range(len(query.parts))] + ["(declare-const Y_0 Real)", ""]
    for k, part in enumerate(query.parts):
        low, high = map(nearest_float, part.scaled)
        lines += [f"(assert (>= X_{k} {_decimal(low)}))", f"(assert (<= X_{k} {_decimal(high)}))"]
    return "\n".join([*lines, "", "(assert (<= Y_0 0.0))", ""])


def _decimal(value: float) -> str:
    return np.format_float_positional(value, trim="0")


def read_result(query: Query, text: str) -> Reply:
    """Return what a result file says: its first word, and the point after `sat`."""
    words = text.split(maxsplit=1)
    verdict = words[0].strip().lower() if words else ""
    if verdict in ("unsat", "holds"):
        return HOLDS
    if verdict not in ("sat", "violated"):
        return unknown(f"the tool says {verdict or 'nothing'}")
    found = dict(re.findall(r"\(\s*X_(\d+)\s+([^\s()]+)\s*\)", text))
    try:
        point: tuple[Value, ...] = tuple(part.value_of(rational(found[str(k)])) for k, part in enumerate(query.parts))
    except (KeyError, ValueError):
        return Reply(Verdict.COUNTEREXAMPLE, None, "the tool gives no point with its sat")
    return Reply(Verdict.COUNTEREXAMPLE, point, "the tool says sat")
