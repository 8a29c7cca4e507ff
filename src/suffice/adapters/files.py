"""Files of other packages that can be read without running anything that is in them.

What a file is shows in its content, not in its name: suffice's own models, state_dicts in safetensors, the JSON of EBM,
XGBoost and CatBoost, LightGBM's text, scorecards, PMML, ONNX. A pickle (joblib, most `.pt` and `.ckpt`
files) can do anything when it is read, so no command reads one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from suffice.adapters.draft import Options
from suffice.adapters.scorecard import parse_csv, parse_json
from suffice.adapters.ubjson import read_ubjson
from suffice.errors import AdapterError, ModelFileError, SufficeError
from suffice.model.additive import AdditiveModel
from suffice.model.reading import load_model

_PICKLES = (
    b"\x80",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x78\x9c",
    b"\x78\x01",
    b"\x78\xda",
    b"BZh",
    b"\xfd7zXZ",
    b"ccopy_reg",
)
_LENGTHS = (b"i", b"U", b"I", b"l", b"L")  # what a key of UBJSON, XGBoost's binary JSON, begins with
_ROWS, _SCORES = "reference.rows", "reference.scores"


class Found(NamedTuple):
    """What a file holds: a model of another package, with the reference and the facts that came with it."""

    obj: Any
    reference: Any = None
    options: Options = Options()


def load_any(path: str | os.PathLike[str]) -> AdditiveModel:
    """Read a model from a file of suffice's own, or of another package.

    A state_dict does not say which activations it was trained with. It is taken if its safetensors file also holds the
    tensors `reference.rows` and `reference.scores`, and says `task` (and `layout`, if need be) in its metadata.

    Raises
    ------
    ModelFileError
        If there is no such file, it is none of these, or its model cannot be taken over exactly.
    """
    from suffice.adapters import convert

    if _is_own(Path(path)):
        return load_model(path)
    found = read_file(path)
    try:
        return convert(found.obj, found.reference, found.options).model
    except SufficeError as error:
        raise ModelFileError(path, str(error)) from None


def read_file(path: str | os.PathLike[str]) -> Found:
    """Return what a file of another package holds; nothing in it is run."""
    file = Path(path)
    try:
        with open(file, "rb") as content:
            start = content.read(64)
    except FileNotFoundError:
        raise ModelFileError(path, "there is no such file") from None
    except OSError as error:
        raise ModelFileError(path, f"cannot be read: {error.strerror or error}") from None
    if start.startswith(_PICKLES):
        raise ModelFileError(path, _why_no_pickle(file, start))
    if start.startswith(b"tree\n") or start.startswith(b"tree\r\n"):
        return Found(_read_text(file))
    if start[:1] == b"{" and start[1:2] in _LENGTHS:
        return Found(_read_ubjson(file))
    if start.lstrip()[:1] == b"{":
        return Found(_read_json(file))
    if start.startswith(b"CBM1"):
        return Found(_read_catboost(file))
    plain = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if plain[:1] == b"<":
        return Found(_read_plain(file, "XML") + "\n")
    if plain.startswith(b"feature,"):
        return Found(_read_card(file))
    if start[8:9] == b"{":
        return _read_tensors(file)
    if start.startswith(b"\x08") or file.suffix == ".onnx":
        return Found(_read_onnx(file))
    raise ModelFileError(
        path,
        "is not a format read here: safetensors, EBM, XGBoost or CatBoost JSON, LightGBM text, PMML, a scorecard as "
        "JSON or CSV, or ONNX",
    )


def _is_own(file: Path) -> bool:
    """Whether a file says that it is suffice's own; where it cannot be read, `load_model` tells why."""
    if not file.exists() or file.is_dir():
        return True
    try:
        with safe_open(file, framework="numpy") as content:
            return "suffice" in (content.metadata() or {})
    except (SafetensorError, OSError):
        with open(file, "rb") as raw:
            return file.suffix == ".safetensors" and not raw.read(8).startswith(_PICKLES)


def _why_no_pickle(file: Path, start: bytes) -> str:
    load = "torch.load(path, weights_only=True)" if start.startswith(b"PK") else "joblib.load(path)"
    what = "is a pickle, which can run any code when read"
    if file.suffix == ".skops":
        load, what = "skops.io.load(path, trusted=[...])", "is a skops file, whose types you must trust one by one"
    return (
        f"{what}, so no command reads it. If you trust it, convert it in "
        f"Python: model = {load}; suffice.from_model(model).save({str(file.with_suffix('.safetensors').name)!r})"
    )


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            file, f"begins like LightGBM's text, but byte {error.start} is not text: it is damaged"
        ) from None


def _read_json(file: Path) -> Any:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError):
        raise ModelFileError(
            file, "begins like JSON but is not valid JSON; save the model as JSON, not in a binary format"
        ) from None
    except RecursionError:
        raise ModelFileError(file, "is JSON nested too deeply for any model; it is damaged") from None
    if "scorecard" in document:
        return parse_json(file.read_text(encoding="utf-8"))
    if not any(key in document for key in ("ebm", "learner", "oblivious_trees")):
        raise ModelFileError(
            file, "is JSON, but not an export of EBM (to_json), XGBoost or CatBoost (save_model), and no scorecard"
        )
    return document


def _read_ubjson(file: Path) -> Any:
    try:
        document = read_ubjson(file.read_bytes())
    except AdapterError as error:
        raise ModelFileError(file, str(error)) from None
    if "learner" not in document:
        raise ModelFileError(file, "is UBJSON, but not a model that XGBoost saved")
    return document


def _read_catboost(file: Path) -> Any:
    try:
        import catboost
    except ImportError:
        raise ModelFileError(
            file, "is CatBoost's binary format, which only catboost reads: pip install catboost, or save it as JSON"
        ) from None
    try:
        return catboost.CatBoost().load_model(str(file), format="cbm")
    except Exception as error:  # whatever CatBoost raises
        raise ModelFileError(
            file, f"is damaged, or of another CatBoost ({' '.join(str(error).split())[:120]})"
        ) from None


def _read_plain(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFileError(file, f"begins like {what}, but byte {error.start} is not UTF-8: it is damaged") from None


def _read_card(file: Path) -> Any:
    try:
        return parse_csv(_read_plain(file, "a scorecard's table"))
    except AdapterError as error:
        raise ModelFileError(file, str(error)) from None


def _read_tensors(file: Path) -> Found:
    try:
        tensors = load_file(file)
        with safe_open(file, framework="numpy") as content:
            facts = content.metadata() or {}
    except (SafetensorError, LookupError, OSError, TypeError, ValueError) as error:
        raise ModelFileError(file, f"is damaged, or not a safetensors file ({error})") from None
    if "suffice" in facts:
        raise ModelFileError(
            file, "is already a model file of suffice; use it as it is, or read it with suffice.load(path)"
        )
    rows, scores = tensors.pop(_ROWS, None), tensors.pop(_SCORES, None)
    try:
        features, classes = (json.loads(facts[key]) if key in facts else None for key in ("features", "classes"))
    except ValueError:
        raise ModelFileError(file, "its metadata 'features' or 'classes' is not a JSON list") from None
    reference = None if rows is None or scores is None else (rows, scores)
    options = Options(features, None, facts.get("task"), classes, facts.get("layout"))
    return Found(tensors, reference, options)


def _read_onnx(file: Path) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ModelFileError(file, f"looks like ONNX, which needs {error.name}: pip install 'suffice[onnx]'") from None
    try:
        return onnx.load(str(file), load_external_data=False)  # a path in a file may lead anywhere
    except Exception:  # whatever protobuf raises
        raise ModelFileError(file, "is not a model that can be read here, or is a damaged ONNX file") from None


def load_weights(path: str | os.PathLike[str]) -> Any:
    """Return the state_dict of a PyTorch file, read with `weights_only=True`: tensors, and no code."""
    import pickle

    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError):
        raise ModelFileError(
            path, "holds more than weights; load it yourself if you trust it, and pass model or model.state_dict()"
        ) from None
