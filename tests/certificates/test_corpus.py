"""The checker accepts what holds, rejects each attack at its step, and refuses what is no certificate."""

import hashlib
import itertools
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
from truth import is_true

import suffice_check
from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, Steps, Table, Within
from suffice.model.reading import file_hash
from suffice.model.writing import to_bytes
from suffice_check import checker, network
from suffice_check.__main__ import main
from suffice_check.network import Activation, Network, Tensor, read_layer
from suffice_check.ordered import Number
from suffice_check.sentence import Sentence
from suffice_check.tensors import Tensors
from suffice_check.words import show, show_floor, show_value

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
    assert said.out[:-1].isprintable()
    assert not said.err
    assert is_true(plain(model_of(path).stem), json.loads(path.read_bytes()))


@pytest.mark.parametrize("version", [1, 2])
def test_how_to_write_an_old_certificate_anew_is_told(version, tmp_path, capsys):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"version": version, "result": {}}))
    assert main([str(MODELS_BY_NAME["positive"]), str(path)]) == 2
    said = capsys.readouterr().err
    assert f"Cannot read the certificate: version {version} of the format is no longer read; ask again" in said
    assert said.endswith("answer.certificate().save(FILE), or --certificate FILE of the command\n")


def test_every_attack_is_in_the_corpus():
    assert set(INVALID) == set(ATTACKS)


@pytest.mark.parametrize("name", INVALID)
def test_an_attack_is_rejected_at_its_step(name, capsys):
    model = MODELS_BY_NAME["positive"] if name == "another_models_hash" else model_of(INVALID[name])
    assert main([str(model), str(INVALID[name])]) == 1
    said = capsys.readouterr()
    assert re.fullmatch(f"Rejected: {ATTACKS[name][1]}: .*\n", said.err)
    assert said.err[:-1].isprintable()
    assert not said.out


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_certificate_is_refused(name, capsys):
    assert main([str(MODELS_BY_NAME["positive"]), str(MALFORMED[name])]) == 2
    said = capsys.readouterr()
    assert re.fullmatch("Cannot read the certificate: .*\n", said.err)
    assert said.err[:-1].isprintable()
    assert not said.out


# --- what it says -----------------------------------------------------------------------------------------------------


def said(name, change=lambda document: None):
    document = json.loads(VALID[name].read_bytes())
    change(document)
    model = MODELS[document["model"]].read_bytes()
    return suffice_check.check(model, json.dumps(document).encode())


def test_the_sentence_says_what_is_proven_of_which_row_region_and_model():
    digits = json.loads(CERTIFICATE)["model"][:16]
    assert said("one_inequality") == (
        "Proven: with 'colour' = 'red', 'jump' = 1/4 and 'months' = 3 fixed, the prediction stays 'yes', whatever the "
        "other 2 features do within the region; no smaller set is enough. Region: every free feature within 2 of the "
        "row (in its own units); 'months' only inside its domain; a category may become any other; numbers that are "
        "codes or categories count as labels. Rest of the row: 'net' = 5/2 and 'bins' = 5. "
        f"Model: the file whose SHA-256 begins with {digits}."
    )
    assert said("contrast").startswith(
        "Proven: changing 'net' and 'months' alone can break the claim that the prediction stays 'yes'; no fewer "
        "features can. Region: 'net' within 2 of the row (in its own units), 'bins' within 2 of the row (in its own "
        "units), 'months' within 1 of the row (in its own units), 'colour' held at its value and 'jump' within 1/8 of "
        "the row (in its own units); 'months' only inside its domain; numbers that are codes or categories count as "
        "labels. Row: 'net' = 5/2, 'bins' = 5, 'months' = 3, 'colour' = 'red' and 'jump' = 1/4."
    )
    assert said("insufficient").startswith(
        "Proven: fixing 'months' = 3 is not enough: the claim that the prediction stays 'b' is false at an input of "
        "the region. Region: every free feature within 2 of the row (in its own units); a category may become any "
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("bounded", "; no set of fewer than 5 features is enough. Region:"),
        ("sufficient", "whatever the other 2 features do within the region. Region:"),
        ("whole_domain", "Region: every free feature anywhere in its domain."),
        (
            "standard_deviations",
            "fixed and 'jump' immutable, the prediction stays 'yes', whatever the other 2 features",
        ),
        ("standard_deviations", "Region: every free feature within 1 standard deviation of the row; 'months' only"),
        ("deviations_of_corners", "Region: every free feature within 1/2 standard deviations of the row."),
        ("scaled_units", "Region: every free feature within 1 of the row (in the model's scaled units)"),
        (
            "nothing_to_fix",
            "Proven: with 'colour' immutable, the prediction stays 'yes', whatever the other 4 features",
        ),
        ("few_at_once", "of the row (in its own units); at most 2 may change at once."),
        ("few_at_once", "'x5' = 0, 'x6' = 0 and 2 more. Model"),
        ("ball", "(in its own units); all changes in the ball of the 2-norm."),
        ("wishes", "; no smaller set that fixes 'x0' and leaves 'x7' free is enough."),
        ("costs", "; no cheaper set is enough (to fix costs 3 for 'x1', 1/2 for 'x6' and 2 for 'x8', else 1)."),
        (
            "dear_group",
            "; no cheaper set that takes 'x1' and 'x5' as one ('both') is enough (to fix costs 5/2 for 'both' and 1/2 "
            "for 'x8', else 1).",
        ),
        ("charged", "stays 'yes', with at least 1/1000 of score to spare, whatever the other 2 features do within"),
        ("charged", "; no smaller set is enough, even if the claim may fail by as much. Region"),
        ("charged", "Not checked: whether this covers the rounding of float32."),
        ("insufficient_charged", "the claim that the prediction stays 'b' is false by at least 1/1000 of score at an"),
        (
            "contrast_charged",
            "can break the claim that the prediction stays 'yes' by at least 1/1000 of score; no fewer",
        ),
        ("contrast_with_fixed", "Proven: with 'x1' = 0 fixed, changing 'x6', 'x8' and 'x5' alone can break the claim"),
        ("against_one_class", "fixed, 'b' stays ahead of 'c', whatever the other 3 features do"),
        ("probability", "the probability of 'yes' stays at least 11/20 (as 1/(1+exp(-score)))"),
        ("improbable", "the probability of 'yes' stays at least 1/20 (as 1/(1+exp(-score)))"),
        (
            "radius_in_deviations",
            "at every radius up to and including 21/104 standard deviations, but at no larger one",
        ),
        (
            "radius_with_immutable",
            "Proven: with 'net' = 5/2 fixed and 'colour' immutable, the prediction stays 'yes' at",
        ),
        (
            "radius_with_immutable",
            "at every radius below 311/320, but not at this one. Region: every free feature within",
        ),
        (
            "radius_with_immutable",
            "within that radius of the row (in the model's scaled units); 'bins', 'months' and 'jump' only "
            "inside their domains; numbers that are codes or categories count as labels. Rest of the row: 'bins'",
        ),
        (
            "radius_without_end",
            "stays 'no' at every finite radius, but not on the whole domain. Region: 'months' within that",
        ),
    ],
)
def test_the_sentence_says_what_else_decides_its_meaning(name, part):
    assert part in said(name)


def told(model, answer, change=lambda document: None, *, is_full=False):
    """What the checker says of an answer, after a change to its certificate."""
    document = json.loads(answer.certificate().text)
    change(document)
    proven = checker.Checker(to_bytes(model)).check(json.dumps(document).encode())
    return "\n".join(Sentence(proven, is_full=True).lines()) if is_full else Sentence(proven).text()


def cliffs(*highs, **options):
    """A model of features that are worth 2 up to 1, and as much as is said beyond."""
    features = [Feature(name, **options) for name, _ in zip("abcdefgh", highs, strict=False)]
    return AdditiveModel([Steps([1], [2, high]) for high in highs], -1, features=features, classes=["no", "yes"])


def test_how_many_may_change_is_told_without_a_radius_too():
    model = cliffs(0, 0, 0)  # true of any one change, false of all three
    answer = Explainer(model).radius([0, 0, 0], [], max_changed=2, unit="raw")
    text = told(model, answer)
    assert "the prediction stays 'yes' on the whole domain. Region: at most 2 may change at once. Row: " in text


def test_the_region_is_told_where_only_smaller_sets_have_one():
    model = cliffs(-9, -9)
    text = told(model, Explainer(model).explain([0, 0], 3, unit="raw"))
    assert "for nothing else can change; no smaller set is enough. Region: every free feature within 3 of the" in text


def test_a_category_without_deviation_is_not_said_to_change():
    shape = Table({"u": 1, "v": -9}, otherwise=Steps([1], [2, 0]))
    domain = Domain.interval(0, 5) | Domain.categories("u", "v")
    model = AdditiveModel([shape, Steps([1], [2, 0])], 1, features=[Feature("a", domain, deviation=0), "b"])
    text = told(model, Explainer(model).explain(["u", 0], {"a": 1, "b": 0}, unit="std"))
    assert "Region: every free feature held at its value. Row" in text
    text = told(model, Explainer(model).radius(["u", 0], ["b"], unit="raw"))
    assert "up to and including 0, but at no larger one. Region: 'a' within that radius of the row (in its own" in text
    assert "; a category may become any other at a radius above 0. Rest" in text


def test_what_goes_with_a_fixed_feature_is_said_to_be_fixed():
    model = cliffs(2, -9, -9)  # a change of b alone, which goes with a, breaks the claim
    answer = Explainer(model).contrast([0, 0, 0], 2, unit="raw", groups={"g": ["a", "b"]}, fix=["a"], cost={"c": 3})
    text = told(model, answer, lambda document: document["question"].update(fix=["a"]))
    assert text.startswith("Proven: with 'a' = 0 and 'b' = 0 fixed, changing 'c' alone can break the claim")


def test_the_row_is_told_where_features_have_ranges():
    model = AdditiveModel([PiecewiseLinear([0], [0], 1, 1), Steps([1], [0, 1])], task="regression", features=["a", "b"])
    text = told(model, Explainer(model).inflate([7, 0], 2, unit="raw", claim=Within(1)))
    assert "'a' is in [6, 7], and whatever 'b' does within the region; each range is as wide as those before" in text
    assert "it allow. Region" in text
    assert "Row: 'a' = 7 and 'b' = 0." in text
    text = told(model, Explainer(model).inflate([Fraction(7, 10**13), 0], 2, unit="raw", claim=Within(1)))
    assert "; each range is as wide as those before it allow, but for the rounding of its ends inwards here." in text


def test_a_number_that_is_a_code_is_said_to_be_a_label():
    shape, domain = Table({-999: -9}, otherwise=Steps([1], [2, 2])), Domain.interval(-998, 9) | Domain.codes(-999)
    model = AdditiveModel([shape], features=[Feature("a", domain)], classes=["no", "yes"])
    text = told(model, Explainer(model).explain([-998], 2, unit="raw"))  # -999 is near, and breaks the claim
    within = "within 2 of the row (in its own units); 'a' only inside its domain; numbers that are codes or categories"
    assert f"{within} count as labels. Row" in text


def test_a_domain_that_ends_within_the_radius_is_told():
    """Without that, the sentence would speak of numbers such as an `a` of 4, at which the model decides otherwise."""
    domains = {"a": Domain.interval(0, 2), "b": Domain.interval(-9, 9), "c": Domain.integers(0, 9), "d": None}
    features = [Feature(name, domain, deviation=1) for name, domain in domains.items()]
    model = AdditiveModel([Steps([3], [1, -5]), *[Steps([5], [1, 0])] * 3], features=features, classes=["no", "yes"])
    asked, row = Explainer(model), [1, 0, 5, 0]
    assert "of the row; 'a' and 'c' only inside their domains. Row" in told(model, asked.explain(row, 5))
    assert "of the row; 'a', 'b' and 'c' only inside their domains. Row" in told(model, asked.explain(row, 10))
    assert "of the row; 'a' only inside its domain. Row" in told(model, asked.explain(row, 5, immutable=["c"]))
    assert "'a', 'b' and 'c' only inside their domains. Row" in told(model, asked.curve(row, until=2))
    assert "domain" not in told(model, asked.explain(row, {"a": 1, "b": 1, "c": 0, "d": 9}))
    assert "anywhere in its domain. Row" in told(model, asked.explain(row, "inf"))


def test_ranges_are_those_of_the_domain_and_nothing_is_said_to_be_fixed_in_them():
    features = [Feature("a", Domain.interval(0, 9)), Feature("b", Domain.integers(0, 9)), Feature("c")]
    model = AdditiveModel([Steps([3], [1, -5]), Steps([4], [-1, 2]), Steps([1], [0, -2])], features=features)
    answer = Explainer(model).inflate([1, 5, 0], 2, unit="raw")
    assert "as long as 'a' is in [0, 3) and 'b' is in [4, 9] (of its domain), and whatever 'c'" in told(model, answer)
    statement = told(model, answer, is_full=True)
    for line in ("'a' = 1: in [0, 3)", "'b' = 5: in the integers in [4, 9]", "'c' = 0: free in [-2, 2]"):
        assert f"\n  {line}" in statement


def test_what_is_fixed_is_said_to_be_free_only_where_other_sets_are_ruled_out():
    model = cliffs(-2, -2)
    explainer, fixed = Explainer(model), "\n  'a' = 0: fixed\n"
    assert fixed in told(model, explainer.sufficiency([0, 0], ["a"], 2, unit="raw"), is_full=True)
    assert fixed in told(model, explainer.radius([0, 0], ["a"], unit="raw"), is_full=True)
    assert ": fixed, if free in [-2, 2]" in told(model, explainer.explain([0, 0], 2, unit="raw"), is_full=True)


def test_the_whole_statement_leaves_no_rule_out_and_writes_long_numbers():
    model = cliffs(*[1] * 8)
    groups = {name.upper(): [name] for name in "abcdefgh"}
    answer = Explainer(model).explain([0] * 8, 2, unit="raw", groups=groups, fix=["a"])
    assert "'h' as one ('H')" in told(model, answer, is_full=True)
    row, radius = Fraction(1, int("3" * 3999 + "1")), Fraction(1, int("7" * 4000))

    def change(document):
        document["row"][7], document["question"]["radius"] = {"number": str(row)}, str(radius)
        document["result"]["lower_bound"], document["evidence"] = "0", {"witnesses": [], "tree": []}

    end = told(model, answer, change, is_full=True).rpartition(", ")[2].removesuffix("]").split("/")
    assert len(end[1]) > 4300  # more than Python turns into a number, or into text, at once
    at = row + radius
    assert [int(part[-4000:]) for part in end] == [part % 10**4000 for part in (at.numerator, at.denominator)]


def test_where_nothing_suffices_nothing_has_a_role():
    model = cliffs(-9, 2, 2)
    answer = Explainer(model).relevance([0, 0, 0], 2, unit="raw")

    def change(document):  # "in every sufficient set", of which there are none that leave 'a' free
        document["question"]["free"] = ["a"]
        document["result"] |= {"necessary": [1, 2], "irrelevant": []}
        document["evidence"]["trees"] = []

    with pytest.raises(suffice_check.RejectedError, match="sufficiency: the free features can break the claim"):
        told(model, answer, change)


def test_what_changes_the_meaning_changes_the_sentence():
    texts = {name: said(name) for name in VALID}
    documents = {name: (path.read_text(), json.loads(path.read_bytes())) for name, path in VALID.items()}
    for one, other in itertools.combinations(VALID, 2):
        first, second = documents[one][1], documents[other][1]
        is_same = all(first[part] == second[part] for part in ("model", "row", "question", "charges", "result"))
        assert (texts[one] == texts[other]) == is_same, (one, other)


def test_numbers_are_exact_or_enclosed():
    value = Fraction(5) - Fraction(1, 10**13)
    assert show(value) == "a number between 4.99999 and 5.00000"
    assert show(Fraction(0.1)) == "0.1 (as a float64)"
    assert show(Fraction(-1, 3)) == "-1/3"
    assert show(Fraction(-(10**400), 3)) == "a number between -3.33334E+399 and -3.33333E+399"
    assert show_floor(value) == "4.99999"
    assert show_floor(Fraction(1, 10**400)) == "1E-400"
    assert show_value(Number(Fraction(0.1))) == "about 0.100000"
    assert show_value(None) == "missing" != show_value("missing")
    long = str(Fraction(-9) - Fraction(1, 10**3000))
    text = said("rays", lambda d: d["question"]["claim"].update(value=long))
    assert "the score stays at least a number between -9.00001 and -9.00000, whatever" in text


def test_text_from_files_cannot_forge_a_line():
    name = "a\x1b[2K\nProven: nothing. \u202eModel"
    model = AdditiveModel([Table({"x\ny": 1, "z": 1})], features=[name], classes=["no\n", "yes\r"])
    certificate = Explainer(model).explain(["x\ny"], 1, unit="raw").certificate()
    text = suffice_check.check(to_bytes(model), certificate.text.encode())
    assert text.isprintable()
    assert repr(name) in text
    assert "'yes\\r'" in text
    assert "'x\\ny'" in text


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


def test_long_integers_are_refused_whatever_python_would_read():
    assert "an integer of 4001 digits" in refused(GOOD, b"1" * 4001)


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

    monkeypatch.setattr(checker, "read_model", fail)
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
    yield "no name", changed(put(["features", 0, "name"], ""))
    yield "negative deviation", changed(put(["features", 0, "deviation"], "-1"))
    yield "false for a feature", changed(put(["terms", 0, "features"], [False]))
    yield "float for a feature", changed(put(["terms", 1, "features"], [1.0]))
    yield "a truth that equals a number among classes", changed(put(["classes"], [True, 1]))
    yield "two of one name", changed(put(["features", 0, "name"], "bins"))
    yield "code among numbers", changed(put(["features", 2, "domain", "codes"], [{"number": "7"}]))
    yield "cuts that fall", changed(put(["terms", 1, "shape", "cuts"], {"numbers": [["5", "2"]]}))
    yield "unknown shape", changed(put(["terms", 1, "shape"], {"kind": "magic"}))
    yield "equal classes", changed(put(["classes"], ["yes", "yes"]))
    yield "equal numbers for classes", changed(put(["classes"], [1, 1.0]))
    yield "lists for classes", changed(put(["classes"], ["no", [[]]]))
    yield "infinite class", changed(put(["classes"], ["no", "HERE"])).replace(b'\\"HERE\\"', b"   1e999")
    yield "not a number for a class", changed(put(["classes"], ["no", "HERE"])).replace(b'\\"HERE\\"', b"     NaN")
    yield "category listed twice", changed(put(["features", 3, "domain", "categories"], [{"label": "red"}] * 2))
    alike = {"name": "a", "thresholds": ["1", "-1"], "slopes": [["1"]] * 3, "offsets": ["0"] * 3}
    yield "thresholds that fall", changed(put(activation, alike))
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
    for depth in (1000, 2000, 10**5):  # too deep for any Python, for reading, or even for JSON
        levels = '{"kind":"sum","parts":[' * depth + json.dumps(document["terms"][1]["shape"]) + "]}" * depth
        text = json.dumps(document | {"terms": [*document["terms"][:1], "HERE", *document["terms"][2:]]})
        term = f'{{"features":[1],"shape":{levels}}}'
        yield f"{depth} levels", packed({**header, "__metadata__": {"suffice": text.replace('"HERE"', term)}})


@pytest.mark.parametrize("model", [pytest.param(content, id=name) for name, content in damaged()])
def test_a_damaged_model_is_refused(model):
    assert refused(model, with_hash_of(model)).startswith("the model file: ")


def test_parameters_that_are_no_numbers_are_told():
    model = next(content for name, content in damaged() if name == "not a number")
    assert "other than finite numbers" in refused(model, with_hash_of(model))


@pytest.mark.parametrize(
    ("shape", "reason"),
    [([2**39, 0], "0 is not an integer from 1 up"), ([2**39] * 2000, "does not have one or two dimensions")],
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


def shallow(units):
    """A network of one hidden layer, each of whose units bends somewhere else."""
    relu = Activation([Fraction(0)], [[Fraction(0)], [Fraction(1)]], [Fraction(0), Fraction(0)])
    inner = read_layer(
        Tensor("F64", (units, 1), (1.0,) * units), Tensor("F64", (units,), tuple(map(float, range(units)))), relu
    )
    return Network([inner, read_layer(Tensor("F64", (1, units), (1.0, -2.0) * (units // 2)), None)], {})


def test_a_shallow_network_takes_work_in_proportion_to_its_units(monkeypatch):
    work = []
    products, place = network.products, network.place
    monkeypatch.setattr(network, "place", lambda *given: work.append(1) or place(*given))
    monkeypatch.setattr(
        network, "products", lambda rows, some: work.append(len(rows) * len(some)) or products(rows, some)
    )
    totals = []
    for units in (64, 128, 256):
        pieces = shallow(units).pieces(Fraction(-1000), Fraction(1000))
        assert len(pieces.knots) == units
        totals.append(sum(work))
        work.clear()
    assert totals[2] < 2.1 * totals[1] < 4.5 * totals[0]


def test_too_many_bends_are_refused(monkeypatch):
    monkeypatch.setattr(network, "MOST_BENDS", 0)
    assert "more than 0 bends" in refused(GOOD, CERTIFICATE)


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


@pytest.mark.parametrize("module", ["suffice.numbers.exact", "numpy", "flint"])
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
    assert (wrong.returncode, wrong.stderr) == (2, "usage: suffice-check [--statement | --json] MODEL CERTIFICATE...\n")


def test_several_certificates_are_checked_with_one_reading_of_the_model(capsys, monkeypatch):
    reads, read_model = [], checker.read_model
    monkeypatch.setattr(checker, "read_model", lambda content: reads.append(1) or read_model(content))
    good, bad = str(VALID["one_inequality"]), str(INVALID["subtree_missing"])
    broken = str(MALFORMED["empty"])
    model = str(MODELS_BY_NAME["positive"])
    assert main([model, good, bad, good, broken]) == 2
    said = capsys.readouterr()
    assert len(reads) == 1
    assert [line.split(" ", 1)[0] for line in said.out.splitlines()] == ["[1/4]", "[3/4]"]
    failed, unread, summary = said.err.splitlines()
    assert failed.startswith("[2/4] ")
    assert ": Rejected: " in failed
    assert unread.startswith("[4/4] ")
    assert summary == "4 certificates: 2 proven, 1 rejected, 1 unreadable"
    assert main([model, good, bad]) == 1
    assert main([model, good, good]) == 0


def test_a_model_that_cannot_be_read_is_told_once(capsys, tmp_path):
    (tmp_path / "model").write_bytes(b"none")
    assert main([str(tmp_path / "model"), *[str(VALID["one_inequality"])] * 3]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "given", [[], ["m"], ["--json"], ["--json", "m"], ["--what", "m", "c"], ["--json", "--statement", "m", "c"]]
)
def test_wrong_usage_is_told(given, capsys):
    assert main(given) == 2
    assert capsys.readouterr().err.startswith("usage: ")


@pytest.mark.parametrize("name", VALID)
def test_the_whole_statement_is_told_as_text_and_as_data(name, capsys):
    path = VALID[name]
    document = json.loads(path.read_bytes())
    assert main(["--statement", str(model_of(path)), str(path)]) == 0
    said = capsys.readouterr().out
    assert document["model"] in said
    assert all(line.isprintable() for line in said.splitlines())
    count = len(document["row"])
    features = said.splitlines()[-count:]
    exact = [cell.get("number", cell.get("label", "missing")) for cell in document["row"]]
    assert all(f" = {x}: " in line.replace("'", "") for x, line in zip(exact, features, strict=True))
    assert "more" not in said.split("Model: ")[0].replace("no more", "")
    assert main(["--json", str(model_of(path)), str(path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data.pop("is_proven") is True
    assert data.pop("says").startswith("Proven: ")
    assert data == {field: content for field, content in document.items() if field != "evidence"}


def test_nothing_from_a_file_reaches_the_terminal_unescaped(tmp_path, capsys):
    name = "a\x1b[2K\n\u202eProven: nothing."
    model = AdditiveModel([Table({"x\ny": 1, "z\r": -1})], features=[name], classes=["no\n", "yes\x9b"])
    model.save(tmp_path / "model")
    why = Explainer(model).explain(["x\ny"], 1, unit="raw").certificate()
    paths = [tmp_path / "one\nProven: all", tmp_path / "two\x1b[2K"]
    for path in paths:
        why.save(path)
    (tmp_path / "bad\r").write_text(why.text.replace("x\\ny", "q"))
    for form in ([], ["--statement"], ["--json"]):
        main([*form, str(tmp_path / "model"), *map(str, paths), str(tmp_path / "bad\r"), str(tmp_path / "no\x1b")])
        said = capsys.readouterr()
        assert all(line.isprintable() for line in (said.out + said.err).split("\n"))


@pytest.mark.parametrize("name", ["fractions", "json", "hashlib", "decimal", "typing", "re", "__future__", "suffice"])
def test_no_file_of_the_current_folder_passes_for_pythons_own(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    command = [sys.executable, "-m", "suffice_check", str(MODELS_BY_NAME["positive"]), str(VALID["one_inequality"])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Proven: ")


def test_the_package_offers_its_names_and_no_others():
    assert [callable(getattr(suffice_check, name)) for name in suffice_check.__all__] == [True] * 5
    with pytest.raises(AttributeError, match="no attribute 'solve'"):
        suffice_check.solve  # noqa: B018


def test_no_source_of_the_checker_names_the_library():
    for path in Path(suffice_check.__file__).parent.glob("*.py"):
        imported = [line.split()[1] for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert not [name for name in imported if name.partition(".")[0] in ("suffice", "numpy", "flint", "safetensors")]
