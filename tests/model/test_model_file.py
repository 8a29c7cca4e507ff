import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors
from strategies import networks

import suffice
from suffice import (
    MISSING,
    Activation,
    AdditiveModel,
    Domain,
    Feature,
    PiecewiseLinear,
    Readout,
    ReluNetwork,
    Steps,
    Table,
)
from suffice.model.writing import to_bytes

LEAKY_UNITS = Activation.leaky_relu([0.1, 3])
BASIS = ReluNetwork([[[1.0]], [[1.0], [2.0]]], [[1.0], None])
ZOO = AdditiveModel(
    shapes=[
        ReluNetwork([np.ones((2, 1), np.float16), np.ones((1, 2), np.float16)], [[0.5, 0.25], None], LEAKY_UNITS),
        ReluNetwork([[[1.0]], [[2.0]], [[3.0]]], [None, [1.0], None], ["hard_tanh", "relu6"], skips={2: 1, 3: 0}),
        ReluNetwork([np.array([[0.5]], np.float32), [[1.0]]], [[0.1], None], exu=True),
        Table({"a": "1/3", MISSING: 2}),
        Readout(BASIS, [[1.0, 2.0]]) + Readout(BASIS, [[0.5, 0.0]]),
        Table({-9: 1, MISSING: 0}, otherwise=Steps([1, 2], ["1/3", 2, 3], closed="right")),
        (PiecewiseLinear(["1/3"], [1], left_slope=0.1) * "2/7" - Steps([], [5])).rescaled(1, "-2/3"),
    ],
    intercept="1/7",
    features=[
        "n",
        Feature("s", center=0.1, scale=-3, deviation=2),
        "e",
        "c",
        "r",
        Feature("codes", Domain.integers(0) | Domain.codes(MISSING, -9)),
        Feature("p", Domain.interval("1/3", 5) | Domain.points(-1) | Domain.categories(-7)),
    ],
    classes=["bad", "good"],
    ties="negative",
)


def same(first, second):
    assert first.compile() == second.compile()
    assert (first.intercept, first.task, first.classes, first.ties) == (
        second.intercept,
        second.task,
        second.classes,
        second.ties,
    )
    assert first.domains == second.domains
    for a, b in zip(first.features, second.features, strict=True):
        assert (a.name, a.center, a.scale, a.deviation) == (b.name, b.center, b.scale, b.deviation)


def test_a_model_comes_back_exactly(tmp_path):
    ZOO.save(tmp_path / "zoo.safetensors")
    again = suffice.load(tmp_path / "zoo.safetensors")
    same(ZOO, again)
    assert again.terms[4].shape.parts[0].basis is again.terms[4].shape.parts[1].basis
    assert again.terms[0].shape.weights[0].dtype == np.float16
    assert to_bytes(again) == to_bytes(ZOO) == (tmp_path / "zoo.safetensors").read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["zoo.safetensors"]


@settings(max_examples=60)
@given(networks(outputs=1))
def test_networks_come_back_exactly(tmp_path_factory, network):
    path = tmp_path_factory.mktemp("models") / "m.safetensors"
    model = AdditiveModel([ReluNetwork(*network)])
    model.save(path)
    same(model, suffice.load(path))


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (np.int64(3), np.int64(4)), (0.5, 1.5), ("a", "b")])
def test_classes_keep_their_values(tmp_path, classes):
    AdditiveModel([Steps([0], [0, 1])], classes=classes).save(tmp_path / "m")
    assert suffice.load(tmp_path / "m").classes == tuple(classes)


def test_classes_that_cannot_be_saved_are_refused(tmp_path):
    with pytest.raises(suffice.ModelFileError, match="class of type tuple"):
        AdditiveModel([Steps([0], [0, 1])], classes=[(1,), (2,)]).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def rewritten(change):
    """The zoo's file with its document changed."""
    content = to_bytes(ZOO)
    (size,) = struct.unpack("<Q", content[:8])
    document = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["suffice"])
    text = change(document) or json.dumps(document)
    return write_tensors(read_tensors(content), {"suffice": text})


def put(*path, value):
    def change(document):
        *inner, last = path
        for step in inner:
            document = document[step]
        document[last] = value

    return change


def drop(*path):
    def change(document):
        *inner, last = path
        for step in inner:
            document = document[step]
        del document[last]

    return change


NETWORK = ("terms", 0, "shape")
LEAKY = (*NETWORK, "activations", 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("version", value=3), "has format version 3, but this suffice reads up to 2; upgrade"),
        (put("version", value="1"), "does not state its format version"),
        (lambda d: "[]", "does not state its format version"),
        (lambda d: "{", "does not describe a model"),
        (lambda d: "[" * 100_000, "does not describe a model"),
        (lambda d: '{"version": 1, "version": 1}', "same field twice"),
        (put("extra", value=1), "unknown field 'extra'"),
        (drop("task"), "field 'task' is missing"),
        (put("task", value="magic"), "task must be"),
        (put("intercept", value=["nan"]), "'nan' is not a number"),
        (put("intercept", value=["1/0"]), "'1/0' is not a number"),
        (put("intercept", value=["1e9"]), "'1e9' is not a number"),
        (put("intercept", value=["9" * 5000]), "is not a number"),
        (put("intercept", value=[1.5]), "'1.5' is not a number"),
        (put("features", 0, "scale", value="0"), "scale of 'n' is 0"),
        (put("features", 0, "domain", "spans", value=[["2", "1", False]]), "2 to 1 is not a span"),
        (put("features", 0, "domain", "spans", value=[]), "at least one value"),
        (
            put("features", 3, "domain", "categories", value=[{"label": "a"}, {"label": "zebra"}]),
            "'c' can be one of a, zebra",
        ),
        (put("terms", value=[]), "at least one shape"),
        (put("terms", 0, "features", value=[0, 1]), "over features"),
        (put(*NETWORK, "kind", value="os.system"), "'os.system' is not a kind of shape"),
        (put(*NETWORK, "weights", 0, value="nowhere"), "nowhere"),
        (put(*NETWORK, "exu", value="yes"), "exu must be true or false"),
        (put(*LEAKY, "offsets", value=["0", "1"]), "jumps at 0"),
        (put(*LEAKY, "thresholds", value=["1/3"]), "1/3 is not a float64"),
        (put("terms", 4, "shape", "parts", 0, "basis", value=1), "there is no basis 1"),
        (put("bases", 0, value={"kind": "scaled", "shape": {}, "factor": "1"}), "does not describe"),
        (put("classes", value=[None, 1]), "None is not a class"),
        (put("version", value=True), "does not state its format version"),
        (put("features", 3, "domain", "categories", value=["a"]), "expected an object with one field"),
        (put("terms", 3, "shape", "values", value=None), "expected an object with one field"),
        (put("terms", 3, "shape", "values", value={"tensor": "terms.0.weights.0"}), "not a table of finite float64"),
        (put("terms", 3, "shape", "keys", value=[{"label": "a"}, {"label": "a"}]), "same key twice"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_documents_that_are_wrong_are_refused(tmp_path, change, words):
    path = tmp_path / "m.safetensors"
    path.write_bytes(rewritten(change))
    with pytest.raises(suffice.ModelFileError, match=words) as error:
        suffice.load(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


def test_unchanged_documents_are_accepted(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(rewritten(lambda document: None))
    same(ZOO, suffice.load(path))


@pytest.mark.parametrize("length", [0, 7, 8, 100, -1])
def test_truncated_files_are_refused(tmp_path, length):
    path = tmp_path / "m.safetensors"
    path.write_bytes(to_bytes(ZOO)[:length])
    with pytest.raises(suffice.ModelFileError, match="damaged, or not a safetensors file"):
        suffice.load(path)


def test_a_header_that_claims_to_be_huge_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}")
    with pytest.raises(suffice.ModelFileError, match="damaged"):
        suffice.load(path)


def test_a_tensor_with_nan_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    content = to_bytes(ZOO)
    tensors = read_tensors(content)
    tensors["terms.0.weights.0"] = np.full((2, 1), np.nan, np.float16)
    (size,) = struct.unpack("<Q", content[:8])
    path.write_bytes(write_tensors(tensors, json.loads(content[8 : 8 + size])["__metadata__"]))
    with pytest.raises(suffice.ModelFileError, match="is nan"):
        suffice.load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(suffice.ModelFileError, match="no such file"):
        suffice.load(tmp_path / "absent")
    (tmp_path / "other").write_bytes(write_tensors({"a": np.zeros(1)}))
    with pytest.raises(suffice.ModelFileError, match="not a model of suffice"):
        suffice.load(tmp_path / "other")
    with pytest.raises(suffice.ModelFileError, match=r"cannot be read|damaged"):
        suffice.load(tmp_path)
    for target in (tmp_path / "no" / "such" / "folder", tmp_path):
        with pytest.raises(suffice.ModelFileError, match="cannot be written"):
            ZOO.save(target)
    assert not list(tmp_path.parent.glob("*.part"))


def test_numbers_that_could_not_be_read_back_are_not_written(tmp_path):
    with pytest.raises(suffice.ModelFileError, match="a number of 5001 digits cannot be saved"):
        AdditiveModel([Steps([0], [0, 1])], 10**5000).save(tmp_path / "m")
