"""What the library proves, the checker accepts: all shapes, claims, preferences and regions."""

import json
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import networks
from typer.testing import CliRunner

import suffice
import suffice_check
from suffice import (
    MISSING,
    Activation,
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Readout,
    ReluNetwork,
    Same,
    Status,
    Steps,
    Table,
    Within,
)
from suffice.cli import app
from suffice.model_file import to_bytes
from suffice.shapes.parameters import rounded_exp
from suffice_check.exponential import exp_bounds
from suffice_check.shapes import rounded_exp as checker_exp

LEAKY_UNITS = Activation.leaky_relu([0.1, 3])
BASIS = ReluNetwork([[[1.0], [-0.5]], [[1.0, 0.5], [2.0, -1.0]]], [[1.0, 0.25], None])
ZOO = AdditiveModel(
    shapes=[
        ReluNetwork([np.ones((2, 1), np.float16), np.ones((1, 2), np.float16)], [[0.5, 0.25], None], LEAKY_UNITS),
        ReluNetwork([[[1.0]], [[2.0]], [[3.0]]], [None, [1.0], None], ["hard_tanh", "relu6"], skips={2: 1, 3: 0}),
        ReluNetwork([np.array([[0.5], [-1.25]], np.float32), [[1.0, -2.0]]], [[0.1, 0.5], None], exu=True),
        ReluNetwork([np.array([[0.75]], np.float16), [[0.5]]], [np.array([0.5], np.float16), None], "relu6", exu=True),
        Table({"a": "1/3", "b": 2, MISSING: 2}),
        Readout(BASIS, [[1.0, 2.0]]) + Readout(BASIS, [[0.5, 0.0]]),
        Table({-9: 1, MISSING: 0}, otherwise=Steps([1, 2], ["1/3", 2, 3], closed="right")),
        (PiecewiseLinear(["1/3"], [1], left_slope=0.1) * "2/7" - Steps([], [5])).rescaled(1, "-2/3"),
        Table({k: (k * 7) % 5 for k in range(6)}),
    ],
    intercept="1/7",
    features=[
        "n",
        Feature("s", center=0.1, scale=-3, deviation=2),
        Feature("e", Domain.interval(-2, 4)),
        "f",
        "c",
        Feature("r", Domain.integers(-10, 10)),
        Feature("codes", Domain.integers(0) | Domain.codes(MISSING, -9)),
        Feature("p", Domain.interval("1/3", 5) | Domain.points(-1) | Domain.categories(-7)),
        Feature("k", Domain.integers(0, 5)),
    ],
    classes=["bad", "good"],
    ties="negative",
)


def checked(model, result, **options):
    """Certify a result, check it, and return what the checker says."""
    return suffice_check.check(to_bytes(model), result.certificate(**options).text.encode())


def rows_of(count, seed=0):
    rng = random.Random(seed)
    for _ in range(count):
        yield [
            rng.uniform(-3, 3),
            rng.choice([0, 0.5, -3, rng.uniform(-9, 9)]),
            rng.uniform(-2, 4),
            rng.uniform(-1, 3),
            rng.choice(["a", "b", None]),
            rng.randint(-10, 10),
            rng.choice([-9, None, 0, 1, 2, 3, 1000]),
            rng.choice([-7, -1, 1, "1/3", 5]),
            rng.randint(0, 5),
        ]


def test_every_kind_of_shape_is_certified():
    explainer, sizes = Explainer(ZOO), set()
    for row in rows_of(20):
        for radius in (0, "1/2", 3, math.inf):
            why = explainer.explain(row, radius)
            said = checked(ZOO, why)
            assert said.endswith("no smaller set is enough." if why.size else "do in their regions.")
            sizes.add(why.size)
            assert checked(ZOO, explainer.contrast(row, radius)).startswith("Proven: ")
    assert len(sizes) > 3


@settings(max_examples=80)
@given(st.data())
def test_random_networks_are_certified(data):
    count = data.draw(st.integers(1, 4))
    shapes = [ReluNetwork(*data.draw(networks(outputs=1))) for _ in range(count)]
    places = st.fractions(-4, 4, max_denominator=6)
    scales = data.draw(st.lists(places.filter(bool), min_size=count, max_size=count))
    domains = data.draw(st.lists(st.sampled_from([Domain.reals(), Domain.integers()]), min_size=count, max_size=count))
    features = [
        Feature(f"f{i}", domain, 1, scale) for i, (domain, scale) in enumerate(zip(domains, scales, strict=True))
    ]
    model = AdditiveModel(shapes, data.draw(places), "regression", features)
    row = [data.draw(st.integers(-3, 3)) for _ in range(count)]
    radius = data.draw(st.sampled_from([1, "5/2", math.inf]))
    claim = Within(data.draw(st.fractions(0, 9, max_denominator=3)))
    explainer = Explainer(model)
    why = explainer.explain(row, radius, claim=claim)
    assert checked(model, why).startswith("Proven: ")
    assert checked(model, explainer.contrast(row, radius, claim=claim)).startswith("Proven: ")
    if why.size:
        less = explainer.certify(row, why.features[1:], radius, claim=claim)
        assert less.document["result"]["kind"] == "insufficient"
        assert "is not enough" in suffice_check.check(to_bytes(model), less.text.encode())


def test_every_claim_is_certified():
    explainer = Explainer(ZOO)
    row = next(rows_of(1))
    score = explainer.score(row)
    claims = [Same(), AtLeast(score - 1), AtMost(score + 1), Within("1/2"), ProbabilityAtLeast("1/2")]
    other = next(name for name in ZOO.classes if name != explainer.predict(row))
    for claim in [*claims, Beats(other), ProbabilityAtLeast("1/3")]:
        why = explainer.explain(row, 6, claim=claim)
        assert why.size
        assert checked(ZOO, why).endswith("no smaller set is enough.")
        assert checked(ZOO, explainer.contrast(row, 6, claim=claim)).endswith("no fewer can.")


def test_preferences_budgets_and_norms_are_certified():
    explainer = Explainer(ZOO)
    wishes = [
        {"cost": {"n": 3, "s": "1/2", "p": 2}},
        {"keep": ["n"], "free": ["k"]},
        {"groups": [["n", "s"], ["e", "c", "p"]]},
        {"groups": {"both": ["n", "s"]}, "cost": {"both": 5, "e": "1/3"}, "keep": ["c"]},
        {"at_most": 1},
        {"at_most": 2},
        {"at_most": 2, "groups": [["n", "s"], ["e", "p"]], "cost": {"k": 2}},
        {"norm": 1},
        {"norm": 2, "keep": ["n"]},
    ]
    for row in rows_of(12, seed=1):
        for wish in wishes:
            try:
                why = explainer.explain(row, 1, claim=Within(2), **wish)
            except suffice.PreferenceError:  # what must be free breaks the claim
                continue
            assert checked(ZOO, why).startswith("Proven: ")


def test_charges_for_rounding_are_certified_as_a_margin_to_spare():
    model = AdditiveModel([BASIS_OF_ONE * 1, BASIS_OF_ONE * -1], "1/8")
    why = Explainer(model).explain([0.5, 0.25], "1/2", semantics="float32")
    document = why.certificate().document
    assert [Fraction(one) for one in document["charges"]] == [Fraction(int(c.p), int(c.q)) for c in why.charged]
    assert "to spare" in checked(model, why)


BASIS_OF_ONE = ReluNetwork([[[1.0], [-0.5]], [[1.0, 0.5]]], [[1.0, 0.25], None])


def test_a_bounded_result_proves_its_bound_and_no_more():
    rng = random.Random(3)
    count = 14
    slopes = [(rng.randint(1, 40), rng.randint(1, 40)) for _ in range(count)]
    model = AdditiveModel([PiecewiseLinear([0], [0], *pair) for pair in slopes], 0, "regression")
    explainer = Explainer(model)
    for delta in range(40, 200, 10):
        why = explainer.explain([0] * count, 1, claim=Within(delta), max_nodes=1)
        if why.status is Status.BOUNDED:
            break
    assert why.lower_bound < why.size
    assert checked(model, why).endswith(f"no set of fewer than {why.lower_bound} features is enough.")
    more = json.loads(why.certificate().text)
    more["result"]["lower_bound"] += 1
    with pytest.raises(suffice_check.RejectedError, match="tree"):
        suffice_check.check(to_bytes(model), json.dumps(more).encode())


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_the_checker_rounds_exponentials_as_the_library_does(kind):
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.normal(size=200), rng.uniform(-18, 11, size=200), [0.0, -1e-30, 1e-8, -40.0, -800.0]])
    weights = drawn.astype(kind)
    name = {np.float16: "F16", np.float32: "F32", np.float64: "F64"}[kind]
    ours = [Fraction(float(value)) for value in rounded_exp(weights)]
    assert [checker_exp(float(weight), name) for weight in weights] == ours


@given(st.fractions(-30, 30, max_denominator=50), st.integers(20, 300))
def test_bounds_of_the_exponential_enclose_it(exponent, bits):
    low, high = exp_bounds(exponent, bits)
    with localcontext() as context:
        context.prec = 200
        true = Fraction((Decimal(exponent.numerator) / exponent.denominator).exp())
    slack = Fraction(1, 10**150) * true  # the decimal itself is rounded
    assert low - slack <= true <= high + slack
    assert (high - low) / true < Fraction(1, 2) ** (bits - 60 if bits > 70 else -40)


def test_radii_are_certified():
    explainer, kinds = Explainer(ZOO), set()
    for row in rows_of(12, seed=2):
        for kept in ([], ["n", "s", "c"], ["n", "s", "e", "f", "p", "r"]):
            certificate = explainer.certify_radius(row, kept, claim=Within(3))
            result, limit = certificate.document["result"], explainer.radius(row, kept, claim=Within(3))
            assert result["is_attained"] == limit.is_attained
            assert (math.inf if result["radius"] is None else Fraction(result["radius"])) == limit.radius
            assert suffice_check.check(to_bytes(ZOO), certificate.text.encode()).startswith("Proven: ")
            kinds.add((result["radius"] is None, result["is_attained"]))
    assert len(kinds) > 1


def test_a_radius_beside_a_special_code_is_certified():
    """A code may be a number whose distance to the others means nothing: it is not left at any finite radius."""
    line = PiecewiseLinear([0], [0], 1, 1)
    features = [Feature("months", Domain.interval(0, 60) | Domain.codes(-8)), "size"]
    model = AdditiveModel([Table({-8: 5}, otherwise=line * -1), line], 1, features=features)
    explainer = Explainer(model)
    certificate = explainer.certify_radius({"months": -8, "size": 4}, [])
    assert suffice_check.check(to_bytes(model), certificate.text.encode()).endswith("at the radius 10, and no further.")


def test_a_radius_of_a_probability_has_no_certificate():
    with pytest.raises(suffice.CertificateError, match="not rational"):
        Explainer(ZOO).certify_radius(next(rows_of(1)), [], claim=ProbabilityAtLeast("1/3"))


def test_the_same_result_gives_the_same_bytes():
    row = next(rows_of(1))
    first, second = (Explainer(ZOO).explain(row, 1).certificate().text for _ in range(2))
    assert first == second
    assert first == json.dumps(json.loads(first), separators=(",", ":")) + "\n"


def test_a_certificate_is_for_the_file_that_holds_the_model(tmp_path):
    path, row = tmp_path / "zoo.safetensors", next(rows_of(1))
    ZOO.save(path)
    why = Explainer(suffice.load(path)).explain(row, 1)
    why.certificate().save(tmp_path / "why.json")
    assert suffice_check.check_files(path, tmp_path / "why.json").startswith("Proven: ")
    header = int.from_bytes(path.read_bytes()[:8], "little")
    spaced = path.read_bytes()[8 : 8 + header] + b" " * 8  # the same model in other bytes
    other = tmp_path / "spaced.safetensors"
    other.write_bytes((header + 8).to_bytes(8, "little") + spaced + path.read_bytes()[8 + header :])
    with pytest.raises(suffice_check.RejectedError, match="model"):
        suffice_check.check_files(other, tmp_path / "why.json")
    why.certificate(other).save(tmp_path / "other.json")
    assert suffice_check.check_files(other, tmp_path / "other.json").startswith("Proven: ")


def test_a_file_of_another_model_is_refused(tmp_path):
    AdditiveModel([Steps([1], [0, 1])]).save(tmp_path / "m.safetensors")
    with pytest.raises(suffice.ModelFileError, match="holds another model"):
        Explainer(ZOO).explain(next(rows_of(1)), 1).certificate(tmp_path / "m.safetensors")


def test_a_certificate_that_cannot_be_written_says_so(tmp_path):
    certificate = Explainer(ZOO).explain(next(rows_of(1)), 1).certificate()
    with pytest.raises(suffice.CertificateError, match="cannot be written"):
        certificate.save(tmp_path / "no" / "such" / "folder.json")


def test_the_command_line_writes_and_checks_certificates(tmp_path):
    model = AdditiveModel(
        [PiecewiseLinear([0], [0], 1, 1), Table({"red": 1, "blue": -1})], "1/4", features=["size", "colour"]
    )
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("size,colour\n1,red\n-3,blue\n")
    path, table, why = (str(tmp_path / name) for name in ("m.safetensors", "t.csv", "why.json"))
    run = CliRunner().invoke
    asked = [path, table, "--radius", "1", "--certificate", why]
    for command in ("explain", "contrast"):
        assert run(app, [command, *asked, "--row", "0"]).exit_code == 0
        done = run(app, ["check", path, why])
        assert (done.exit_code, done.output[:8]) == (0, "Proven: ")
    assert run(app, ["explain", *asked, "--row", "0", "--row", "1"]).exit_code == 0
    for row in (0, 1):
        assert run(app, ["check", path, str(tmp_path / f"why-{row}.json")]).exit_code == 0
    text = (tmp_path / "why-0.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"radii":["1"', '"radii":["9"'))
    done = run(app, ["check", path, str(tmp_path / "bad.json")])
    assert (done.exit_code, done.output[:10]) == (1, "Rejected: ")
    (tmp_path / "bad.json").write_text(text[:-20])
    done = run(app, ["check", path, str(tmp_path / "bad.json")])
    assert (done.exit_code, done.output[:12]) == (2, "Cannot read ")
