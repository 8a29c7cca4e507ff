"""dnamite: a network reads the smoothed embedding of a bin, so each feature has one exact score for every bin.

The tables that dnamite plots differ from its predictions in bin 0 of categorical features; here scores come from the
parameters, as the forward pass uses them: bin 0 lends its embedding to nobody, not even to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from suffice.adapters.draft import FLOAT32, UNSEEN, Cell, Draft, Live, Options, name_features, part, with_domain
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, is_missing
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Shape, Steps, Table
from suffice.shapes.parameters import as_integers, exact_array, rounded_exp

Array = NDArray[Any]


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted classifier or regressor."""
    source = f"the {type(obj).__name__}"
    members = part(obj, "models", source)
    if "Classifier" not in type(obj).__name__ and "Regressor" not in type(obj).__name__:
        raise AdapterError(f"{source} predicts curves, not one score; only classifiers and regressors are read")
    if obj.fit_pairs:
        raise AdapterError(f"{source} has pair terms, which are not functions of one feature; fit it with num_pairs=0")
    if obj.monotone_constraints is not None:
        raise AdapterError(f"{source} has monotone constraints, which square its scores; that is not read here")
    names = [str(name) for name in part(obj, "feature_names_in_", source)]
    used = [str(name) for name in getattr(obj, "selected_feats_", names)]
    factor, offset = _target(obj)
    shapes, domains = [], []
    for place, name in enumerate(used):
        k = names.index(name)
        bins = len(obj.feature_bins_[k]) + (2 if obj.feature_dtypes_[k] == "continuous" else 0)
        scores = [_bin_scores(member, place, max(bins, int(obj.feature_sizes_[k]))) for member in members]
        mean = [factor * sum(column, ZERO) / len(members) for column in zip(*scores, strict=True)]
        shape, domain = _shape(obj, k, mean)
        shapes.append(shape)
        domains.append(domain)
    features = [
        with_domain(*each) for each in zip(name_features(used, len(used), options.features), domains, strict=True)
    ]
    task = "binary" if "Classifier" in type(obj).__name__ else "regression"
    # dnamite returns scores and probabilities, never labels; a score of 0 is taken for the positive class.
    model = AdditiveModel(shapes, offset, task, features, options.classes)
    chances = _live(obj, names, used, "predict_proba") if task == "binary" else None
    return Draft(model, source, _live(obj, names, used, "predict"), "score", FLOAT32, chances=chances)


def _target(obj: Any) -> tuple[Rational, Rational]:
    """Return how a regressor undoes the scaling of its target."""
    scaler = getattr(obj, "label_scaler", None)
    if scaler is None:
        return ONE, ZERO
    return rational(float(scaler.scale_[0])), rational(float(scaler.mean_[0]))


def _shape(obj: Any, k: int, scores: list[Rational]) -> tuple[Shape, Domain]:
    kind, bins = obj.feature_dtypes_[k], obj.feature_bins_[k]
    if kind == "continuous":  # bin 0 is missing; a number on a cut belongs to the upper bin
        steps = Steps(np.asarray(bins, dtype=np.float64).tolist(), scores[1 : len(bins) + 2])
        return Table({MISSING: scores[0]}, otherwise=steps), Domain.reals() | Domain.codes(MISSING)
    first = 1 if obj.has_missing_bin_[k] else 0
    named = bins.tolist()[first:]
    entries: dict[Any, Any] = {_key(name): scores[first + place] for place, name in enumerate(named)}
    domain = Domain.categories(*entries)
    if kind == "binary":
        return Table(entries), domain
    unseen = scores[int(obj.feature_sizes_[k]) - 1] if named and named[-1] == "Other" else scores[0]
    return Table({**entries, MISSING: scores[0], UNSEEN: unseen}), domain | Domain.codes(MISSING, UNSEEN)


def _key(name: Any) -> str | float:
    return name if isinstance(name, str) else float(name)


# --- the scores of bins, in integers over a power of two --------------------------------------------------------------


class _Scaled(NamedTuple):
    """Integers divided by a power of two."""

    whole: Array
    scale: int

    def times(self, other: _Scaled) -> _Scaled:
        return _Scaled(self.whole @ other.whole, self.scale + other.scale)

    def plus(self, other: _Scaled) -> _Scaled:
        scale = max(self.scale, other.scale)
        return _Scaled(
            self.whole * (1 << (scale - self.scale)) + other.whole * (1 << (scale - other.scale)),
            scale,
        )


def _read(what: str, tensor: Any) -> _Scaled:
    return _Scaled(*as_integers(exact_array(what, tensor)))


def _bin_scores(member: Any, k: int, bins: int) -> list[Rational]:
    """Return what a network adds for each bin of a feature, exactly."""
    if k not in member.active_feats.tolist():
        return [ZERO] * bins
    hidden = _read("kernel", _smoothing(member, k, bins)).times(_read("embedding", _embedding(member, k)))
    last = len(member.main_weights) - 1
    for depth, (weight, bias) in enumerate(zip(member.main_weights, member.main_biases, strict=True)):
        hidden = hidden.times(_read("weights", weight[k])).plus(_read("biases", bias[k]))
        if depth < last:
            hidden = _Scaled(np.maximum(hidden.whole, 0), hidden.scale)
    if hidden.whole.shape[1] != 1:
        raise AdapterError(f"a network of dnamite has {hidden.whole.shape[1]} outputs where one is expected")
    gate = _gate(member, k)
    return [gate * rational(fmpz(int(value))) / (1 << hidden.scale) for value in hidden.whole[:, 0]]


def _embedding(member: Any, k: int) -> Any:
    first = int(member.embedding_offsets[k])
    return member.embedding.weight[first : first + int(member.feature_sizes_[k])]


def _smoothing(member: Any, k: int, bins: int) -> NDArray[np.float32]:
    """Return how much each bin (rows) takes of each embedding (columns)."""
    size, reach, width = int(member.feature_sizes_[k]), int(member.kernel_size), member.kernel_weight
    table = np.zeros((bins, size), dtype=np.float32)
    if not (reach > 0 and width > 0):
        np.fill_diagonal(table, 1.0)
        return table
    exponents = (-np.square(np.arange(reach + 1)) / (2 * width)).astype(np.float32)
    kernel = rounded_exp(exponents)
    for row in range(bins):
        for distance in range(-reach, reach + 1):
            column = row + distance
            if 0 < column < size and (distance == 0 or not bool(member.cat_feat_mask_[k])):
                table[row, column] = kernel[abs(distance)]
    return table


def _gate(member: Any, k: int) -> Rational:
    """Return the factor by which feature selection weighs a feature: a smooth step of a parameter."""
    if not member.reg_param > 0:
        return ONE
    z, gamma = rational(float(member.z_main[k])), rational(float(member.gamma))
    if abs(z) >= gamma / 2:
        return ONE if z > 0 else ZERO
    return -2 / gamma**3 * z**3 + 3 / (2 * gamma) * z + ONE / 2


def _live(obj: Any, names: list[str], used: list[str], method: str) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        import pandas

        cells: Mapping[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(used)}
        columns = {}
        for k, name in enumerate(names):
            is_text = obj.feature_dtypes_[k] == "categorical"
            given = [np.nan if cell is MISSING else cell for cell in cells.get(name, [_filler(obj, k)] * len(rows))]
            columns[name] = pandas.Series(given, dtype=object if is_text else np.float64)
        return np.asarray(getattr(obj, method)(pandas.DataFrame(columns))).reshape(len(rows))

    return predict


def _filler(obj: Any, k: int) -> Any:
    """Return any value of a feature that the model was told to leave out."""
    known = [value for value in np.asarray(obj.feature_bins_[k]).tolist() if not is_missing(value)]
    return known[0] if known else 0.0
