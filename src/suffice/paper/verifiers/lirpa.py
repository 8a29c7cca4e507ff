"""auto_LiRPA and α,β-CROWN behind the interface, if they are installed: both come from source, version 0.7 or newer.

Both compute in floating point, in float32 unless told otherwise: their "holds" is `VERIFIED`, and means nothing below
about 1e-7. The threshold is always in the output bias: α,β-CROWN's automatic mode was seen to compare with 0 whatever
threshold it was given, and it is asked for branch and bound alone.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from suffice.errors import VerifierError
from suffice.numbers.exact import nearest_float, rational
from suffice.paper.instance import Part, Query
from suffice.paper.layers import Floats
from suffice.paper.verifiers.bisection import BisectionVerifier, Bounds
from suffice.paper.verifiers.interface import Reply, Trust, Verdict, Verifier, unknown
from suffice.paper.verifiers.isolated import Isolated

Precision = Literal["float32", "float64"]
_OLDEST = (0, 7)
_FEW = 4  # up to so many inputs, splitting boxes settles more than splitting units
_START = 60.0  # CPU seconds that its imports may take on the first call
_NEVER = 1e6

# Over one input bisection with plain CROWN bounds is four times as fast as with α-CROWN, and an attack of few steps
# finds what one of a hundred finds. Over many inputs optimised bounds come first, then units are split.
_ONE_INPUT: dict[str, Any] = {
    "solver__bound_prop_method": "crown",
    "bab__branching__input_split__enable": True,
    "bab__branching__method": "sb",
    "attack__pgd_steps": 10,
    "attack__pgd_restarts": 5,
}
_SEVERAL: dict[str, Any] = {"bab__branching__method": "kfsb"}


class LirpaVerifier(BisectionVerifier):
    """Bisection with auto_LiRPA's CROWN bounds in place of our own.

    Parameters
    ----------
    precision : {"float32", "float64"}
        What auto_LiRPA computes in.
    max_boxes : int
        How many boxes may be bounded for one query.
    """

    name = "auto_LiRPA"
    trust = Trust.VERIFIED

    def __init__(self, precision: Precision = "float32", max_boxes: int = 1_000_000) -> None:
        super().__init__(max_boxes)
        _require("auto_LiRPA", "auto_LiRPA")
        self.precision = precision
        self._bounds: dict[object, Bounds] = {}

    def bounds_of(self, part: Part) -> Bounds:
        """Return CROWN bounds of a component; made once for all its queries."""
        if part.component not in self._bounds:
            self._bounds[part.component] = _crown(part, self.precision)
        return self._bounds[part.component]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_bounds": {}}


def _crown(part: Part, precision: Precision) -> Bounds:
    import torch
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm

    kind = getattr(torch, precision)
    module = BoundedModule(_sequential(_arrays(part), kind), torch.zeros(1, 1, dtype=kind))

    def bounds(low: Floats, high: Floats) -> Floats:
        ends = [torch.from_numpy(end).to(kind)[:, None] for end in (low, high)]
        box = BoundedTensor((ends[0] + ends[1]) / 2, PerturbationLpNorm(x_L=ends[0], x_U=ends[1]))
        with torch.no_grad():
            bottom, _ = module.compute_bounds(x=(box,), method="CROWN", bound_upper=False)
        return np.asarray(bottom[:, 0].double().numpy())

    return bounds


class AbcrownVerifier(Verifier):
    """α,β-CROWN's own branch and bound, through its Python interface, in a process of its own.

    Parameters
    ----------
    precision : {"float32", "float64"}
        What it computes in.
    device : str
        Where PyTorch computes: "cpu", or "cuda" if there is one.
    """

    name = "α,β-CROWN"
    trust = Trust.VERIFIED

    def __init__(self, precision: Precision = "float32", device: str = "cpu") -> None:
        super().__init__()
        _require("abcrown", "α,β-CROWN")
        self.precision, self.device = precision, device
        self._solver = Isolated(solve)
        self._is_started = False

    @property
    def child_seconds(self) -> float:
        """CPU seconds of the process that the solver runs in."""
        return self._solver.cpu_seconds

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return its verdict; what it calls unsafe is evaluated exactly, like any counterexample."""
        if not self._is_started:  # its imports are no part of a query's time
            self._solver.call(None, _START)
            self._is_started = True
        parts = [(_arrays(part), *map(nearest_float, part.scaled)) for part in query.parts]
        question = (parts, nearest_float(query.constant), self.precision, self.device)
        try:
            status, point = self._solver.call(question, seconds)
        except TimeoutError:
            self._is_started = False
            return unknown(f"time-out after {seconds:.3g} CPU s")
        if status in ("verified", "safe", "safe-incomplete", "safe-mip"):
            return Reply(Verdict.HOLDS, None, status)
        if status.startswith("unsafe") and point is not None:
            values = tuple(part.value_of(rational(t)) for part, t in zip(query.parts, point, strict=True))
            return Reply(Verdict.COUNTEREXAMPLE, values, status)
        return unknown(f"α,β-CROWN: {status}")


Arrays = tuple[tuple[Floats, ...], tuple[Floats, ...]]


def solve(question: Any) -> tuple[str, list[float] | None]:
    """Ask α,β-CROWN, in a process of its own, whether `constant + Σ networks > 0` on the box."""
    import torch
    from abcrown import ABCrownSolver, ConfigBuilder, VerificationSpec, input_vars, output_vars

    torch.set_num_threads(1)
    if question is None:
        return "started", None
    parts, constant, precision, device = question
    kind = getattr(torch, precision)
    model = _joint([arrays for arrays, _, _ in parts], constant, kind)
    low, high = (torch.tensor([part[k] for part in parts], dtype=kind) for k in (1, 2))
    x, y = input_vars(len(parts)), output_vars(1)
    spec = VerificationSpec.build_spec(
        input_vars=x, output_vars=y, input_constraint=(x >= low) & (x <= high), output_constraint=y[0] > 0.0
    )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "counterexample.txt"
        config = ConfigBuilder.from_defaults().set(
            general__device=device,
            general__double_fp=precision == "float64",
            general__complete_verifier="bab",
            general__save_adv_example=True,
            attack__cex_path=str(file),
            bab__timeout=_NEVER,  # by the clock on the wall; the process is ended after its CPU seconds instead
            **(_ONE_INPUT if len(parts) <= _FEW else _SEVERAL),
        )
        status = ABCrownSolver(spec, model, config=config()).solve().status
        # Which stage found the point depends on the status; the file has it in every case.
        text = file.read_text() if status.startswith("unsafe") and file.exists() else ""
    found = dict(re.findall(r"\(\s*X_(\d+)\s+([^\s()]+)\s*\)", text))
    return status, [float(found[str(k)]) for k in range(len(parts))] if len(found) == len(parts) else None


def joint_module(query: Query, kind: Any) -> Any:
    """Return a query's left side as one PyTorch module of the free features, as α,β-CROWN is asked about it."""
    return _joint([_arrays(part) for part in query.parts], nearest_float(query.constant), kind)


def _joint(networks: list[Arrays], constant: float, kind: Any) -> Any:
    return _sequential(_block_diagonal(networks, constant), kind)


def _arrays(part: Part) -> Arrays:
    layers = part.component.layers.fused
    if not layers.is_relu:
        raise VerifierError(f"this verifier takes plain ReLU networks only; {part.component.name!r} has other units")
    return layers.weights, layers.biases


def _sequential(arrays: Arrays, kind: Any) -> Any:
    """Return a network as a PyTorch module."""
    import torch

    modules: list[Any] = []
    for weight, bias in zip(*arrays, strict=True):
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=kind)
        linear.weight.data, linear.bias.data = torch.tensor(weight, dtype=kind), torch.tensor(bias, dtype=kind)
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1]).requires_grad_(False)


def _block_diagonal(networks: list[Arrays], constant: float) -> Arrays:
    """Return `x -> constant + Σ_k network_k(x[k])` as one network: one matrix a layer, threshold in the last bias."""
    from scipy.linalg import block_diag

    weights, biases = zip(*networks, strict=True)
    if len({len(layers) for layers in weights}) > 1:
        raise VerifierError("α,β-CROWN is asked about all features at once only where their networks are equally deep")
    layers = list(zip(zip(*weights, strict=True), zip(*biases, strict=True), strict=True))
    hidden = [(block_diag(*matrices), np.concatenate(offsets)) for matrices, offsets in layers[:-1]]
    matrices, offsets = layers[-1]
    last = np.hstack(matrices), np.sum(offsets, axis=0) + constant
    return tuple(layer for layer, _ in [*hidden, last]), tuple(bias for _, bias in [*hidden, last])


def _require(module: str, name: str) -> None:
    if find_spec(module) is None:
        raise VerifierError(
            f"{name} is not installed; get version {_OLDEST[0]}.{_OLDEST[1]} or newer from its source "
            f"(github.com/Verified-Intelligence) and make `import {module}` work; "
            "what PyPI has does not run on a current PyTorch"
        )
    if module == "auto_LiRPA":
        import auto_LiRPA

        version = auto_LiRPA.__version__
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
            raise VerifierError(f"auto_LiRPA {version} is too old; 0.7 or newer is needed, from its source")
