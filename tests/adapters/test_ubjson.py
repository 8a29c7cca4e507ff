"""XGBoost's binary JSON, against Python's own JSON."""

import json
import struct

import numpy as np
import pytest

import suffice
from suffice.adapters.ubjson import read_ubjson
from suffice.errors import AdapterError, ModelFileError


def text(value):
    content = value.encode()
    return b"L" + struct.pack(">q", len(content)) + content


def write(value):
    """A writer that shares nothing with the reader."""
    if isinstance(value, dict):
        return b"{" + b"".join(text(key) + write(one) for key, one in value.items()) + b"}"
    if isinstance(value, list):
        if value and all(isinstance(one, int) for one in value):
            return b"[$l#" + b"L" + struct.pack(">q", len(value)) + struct.pack(f">{len(value)}i", *value)
        return b"[#" + b"i" + struct.pack(">b", len(value)) + b"".join(map(write, value))
    if isinstance(value, str):
        return b"S" + text(value)
    if value is None or isinstance(value, bool):
        return {True: b"T", False: b"F", None: b"Z"}[value]
    return b"D" + struct.pack(">d", value) if isinstance(value, float) else b"I" + struct.pack(">h", value)


DOCUMENT = {"a": [1, -2, 70000], "b": {"c": [], "ü": "text", "d": [1.5, "x", None, True]}, "e": -7}


def test_a_document_is_read_back():
    assert read_ubjson(write(DOCUMENT)) == DOCUMENT
    assert read_ubjson(b"[i\x01U\xffd" + struct.pack(">f", 0.5) + b"]") == [1, 255, 0.5]


def test_what_is_cut_off_or_longer_is_refused():
    content = write(DOCUMENT)
    for end in range(1, len(content)):
        with pytest.raises(AdapterError):
            read_ubjson(content[:end])
    for wrong in (
        content + b"i",
        b"{" * 500,
        b"[$l#L" + struct.pack(">q", 2**60),
        b"[$l#L" + struct.pack(">q", -1),
        b"?",
    ):
        with pytest.raises(AdapterError):
            read_ubjson(wrong)


@pytest.mark.filterwarnings("ignore")  # XGBoost says that gblinear will go
@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_a_model_in_binary_is_the_one_in_text(tmp_path, booster):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    more = {"rate_drop": 0.3} if booster == "dart" else {}
    model = xgboost.XGBClassifier(booster=booster, n_estimators=8, max_depth=1, **more).fit(X, X[:, 0] > X[:, 1])
    for end in ("ubj", "json"):
        model.save_model(tmp_path / f"model.{end}")
    models = [suffice.from_model(tmp_path / f"model.{end}") for end in ("ubj", "json")]
    assert models[0] == models[1]
    assert models[0].terms == suffice.from_model(model).terms
    assert json.loads((tmp_path / "model.json").read_text())["learner"]["gradient_booster"]["name"] == booster


def test_other_binary_documents_are_refused(tmp_path):
    (tmp_path / "other.ubj").write_bytes(write({"model": 3}))
    with pytest.raises(ModelFileError, match="is UBJSON, but not a model that XGBoost saved"):
        suffice.from_model(tmp_path / "other.ubj")


def test_a_binary_file_of_catboost_is_read_by_catboost(tmp_path):
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    model = catboost.CatBoostClassifier(depth=1, iterations=10, verbose=0, allow_writing_files=False).fit(
        X, X[:, 0] > X[:, 1]
    )
    model.save_model(tmp_path / "model.cbm")
    assert suffice.from_model(tmp_path / "model.cbm").terms == suffice.from_model(model).terms
    (tmp_path / "bad.cbm").write_bytes((tmp_path / "model.cbm").read_bytes()[:50])
    with pytest.raises(ModelFileError, match="is damaged, or of another CatBoost"):
        suffice.from_model(tmp_path / "bad.cbm")
