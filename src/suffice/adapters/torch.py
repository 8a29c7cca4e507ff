"""PyTorch: modules and state_dicts with one small network for each feature, or one basis that all share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places
from suffice.adapters.draft import FLOAT32, Cell, Draft, Live, Options, name_features
from suffice.adapters.layout import (
    HARD_SIGMOID,
    LAYOUTS,
    Array,
    Layout,
    Squeezed,
    State,
    read_network,
    to_shape,
)
from suffice.adapters.torch_grouped import is_grouped, is_linear, mixes_columns, read_grouped, read_linear
from suffice.adapters.torch_inputs import clipping, read_scaling, scaling_of, with_clip
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.numbers.exact import nearest_float
from suffice.shapes import Activation, Readout, ReluNetwork, Shape, SmoothFunction, SmoothNetwork
from suffice.shapes.network import Network

# Smooth activations, and what each is called here.
_SMOOTH: Mapping[str, Callable[[Any], SmoothFunction]] = {
    "CELU": lambda part: SmoothFunction("celu", float(part.alpha)),
    "ELU": lambda part: SmoothFunction("elu", float(part.alpha)),
    "GELU": lambda part: SmoothFunction("gelu_tanh" if part.approximate == "tanh" else "gelu"),
    "Hardswish": lambda part: SmoothFunction("hardswish"),
    "Mish": lambda part: SmoothFunction("mish"),
    "SELU": lambda part: SmoothFunction("selu"),
    "SiLU": lambda part: SmoothFunction("silu"),
    "Sigmoid": lambda part: SmoothFunction("sigmoid"),
    "Sine": lambda part: SmoothFunction("sine"),
    "Softplus": lambda part: SmoothFunction("softplus", float(part.beta)),
    "Tanh": lambda part: SmoothFunction("tanh"),
}
_OTHERS = {
    "GLU": "multiplies units with each other",
    "LogSigmoid": "is not known here",
    "Softsign": "is not known here",
    "LayerNorm": "divides by a length that depends on all units",
    "GroupNorm": "divides by a length that depends on several units",
    "RMSNorm": "divides by a length that depends on all units",
}
_HINT = (
    "; if it clamps its inputs: layout=Layout(..., clip=(low, high)); if it calls another activation than ReLU as a "
    "function: layout=Layout(..., activation='tanh')"
)
_NO_PARAMETERS = {"Dropout", "Dropout1d", "AlphaDropout", "Identity", "Flatten", "Unflatten"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a module, a state_dict, a Lightning checkpoint, or a list of these (an ensemble)."""
    members = _members(obj)
    parts = [_Member(member, options) for member in members]
    shapes = [_mean([part.shapes[i] for part in parts]) for i in range(len(parts[0].shapes))]
    if any(len(part.shapes) != len(shapes) for part in parts):
        raise AdapterError("the members of an ensemble must have the same features")
    intercept = [sum(column, Fraction(0)) / len(parts) for column in zip(*(p.intercept for p in parts), strict=True)]
    features = name_features(None, len(shapes), options.features)
    task = _task(parts[0], len(intercept), options.task or _told_task(obj))
    modules = [part.module for part in parts]
    live = None if any(module is None for module in modules) else _live(modules, features)
    doubt = "is a state_dict, which does not say which activations it was trained with"
    if not (_is_wrapper(obj) and task == "binary" and hasattr(obj, "predict_proba")):
        model = AdditiveModel(shapes, intercept, task, features, options.classes)
        return Draft(model, _source(obj), live, parts[0].link, FLOAT32, doubt, hint=_HINT)
    # It rounds its probabilities, a half to 0.
    model = AdditiveModel(shapes, intercept, task, features, options.classes, ties="negative")
    chances, labels = (_asked(getattr(obj, method), features) for method in ("predict_proba", "predict"))

    def answers(rows: list[list[Cell]]) -> NDArray[Any]:
        return class_places(labels(rows), [0.0, 1.0])

    return Draft(model, _source(obj), live, parts[0].link, FLOAT32, doubt, chances=chances, answers=answers)


def _source(obj: Any) -> str:
    return "the state_dict" if isinstance(obj, Mapping) else f"the {type(obj).__name__}"


def _is_wrapper(obj: Any) -> bool:
    """Whether an object is an estimator of lemeln's, which holds its networks in a list."""
    return type(obj).__module__.split(".")[0] == "nam" and not hasattr(obj, "state_dict")


def _told_task(obj: Any) -> str | None:
    if not _is_wrapper(obj) or getattr(obj, "num_tasks", 1) != 1:
        return None
    return {"NAMClassifier": "binary", "NAMRegressor": "regression"}.get(type(obj).__name__)


def _members(obj: Any) -> list[Any]:
    if _is_wrapper(obj):
        obj = getattr(obj, "models", ())
    members = list(obj) if isinstance(obj, (list, tuple)) or type(obj).__name__ == "ModuleList" else [obj]
    if not members:
        raise AdapterError("the ensemble is empty; it may not be fitted yet")
    return members


class _Member:
    """One network of an ensemble: its shapes, its intercept, and how to ask it."""

    def __init__(self, obj: Any, options: Options) -> None:
        self.module = obj if hasattr(obj, "state_dict") else None
        self.link: Any = "score"
        self.task: str | None = None
        if self.module is not None:
            _check_module(self.module)
        state = State(_tensors(obj))
        if any("bases_nary_models" in name or "concept_nary_nns" in name for name in state.names):
            self.shapes, self.intercept = _read_basis_model(state.without_prefix("bases_nary_models"))
            return
        if options.layout is None and is_grouped(state, self.module):
            self.shapes, self.intercept = read_grouped(state, self.module, activation_of)
            return
        if options.layout is None and is_linear(state):
            self.shapes, self.intercept = read_linear(state)
            return
        layout = with_clip(self._layout(state, options.layout), self.module)
        state = state.without_prefix(re.escape(layout.network.split("{i}")[0]) + r"\d")
        self.link, self.task = layout.link, layout.task
        if self.module is not None:
            _check_outside(self.module, layout.network.split("{i}")[0])
        self.shapes, self.intercept = _read_networks(state, layout, self.module)

    def _layout(self, state: State, given: Any) -> Layout:
        if isinstance(given, Layout):
            return given
        if given is not None:
            if given not in LAYOUTS:
                raise AdapterError(f"unknown layout {given!r}; choose from {', '.join(LAYOUTS)}, or give a Layout(...)")
            return LAYOUTS[given]
        return _recognise(state, self.module)


def _tensors(obj: Any) -> Mapping[str, Any]:
    tensors = obj.state_dict() if hasattr(obj, "state_dict") else obj
    if isinstance(tensors, Mapping) and isinstance(tensors.get("state_dict"), Mapping):  # a Lightning checkpoint
        tensors = tensors["state_dict"]
    if not isinstance(tensors, Mapping) or not any(hasattr(tensor, "shape") for tensor in tensors.values()):
        raise AdapterError(f"a {type(obj).__name__} holds no parameters; give a module or its state_dict")
    return tensors


def _check_module(module: Any) -> None:
    """Refuse what the parameters alone would not show: training mode, other layers."""
    if any(part.training for part in module.modules()):
        raise AdapterError(
            f"the {type(module).__name__} is in training mode, in which dropout and batch normalisation depend on "
            "chance and on other rows; call model.eval() first"
        )
    for name, part in module.named_modules():
        kind = type(part).__name__
        if kind in _OTHERS:
            instead = "BatchNorm1d, or without it" if kind.endswith("Norm") else "ReLU, SiLU or Tanh"
            raise AdapterError(f"{name!r} is a {kind}, which {_OTHERS[kind]}; train with {instead}")


def _check_outside(module: Any, stem: str) -> None:
    """Refuse smooth activations that are in none of the networks: what they are applied to does not show."""
    for name, part in module.named_modules():
        kind = type(part).__name__
        if kind in _SMOOTH and not re.search(rf"(?:^|\.){re.escape(stem)}\d", name):
            raise AdapterError(
                f"{name!r} is a {kind} outside of the networks of the features; if it turns the score into a "
                "probability, give the module without it"
            )


# --- one network for each feature -------------------------------------------------------------------------------------


def _recognise(state: State, module: Any) -> Layout:
    """Return the layout that the keys show; exponential units show in the live module only."""
    keys = " ".join(state.names)
    kinds = {type(part).__name__ for part in module.modules()} if module is not None else set()
    units = "-exu" if kinds & {"ExU", "ExULayer"} else ""
    if re.search(r"feature_nns\.0\.feature_nns\.0\.model\.0\.weights", keys):
        return LAYOUTS[f"nam-multitask{units}"]
    if re.search(r"feature_nns\.0\.model\.0\.weights", keys):
        return LAYOUTS[f"nam{units}"]
    if re.search(r"feature_nns\.0\.layers\.0\.weight", keys):
        hidden = (
            [type(p).__name__ for n, p in module.named_modules() if re.search(r"layers\.[1-9]$", n)] if kinds else []
        )
        return LAYOUTS["nam-pt-exu-hidden" if hidden and set(hidden) == {"ExULayer"} else f"nam-pt{units}"]
    if re.search(r"shape_functions\.0\.model\.0\.weight", keys):
        return LAYOUTS["pytorch-nam"]
    if re.search(r"networks\.0\.l1\.weight", keys):
        return LAYOUTS["nam-pytorch"]
    return _infer(state)


def _infer(state: State) -> Layout:
    """Return a layout for keys such as `nets.0.layers.2.weight` or `nets.0.fc1.weight` and `nets.0.out.weight`.

    All networks must have the same layers, numbered after one name or in the order of their keys; one global bias may
    stand beside. Whether the module goes through them in that order shows when it is asked.
    """
    matches = [re.fullmatch(r"(.*?)(\d+)\.(.+)\.weight", name) for name in state.names]
    layers: dict[tuple[str, str], list[str]] = {}
    for match in matches:
        if match:
            layers.setdefault((match.group(1), match.group(2)), []).append(match.group(3))
    networks, lists = {network for network, _ in layers}, list(layers.values())
    names = lists[0] if lists else []
    numbers = [int(found.group()) if (found := re.search(r"\d+$", name)) else None for name in names]
    stems = {re.sub(r"\d+$", "", name) for name in names}
    is_shown = len(networks) == 1 and all(one == names for one in lists)
    if not is_shown and mixes_columns(state):
        raise AdapterError(
            f"the first layer, {state.names[0]!r}, mixes {state.shape(state.names[0])[1]} columns, so the model is no "
            "sum of functions of one; train a network for each column, as suffice.nam.NAMClassifier does"
        )
    if not is_shown:
        raise AdapterError(
            f"the keys, {state.names[0]!r} first, do not show one network for each feature, numbered as those in an "
            "nn.ModuleList are; say where they are: layout=Layout(network='nets.{i}', layer='layers.{k}', "
            "intercept='bias')"
        )
    (network,) = networks
    others = [name for name in state.names if not name.startswith(network)]
    center, scale, others = scaling_of(state, others, len(layers))
    intercept = others[0] if len(others) == 1 else None
    layer = f"{min(stems)}{{k}}" if len(stems) == 1 and None not in numbers else tuple(names)
    return Layout(f"{network}{{i}}", layer, None, intercept, center=center, scale=scale)


def _read_networks(state: State, layout: Layout, module: Any) -> tuple[list[Shape], list[Fraction]]:
    numbers = state.numbers(layout.network.replace("{i}", "{}"))
    if not numbers or numbers != list(range(len(numbers))):
        raise AdapterError(
            f"the networks at {layout.network!r} are numbered {numbers[:6]}, not 0, 1, 2, ... for each feature; "
            "the model has another layout"
        )
    read = [_read_feature(state, layout.network.replace("{i}", str(i)), layout, module) for i in numbers]
    scaling = read_scaling(state, layout, len(read))
    outputs = read[0][0].outputs
    intercept = [Fraction(0)] * outputs
    bias = None if layout.intercept is None else state.take(layout.intercept)
    for offset in (bias, *(offset for _, offset in read)):
        if offset is not None:
            if offset.size != outputs:
                raise AdapterError(
                    f"a bias of {offset.size} numbers does not fit the {outputs} outputs of the networks"
                )
            intercept = [a + Fraction(float(b)) for a, b in zip(intercept, offset.ravel(), strict=True)]
    state.check_all_read()
    shapes = [shape for shape, _ in read]
    if scaling is not None:
        shapes = [shape.rescaled(*each) for shape, each in zip(shapes, scaling, strict=True)]
    return shapes, intercept


def _read_feature(state: State, place: str, layout: Layout, module: Any) -> tuple[Shape, Array | None]:
    """Return the shape of one feature, and the bias of its mixing layer."""
    if layout.mix is None:
        layers = read_network(state, place, layout, _activations(module, place, layout))
        return to_shape([*clipping(layout), *layers], place), None
    mix = state.take(f"{place}.{layout.mix}.weight")  # (tasks, networks)
    parts: list[Shape] = []
    for k in range(mix.shape[1]):
        inner = f"{place}.{layout.network.replace('{i}', str(k))}"
        layers = read_network(state, inner, layout, _activations(module, inner, layout))
        last = layers[-1]._replace(activation=Activation.identity())
        mixing = last._replace(weight=mix[:, k : k + 1], bias=None, centre=None)
        parts.append(to_shape([*clipping(layout), *layers[:-1], last, mixing], inner))
    return reduce(Shape.__add__, parts), state.take_if_there(f"{place}.{layout.mix}.bias")


def _activations(module: Any, place: str, layout: Layout) -> list[Activation | SmoothFunction | Squeezed] | None:
    """Return the activations that a live network has as modules, in order; None if it calls them as functions."""
    if module is None or layout.centred != "never" or layout.exu != "none":
        return None
    below = [part for name, part in module.named_modules() if re.search(rf"(?:^|\.){re.escape(place)}\.", name)]
    read = (activation_of(part) for part in below if not list(part.children()))
    found = [activation for activation in read if activation is not None]
    return found or None


def activation_of(part: Any) -> Activation | SmoothFunction | Squeezed | None:
    """Return the activation that a module is, None if it is another layer that is known."""
    kind = type(part).__name__
    if kind in _SMOOTH:
        return _SMOOTH[kind](part)
    if kind == "ReLU":
        return Activation.relu()
    if kind == "ReLU6":
        return Activation.relu_n(6.0)
    if kind == "LeakyReLU":  # PyTorch rounds the slope to the type of the activations
        return Activation.leaky_relu(np.float32(part.negative_slope))
    if kind == "PReLU":
        return Activation.leaky_relu(part.weight.detach().cpu().numpy())
    if kind == "Hardtanh":
        return Activation.hard_tanh(float(part.min_val), float(part.max_val))
    if kind == "Hardsigmoid":
        return HARD_SIGMOID
    if kind in _NO_PARAMETERS or kind in ("Linear", "Conv1d") or "BatchNorm1d" in kind:
        return None
    raise AdapterError(f"a layer of type {kind} is not supported; use Linear, BatchNorm1d, Dropout and ReLU-like ones")


# --- one basis for all features (NBM) ---------------------------------------------------------------------------------


def _read_out(basis: Network, weight: Array) -> Shape:
    """Return a linear combination of the outputs of a basis; a smooth one is not shared, but gets one more layer."""
    if isinstance(basis, ReluNetwork):
        return Readout(basis, weight)
    assert isinstance(basis, SmoothNetwork)
    return basis.read_by(weight)


def _read_basis_model(state: State) -> tuple[list[Shape], list[Fraction]]:
    """Return the shapes of a neural basis model: `V[c, i] (u_i · B(x_i) + a_i)` with one network B."""
    orders = {match.group(1) for name in state.names if (match := re.match(r"bases_nary_models\.ord(\d+)_net", name))}
    if orders != {"1"}:
        what = f"terms of order {', '.join(sorted(orders))}" if orders else "a layout of its own"
        raise AdapterError(f"this model of nbm-spam has {what}; only NBM of order 1 (nary=None) is read")
    if "classifier.weight" not in state:
        raise AdapterError("this model of nbm-spam multiplies features (polynomial=...), so it is not additive")
    bases = []
    for k in state.numbers("bases_nary_models.ord1_net{}"):
        place = f"bases_nary_models.ord1_net{k}"
        layout = Layout("", "model.{k}")
        layers = read_network(state, place, layout, None)
        bases.append(to_shape(layers, place, keeps_last=True))
    reading, shift = state.take("featurizer.weight")[..., 0], state.take("featurizer.bias")
    deciding, bias = state.take("classifier.weight"), state.take("classifier.bias")
    state.check_all_read()
    count = len(reading) // len(bases)
    if np.float64 in (reading.dtype, deciding.dtype):
        raise AdapterError("a neural basis model in float64 is not read; convert it with model.float() first")
    # The product of two float32 numbers is a float64, exactly.
    doubled = deciding.astype(np.float64)
    shapes: list[Shape] = []
    for i in range(count):
        places = [k * count + i for k in range(len(bases))]
        weights = [doubled[:, k][:, None] * reading[k].astype(np.float64) for k in places]
        parts: list[Shape] = [_read_out(basis, weight) for basis, weight in zip(bases, weights, strict=True)]
        shapes.append(reduce(Shape.__add__, parts))
    intercept = [
        Fraction(float(b))
        + sum((Fraction(float(v)) * Fraction(float(a)) for v, a in zip(row, shift, strict=True)), Fraction(0))
        for b, row in zip(bias, deciding, strict=True)
    ]
    return shapes, intercept


# --- together ---------------------------------------------------------------------------------------------------------


def _mean(shapes: Sequence[Shape]) -> Shape:
    return shapes[0] if len(shapes) == 1 else reduce(Shape.__add__, shapes) * Fraction(1, len(shapes))


def _task(part: _Member, outputs: int, given: str | None) -> str:
    if outputs > 1:
        if given in ("binary", "regression"):
            raise AdapterError(f"the model has {outputs} outputs, so it is not a {given} model; give task='multiclass'")
        if given is None:
            raise AdapterError(
                f"the model has {outputs} outputs and does not say whether they are classes; if the largest one wins, "
                "say task='multiclass'"
            )
        return given
    if part.task is not None and given is not None and given != part.task:
        raise AdapterError(f"this code base makes {part.task} models, not {given} ones")
    if part.task is None and given is None:
        raise AdapterError("weights do not say what the score decides; give task='binary' or 'regression'")
    return str(given or part.task)


def _scaled(rows: list[list[Cell]], features: Sequence[Feature]) -> NDArray[np.float64]:
    table = np.array(rows, dtype=np.float64)
    scaled: NDArray[np.float64] = table - _floats([f.center for f in features])
    return scaled / _floats([f.scale for f in features])


def _asked(method: Any, features: Sequence[Feature]) -> Live:
    """Return how to ask an estimator that takes a table."""
    return lambda rows: np.asarray(method(_scaled(rows, features))).reshape(len(rows))


def _live(modules: Sequence[Any], features: Sequence[Feature]) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        import torch

        table = _scaled(rows, features)
        outputs = [_forward(module, torch.tensor(table)) for module in doubled]
        return np.asarray(np.mean([one.reshape(len(rows), -1) for one in outputs], axis=0))

    # The same function with less rounding: steep units magnify what float32 loses of the input alone.
    doubled = [deepcopy(module).cpu().double() for module in modules]
    return predict


def _forward(module: Any, table: Any) -> NDArray[Any]:
    import torch

    with torch.no_grad():
        try:
            answer = module(table)
        except RuntimeError:  # a module that makes float32 tensors of its own
            answer = module.float()(table.float())
    answer = answer[0] if isinstance(answer, tuple) else answer
    return np.asarray(answer.double().numpy())


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([nearest_float(value) for value in values])


__all__ = ["Layout", "convert"]
