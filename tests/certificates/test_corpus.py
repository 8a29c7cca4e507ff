"""The checker accepts what holds, rejects each attack at its step, and refuses what is no certificate."""

import hashlib
import json
import re
import struct
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path

import pytest
from make import ATTACKS, HERE
from plain import models, plain

import suffice_check
from suffice.model_file import file_hash, to_bytes
from suffice_check.__main__ import main
from suffice_check.claims import Inequality
from suffice_check.drops import bound_drops
from suffice_check.model import Domain, Feature, Span, Tensors
from suffice_check.shapes import Activation, Changed, Network, Tensor

MODELS = {file_hash(path): path for path in sorted((HERE / "models").glob("*.safetensors"))}
MODELS_BY_NAME = {path.stem: path for path in MODELS.values()}
VALID = {path.stem: path for path in sorted((HERE / "valid").glob("*.json"))}
INVALID = {path.stem: path for path in sorted((HERE / "invalid").glob("*.json"))}
MALFORMED = {path.stem: path for path in sorted((HERE / "malformed").glob("*.json"))}


def model_of(path):
    """The model that a certificate names; of those that name none, the one that the attacked certificate named."""
    named = json.loads(path.read_bytes())["model"]
    return MODELS.get(named) or model_of(VALID[ATTACKS[path.stem][0]])


def test_models_are_those_that_the_oracle_knows():
    assert {path.stem: path.read_bytes() for path in MODELS.values()} == {n: to_bytes(m) for n, m in models().items()}


@pytest.mark.parametrize("name", VALID)
def test_what_holds_is_accepted_and_true(name, capsys):
    path = VALID[name]
    assert main([str(model_of(path)), str(path)]) == 0
    said = capsys.readouterr()
    assert re.fullmatch(r"Proven: .*\.\n", said.out)
    assert not said.err
    assert plain(model_of(path).stem).is_true(json.loads(path.read_bytes()))


def test_every_attack_is_in_the_corpus():
    assert set(INVALID) == set(ATTACKS)


@pytest.mark.parametrize("name", INVALID)
def test_an_attack_is_rejected_at_its_step(name, capsys):
    model = MODELS_BY_NAME["positive"] if name == "another_models_hash" else model_of(INVALID[name])
    assert main([str(model), str(INVALID[name])]) == 1
    said = capsys.readouterr()
    assert re.fullmatch(f"Rejected: {ATTACKS[name][1]}: .*\n", said.err)
    assert not said.out


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_certificate_is_refused(name, capsys):
    assert main([str(MODELS_BY_NAME["positive"]), str(MALFORMED[name])]) == 2
    said = capsys.readouterr()
    assert re.fullmatch("Cannot read the certificate: .*\n", said.err)
    assert not said.out


def test_the_sentence_says_what_is_proven():
    def said(name):
        return suffice_check.check_files(model_of(VALID[name]), VALID[name])

    assert said("one_inequality") == (
        "Proven: with 'colour', 'jump', 'months' fixed, the prediction stays 'yes', whatever the other 2 features do "
        "in their regions; no smaller set is enough."
    )
    assert said("bounded").endswith("no set of fewer than 5 features is enough.")
    assert said("sufficient").endswith("do in their regions.")
    assert "fixing 'months' is not enough" in said("insufficient")
    assert said("contrast") == (
        "Proven: changing 'net', 'months' alone, within the region, can break the claim that the prediction stays "
        "'yes'; no fewer can."
    )
    assert "the probability of 'yes' stays at least 11/20 (as 1/(1+exp(-score)))" in said("probability")
    improbable = said("improbable")
    assert re.search(r"the probability of 'yes' stays at least 1/20 \(as 1/\(1\+exp\(-score\)\)\)", improbable)
    assert "prediction" not in improbable


def test_a_radius_names_the_features_that_stay_because_theirs_is_0():
    names = ["radius_at_a_jump", "radius_not_attained", "radius_attained", "radius_without_end"]
    for path in (VALID[name] for name in names):
        assert "radius 0" not in suffice_check.check_files(model_of(path), path)
    document = json.loads(VALID["radius_without_end"].read_bytes())
    document["radii"] = ["0", "0", "1", "0", "0"]
    for kept, held in (
        ([1, 3], "with 'bins', 'colour' fixed and 'net', 'jump' held where the row is (radius 0) at every finite"),
        ([], "with 'net', 'bins', 'colour', 'jump' held where the row is (radius 0) at every finite"),
    ):
        document["result"]["kept"] = kept
        assert held in suffice_check.check(GOOD, json.dumps(document).encode())


# --- files that are meant to hurt -------------------------------------------------------------------------------------


def refused(model, certificate):
    with pytest.raises(suffice_check.UnreadableError) as caught:
        suffice_check.check(model, certificate)
    return str(caught.value)


GOOD = MODELS_BY_NAME["positive"].read_bytes()
CERTIFICATE = VALID["one_inequality"].read_bytes()


@pytest.mark.parametrize("text", [b"[" * 10**6, b'{"a":' * 10**6, b"1" * 10**7, b'{"version":' + b"9" * 10**6 + b"}"])
def test_deep_nesting_and_long_numbers_are_refused(text):
    assert refused(GOOD, text).startswith("the certificate: ")


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(2**40)  # a sparse file: a terabyte that takes no place
    with pytest.raises(suffice_check.UnreadableError, match="larger than"):
        suffice_check.check_files(MODELS_BY_NAME["positive"], large)
    with pytest.raises(suffice_check.UnreadableError, match="larger than"):
        suffice_check.check_files(large, VALID["one_inequality"])


def test_reading_takes_the_memory_of_the_file_not_of_the_limit():
    tracemalloc.start()
    try:
        suffice_check.check_files(MODELS_BY_NAME["positive"], VALID["one_inequality"])
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_what_needs_too_much_memory_is_refused(monkeypatch, capsys):
    def fail(content):
        raise MemoryError

    monkeypatch.setattr(sys.modules["suffice_check.check"], "read_model", fail)
    assert main([str(MODELS_BY_NAME["positive"]), str(VALID["one_inequality"])]) == 2
    assert capsys.readouterr().err == "Cannot read the files, for there is not enough memory: MemoryError\n"


@pytest.mark.parametrize("path", ["/dev/zero", "no such file", ".", "a\0b"])
def test_what_is_not_a_file_is_refused(path):
    with pytest.raises(suffice_check.UnreadableError):
        suffice_check.check_files(MODELS_BY_NAME["positive"], path)


def with_hash_of(model):
    document = json.loads(CERTIFICATE)
    document["model"] = hashlib.sha256(model).hexdigest()
    return json.dumps(document).encode()


def damaged():
    """Model files that are none."""
    header = json.loads(GOOD[8 : 8 + struct.unpack("<Q", GOOD[:8])[0]])
    document = json.loads(header["__metadata__"]["suffice"])
    data = GOOD[8 + struct.unpack("<Q", GOOD[:8])[0] :]

    def packed(header, data=data):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    def changed(change):
        fresh = json.loads(header["__metadata__"]["suffice"])
        change(fresh)
        return packed({**header, "__metadata__": {"suffice": json.dumps(fresh)}})

    name = next(key for key in header if key != "__metadata__")
    activation = "terms", 0, "shape", "activations", 0

    def put(path, value):
        def change(document):
            for key in path[:-1]:
                document = document[key]
            document[path[-1]] = value

        return change

    yield "empty", b""
    yield "short", GOOD[:7]
    yield "truncated", GOOD[:-1]
    yield "header beyond the file", struct.pack("<Q", 2**63) + GOOD[8:]
    yield "not a number", packed(header, b"\xff" * len(data))
    yield "bytes outside", packed({**header, name: {**header[name], "data_offsets": [0, 10**9]}})
    yield "negative offset", packed({**header, name: {**header[name], "data_offsets": [-4, 8]}})
    yield "huge shape", packed({**header, name: {**header[name], "shape": [2**39, 2**39]}})
    end = len(data)
    cells = document["terms"][1]["shape"]["values"]["tensor"]
    for shape in ([2**39, 0], [], [1] * 10**5, [True, 1]):
        yield f"shape {str(shape)[:20]}", packed({**header, cells: {**header[cells], "shape": shape}})
    more = {"dtype": "F32", "shape": [end // 4], "data_offsets": [0, end]}
    yield "overlapping tensors", packed({**header, "more": more})
    yield "bytes of no tensor", packed(header, data + b"\0" * 4)
    yield (
        "gap between tensors",
        packed({**header, "more": {**more, "data_offsets": [end + 4, end + 8]}}, data + bytes(8)),
    )
    yield "offsets that are no integers", packed({**header, "more": {**more, "data_offsets": [False, False]}})
    twice = {"kind": "sum", "parts": [document["terms"][1]["shape"]] * 2}
    yield "tensor used twice", changed(put(["terms", 1, "shape"], twice))
    yield "unknown type", packed({**header, name: {**header[name], "dtype": "I8"}})
    yield "no document", packed({key: entry for key, entry in header.items() if key != "__metadata__"})
    yield "version", changed(put(["version"], 2))
    yield "jumping activation", changed(put([*activation, "offsets"], ["1", "0"]))
    yield "slope of thirds", changed(put([*activation, "slopes"], [["1/3"], ["1"]]))
    yield "tensor that is not there", changed(put(["terms", 0, "shape", "weights"], ["a", "b", "c"]))
    yield "term of another feature", changed(put(["terms", 0, "features"], [1]))
    yield "scale of 0", changed(put(["features", 0, "scale"], "0"))
    yield "two of one name", changed(put(["features", 0, "name"], "bins"))
    yield "code among numbers", changed(put(["features", 2, "domain", "codes"], [{"number": "7"}]))
    yield "cuts that fall", changed(put(["terms", 1, "shape", "cuts"], {"numbers": [["5", "2"]]}))
    yield "unknown shape", changed(put(["terms", 1, "shape"], {"kind": "magic"}))
    yield "equal classes", changed(put(["classes"], ["yes", "yes"]))
    yield "equal numbers for classes", changed(put(["classes"], [1, 1.0]))
    yield "lists for classes", changed(put(["classes"], ["no", [[]]]))
    yield "infinite class", changed(put(["classes"], ["no", "HERE"])).replace(b'\\"HERE\\"', b"   1e999")
    yield "cuts of two rows", changed(put(["terms", 1, "shape", "cuts"], {"numbers": [["2", "5"], ["7", "8"]]}))
    yield "text for thresholds", changed(put([*activation, "thresholds"], "0"))
    yield "text for offsets", changed(put([*activation, "offsets"], "00"))
    yield "text for slopes", changed(put([*activation, "slopes"], "01"))
    yield "number for an activation's name", changed(put([*activation, "name"], 1))
    yield "object for codes", changed(put(["features", 0, "domain", "codes"], {}))
    yield "text for skips", changed(put(["terms", 0, "shape", "skips"], ""))
    yield "float for a name", changed(put(["features", 0, "name"], 1.5))
    yield "float for a deviation", changed(put(["features", 0, "deviation"], 1.5))
    long = document["terms"][1]["shape"]
    for k in range(6):
        scale = f"{10**3999 + 2 * k + 1}/{10**3998 + 2 * k + 3}"
        long = {"kind": "rescaled", "shape": long, "center": "0", "scale": scale}
    yield "long scales inside each other", changed(put(["terms", 1, "shape"], long))
    for depth in (400, 600, 10**5):  # too deep for reading, for evaluating, or even for JSON
        levels = '{"kind":"sum","parts":[' * depth + json.dumps(document["terms"][1]["shape"]) + "]}" * depth
        text = json.dumps(document | {"terms": [*document["terms"][:1], "HERE", *document["terms"][2:]]})
        term = f'{{"features":[1],"shape":{levels}}}'
        yield f"{depth} levels", packed({**header, "__metadata__": {"suffice": text.replace('"HERE"', term)}})


@pytest.mark.parametrize("model", [pytest.param(content, id=name) for name, content in damaged()])
def test_a_damaged_model_is_refused(model):
    assert refused(model, with_hash_of(model)).startswith("the model file: ")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [([2**39, 0], "0 is not an integer from 1 up"), ([2**39] * 2000, "has not one or two dimensions")],
)
def test_shapes_are_refused_before_anything_is_made_of_them(shape, reason):
    cells = {"a": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}}
    with pytest.raises(ValueError, match=reason):
        Tensors(cells, memoryview(b""))


def test_a_good_model_with_its_hash_is_taken():
    assert suffice_check.check(GOOD, with_hash_of(GOOD)).startswith("Proven")


def test_no_fraction_is_ever_hashed(monkeypatch):
    """Fractions can be made to share one hash: a set or a dictionary of them takes quadratic time."""

    def refuse(number):
        raise AssertionError(f"{number} is hashed")

    monkeypatch.setattr(Fraction, "__hash__", refuse)
    for path in VALID.values():
        suffice_check.check_files(model_of(path), path)


def test_a_network_remembers_few_places_and_is_evaluated_once_at_each(monkeypatch):
    seen, evaluate = [], Network._evaluate

    def count(network, z):
        seen.append((network, z))
        return evaluate(network, z)

    monkeypatch.setattr(Network, "_evaluate", count)
    identity = Activation([], [[Fraction(1)]], [Fraction(0)])
    network = Network([Tensor("F64", (1, 1), (1.0,))] * 2, [None] * 2, [identity], {}, False)
    domain = Domain([Span(Fraction(0), Fraction(100), False)], [], [])
    feature = Feature("x", domain, Changed(network, Fraction(1), Fraction(0), Fraction(1)))
    points = [Fraction(k) for k in range(1, 100)]
    inequality = Inequality((1,), Fraction(0), False)
    (drop,) = bound_drops(feature, Fraction(7, 2), domain, points, [inequality])
    assert drop.value == Fraction(7, 2)
    assert len(seen) == len(points) + 3
    assert len(network._runs) < 10


def test_too_many_points_are_refused():
    document = json.loads(CERTIFICATE)
    document["evidence"]["points"][0] = ["1"] * (2**18 + 1)
    assert "more than" in refused(GOOD, json.dumps(document).encode())


# --- the checker stands alone -----------------------------------------------------------------------------------------

ISOLATION = """
import sys
before = set(sys.modules)
{code}
import suffice_check, suffice_check.__main__
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}} - {{"suffice_check"}}
foreign = sorted(loaded - set(sys.stdlib_module_names))
sys.exit(f"foreign: {{foreign}}" if foreign else 0)
"""


def isolation(code=""):
    command = [sys.executable, "-W", "error", "-c", ISOLATION.format(code=code)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_checker_imports_the_standard_library_only():
    done = isolation()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("module", ["suffice.rational", "numpy", "flint"])
def test_the_isolation_test_would_tell(module):
    """An import such as one in the checker's files might be: the test above sees it."""
    done = isolation(f"import {module}")
    assert done.returncode == 1
    assert module.partition(".")[0] in done.stderr


def test_the_checker_runs_as_a_program():
    command = [sys.executable, "-m", "suffice_check"]
    arguments = [str(MODELS_BY_NAME["positive"]), str(VALID["one_inequality"])]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Proven: ")
    wrong = subprocess.run([*command, *arguments[:1]], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stderr) == (2, "usage: suffice-check MODEL CERTIFICATE\n")


def test_no_source_of_the_checker_names_the_library():
    for path in Path(suffice_check.__file__).parent.glob("*.py"):
        imported = [line.split()[1] for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert not [name for name in imported if name.partition(".")[0] in ("suffice", "numpy", "flint", "safetensors")]
