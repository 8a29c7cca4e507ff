"""The file of a model with pairs: everything comes back, and what is damaged is refused."""

import json
import random
import struct
from fractions import Fraction

import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    Domain,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    Product,
    Readout,
    ReluNetwork,
    Steps,
    Table,
    Term,
)
from suffice.model.compiled import Compiled
from suffice.model.writing import to_bytes
from suffice.numbers.exact import rational

BASIS = ReluNetwork([[[1.0]], [[1.0], [2.0]]], [[1.0], None])
PAINT = Bins(keys=["red", "blue", MISSING])
AGE = Bins([18, "100/3"], keys=[MISSING, -9], closed=["right", "left"])
ZOO = AdditiveModel.of_terms(
    [
        Term("age", Table({MISSING: 1, -9: 2}, otherwise=Steps([30], [0, 1]))),
        Term("pay", PiecewiseLinear([0], [0], right_slope=1)),
        Term("pay", Steps([5], [1, 2])),
        Term(("paint", "age"), PairSteps(PAINT, AGE, [[k * 5 + j for j in range(5)] for k in range(3)])),
        Term(("age", "paint"), PairSteps(AGE, PAINT, [["1/3"] * 3] * 5) * "2/7"),
        Term(("pay", "debt"), PairLinear([0, "1/3"], [1, 2, 4], [[0, 1, 2], [3, 4, 5]]).rescaled((1, 2), (3, "-1/7"))),
        Term(("debt", "pay"), Product(Readout(BASIS, [[1.0, 2.0]]), Steps([1], [0, 1]))),
        Term(("debt", "pay"), PairSteps([], [], [[7]])),
        Term(("paint", "pay"), PairSteps(PAINT, [0.1, 0.5], [[k * 0.1, 1, 2] for k in range(3)])),
    ],
    intercept="1/7",
    features=[
        Feature("age", Domain.integers(0, 99) | Domain.codes(MISSING, -9)),
        Feature("pay", Domain.interval(-5, 5), center=1, scale=2),
        "paint",
        "debt",
    ],
)


def same(first, second):
    one, other = Compiled(first), Compiled(second)
    assert one.pieces == other.pieces
    assert [pair for pair, _ in one.pairs] == [pair for pair, _ in other.pairs]
    for (_, mine), (_, theirs) in zip(one.pairs, other.pairs, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a.axes == b.axes
            for grid, again in zip(a.coefficients, b.coefficients, strict=True):
                assert (grid is None and again is None) or (grid == again).all()
    assert first.domains == second.domains
    assert [term.features for term in first.terms] == [term.features for term in second.terms]


def test_a_model_with_pairs_comes_back_exactly(tmp_path):
    ZOO.save(tmp_path / "zoo.safetensors")
    again = suffice.load(tmp_path / "zoo.safetensors")
    same(ZOO, again)
    assert to_bytes(again) == to_bytes(ZOO) == (tmp_path / "zoo.safetensors").read_bytes()


def document_of(content):
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["suffice"])


def rewritten(change):
    content = to_bytes(ZOO)
    document = document_of(content)
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


STEPS, LINEAR, PRODUCT, PLAIN = (("terms", k, "shape") for k in (4, 6, 7, 8))


def test_the_document_is_as_the_page_on_the_format_says():
    document = document_of(to_bytes(ZOO))
    assert document["version"] == 2
    assert [term["features"] for term in document["terms"]] == [
        [0],
        [1],
        [2],
        [3],
        [2, 0],
        [0, 2],
        [1, 3],
        [3, 1],
        [2, 1],
    ]
    kinds = [term["shape"]["kind"] for term in document["terms"][4:]]
    assert kinds == ["pair_steps", "pair_scaled", "pair_rescaled", "pair_sum", "pair_steps"]
    shape = document["terms"][4]["shape"]
    assert shape["rows"] == {
        "cuts": None,
        "keys": [{"label": "red"}, {"label": "blue"}, {"missing": True}],
        "closed": "left",
    }
    assert shape["columns"]["closed"] == ["right", "left"]
    assert shape["columns"]["cuts"] == {"numbers": [["18", "100/3"]]}
    assert read_tensors(to_bytes(ZOO))[shape["values"]["tensor"]].tolist() == [[float(k)] for k in range(15)]
    assert document["terms"][5]["shape"]["shape"]["values"] == {"numbers": [["1/3"]] * 15}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("version", value=1), "term 4 is over features"),
        (put("version", value=3), "version 3, but this suffice reads up to 2"),
        (put("terms", 4, "features", value=[2, 2]), "'paint' and itself"),
        (put("terms", 4, "features", value=[2]), "terms are over two of them"),
        (put("terms", 4, "features", value=[2, 0, 1]), "terms are over two of them"),
        (put("terms", 4, "features", value=[2, 4]), "terms are over two of them"),
        (put("terms", 4, "features", value=[2, -1]), "terms are over two of them"),
        (put("terms", 4, "features", value=[2, False]), "terms are over two of them"),
        (put("terms", 4, "features", value=7), "does not describe a model"),
        (put("terms", 4, "features", value=[2, 1]), "two terms are over the same two features"),
        (put("terms", 4, "features", value=[0, 2]), "two terms are over the same two features"),
        (put("terms", 4, "features", value=[1, 0]), "'pay' can be"),
        (put("terms", 0, "features", value=[0, 1]), "over one feature each, in order"),
        (drop("terms", 0), "over one feature each, in order"),
        (drop("terms", 3), "over one feature each, in order"),
        (put(*STEPS, "kind", value="steps"), "'steps' is not a kind of shape of two features"),
        (put("terms", 1, "shape", "kind", value="pair_steps"), "'pair_steps' is not a kind of shape"),
        (put(*STEPS, "extra", value=1), "unknown field 'extra'"),
        (drop(*STEPS, "rows"), "field 'rows' is missing"),
        (put(*STEPS, "rows", value=None), "expected an object with cuts, keys, closed"),
        (put(*STEPS, "rows", "closed", value="both"), "closed must be"),
        (put(*STEPS, "columns", "closed", value=["left"]), "closed lists 1 sides for 2 cuts"),
        (put(*STEPS, "columns", "closed", value=[["left"], "left"]), "closed must be"),
        (put(*STEPS, "rows", "keys", value=[{"label": "red"}]), "a table of 1 times 5 cells has 15 values"),
        (put(*STEPS, "rows", "keys", value=[{"label": "red"}] * 3), "'red' is listed twice"),
        (put(*STEPS, "rows", "keys", 0, value={"label": "green"}), "'paint' can be"),
        (put(*STEPS, "rows", "keys", value="red"), "expected an object"),
        (put(*STEPS, "columns", "cuts", value={"numbers": [["2", "1"]]}), "cuts must increase"),
        (put(*STEPS, "columns", "cuts", value={"numbers": [["1"], ["2"]]}), "does not describe a model"),
        (put(*STEPS, "columns", "cuts", value={"numbers": [["1", "nan"]]}), "'nan' is not a number"),
        (put(*STEPS, "values", value={"numbers": [["1"]] * 14 + [["1", "2"]]}), "same number of outputs"),
        (put(*STEPS, "values", value={"numbers": [["1", "2"]] * 15}), "has 2 outputs, but the model has 1"),
        (put(*STEPS, "values", value={"numbers": [[]] * 15}), "same number of outputs"),
        (put(*LINEAR, "scales", value=["0", "1"]), "scale of 0"),
        (put(*LINEAR, "scales", value=["1"]), "does not describe a model"),
        (put(*LINEAR, "shape", "rows", value={"numbers": [[]]}), "a table of 0 times 3 cells"),
        (put(*PRODUCT, "parts", value=[]), "does not describe a model"),
        (put(*PRODUCT, "parts", 0, "first", "basis", value=9), "there is no basis 9"),
        (put(*PRODUCT, "parts", 0, "first", "kind", value="product"), "'product' is not a kind of shape"),
        (put(*PLAIN, "values", value={"tensor": "nowhere"}), "nowhere"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_documents_that_are_wrong_are_refused(tmp_path, change, words):
    path = tmp_path / "m.safetensors"
    path.write_bytes(rewritten(change))
    with pytest.raises(suffice.ModelFileError, match=words) as error:
        suffice.load(path)
    assert "\n" not in str(error.value)


def test_unchanged_documents_are_accepted(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(rewritten(lambda document: None))
    same(ZOO, suffice.load(path))


JUNK = [None, True, -1, 0, 1, 2.5, 10**30, "", "1/3", "x", "9" * 4001, [], {}, [[]], {"numbers": []}]


def places_in(document, path=()):
    """Every place of a document, as a path."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for step, below in inner:
        yield (*path, step)
        yield from places_in(below, (*path, step))


def damaged(chance):
    """The zoo's file with something in its document put out of place."""

    def change(document):
        path = chance.choice([*places_in(document)])
        *inner, last = path
        for step in inner:
            document = document[step]
        kind = chance.randrange(4)
        if kind == 0:
            document[last] = chance.choice(JUNK)
        elif kind == 1:
            del document[last]
        elif kind == 2 and isinstance(document, list):
            document.insert(chance.randrange(len(document) + 1), document[last])
        else:
            other = chance.choice([*document.values()] if isinstance(document, dict) else document)
            document[last] = other

    return rewritten(change)


def test_a_damaged_file_is_refused_or_is_another_model(tmp_path):
    """What loads after a change means what it says: it is written as the same document and has a score everywhere."""
    path, chance, refused = tmp_path / "m.safetensors", random.Random(7), 0
    for _ in range(600):
        content = damaged(chance)
        path.write_bytes(content)
        try:
            model = suffice.load(path)
        except suffice.ModelFileError:
            refused += 1
            continue
        again = tmp_path / "again.safetensors"
        model.save(again)
        same(model, suffice.load(again))
        row = [next(iter(values)) for values in map(some_values, model.domains)]
        Compiled(model).scores(row)
    assert 300 < refused < 600


def some_values(domain):
    yield from (span.low if span.low is not None else span.high or rational(Fraction(0)) for span in domain.spans)
    yield from domain.categories_
    yield from domain.codes_
