"""Verifiers of other people: Marabou, auto_LiRPA, α,β-CROWN, and any tool that speaks VNN-LIB."""

import re
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import oracles
import pytest
from paper_cases import random_network, vees

import suffice
from suffice.numbers.exact import nearest_float, rational
from suffice.paper import ExactVerifier, Minimality, Problem, Trust, Verdict, VerifierError, cardinally_minimal
from suffice.paper.verifiers import lirpa, marabou, vnnlib
from suffice.paper.verifiers.isolated import Isolated

PATIENCE = 20.0
STANDIN = f"{sys.executable} {Path(__file__).parent / 'standin.py'} {{onnx}} {{vnnlib}} {{result}} {{timeout}}"


def make_standin():
    pytest.importorskip("onnx", reason="onnx is not installed")
    return vnnlib.CommandVerifier(STANDIN, name="HiGHS")


def make_marabou(**options):
    if find_spec("maraboupy") is None:
        pytest.skip("maraboupy is not installed")
    return marabou.MarabouVerifier(**options)


def make_lirpa():
    if find_spec("auto_LiRPA") is None:
        pytest.skip("auto_LiRPA is not installed")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it still uses torch.jit
        return lirpa.LirpaVerifier()


def make_abcrown():
    if find_spec("abcrown") is None:
        pytest.skip("α,β-CROWN is not installed")
    return lirpa.AbcrownVerifier()


MAKERS = {"standin": make_standin, "marabou": make_marabou, "lirpa": make_lirpa, "abcrown": make_abcrown}


@pytest.fixture(params=MAKERS)
def verifier(request):
    return MAKERS[request.param]()


def three_networks():
    """A model of three small networks, and its exact minimum over the unit box around the origin."""
    rng = np.random.default_rng(5)
    networks = [random_network(rng, hidden=(4, 4)) for _ in range(3)]
    lowest = [oracles.PlainNetwork(*each, ["relu", "relu"]).minimum(Fraction(-1), Fraction(1)) for each in networks]
    return [suffice.ReluNetwork(*each) for each in networks], lowest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("free", [1, 3])
def test_verdicts_are_those_of_the_oracle_at_a_clear_margin(verifier, free):
    networks, lowest = three_networks()
    for above, verdict in ((Fraction(1, 100), Verdict.HOLDS), (Fraction(-1, 100), Verdict.COUNTEREXAMPLE)):
        model = suffice.AdditiveModel(networks[:free], -sum(lowest[:free]) + above, "regression")
        instance = Problem(model).instance([0] * free, radius=1, claim=suffice.AtLeast(0))
        answer = verifier.ask(instance.sides, PATIENCE)
        assert answer.verdict is verdict, answer.note
        assert verifier.trust is Trust.VERIFIED
        if verdict is Verdict.COUNTEREXAMPLE:
            assert answer.value < 0


@pytest.mark.filterwarnings("ignore")
def test_a_row_is_explained_as_by_the_exact_verifier(verifier):
    instance = vees([4, 1, 2], Fraction(7, 2))
    result, _ = cardinally_minimal(instance, verifier, precision=1e-3)
    assert (result.fixed, result.minimality, result.trust) == ((0,), Minimality.CARDINAL, Trust.VERIFIED)


@pytest.mark.filterwarnings("ignore")
def test_an_ensemble_beside_a_category_is_decided_at_its_exact_minimum(verifier):
    """The mean of three networks, stretched as a regression's are, and a table whose lowest entry is -2."""
    networks, _ = three_networks()
    ensemble = (networks[0] + networks[1] + networks[2]) * Fraction(1, 3) * 0.7
    drawn = np.random.default_rng(5)
    plain = [oracles.PlainNetwork(*random_network(drawn, hidden=(4, 4)), ["relu", "relu"]) for _ in range(3)]
    places = {Fraction(-1), Fraction(1)} | {x for one in plain for x in one.corners(Fraction(-1), Fraction(1))}
    lowest = min(sum(one(x)[0] for one in plain) for x in places) * Fraction(0.7) / 3
    shapes = [suffice.Table({"a": 0, "b": -2}), ensemble]
    for above, verdict in ((Fraction(1, 100), Verdict.HOLDS), (Fraction(-1, 100), Verdict.COUNTEREXAMPLE)):
        model = suffice.AdditiveModel(shapes, 2 - lowest + above, "regression", ["kind", "x"])
        instance = Problem(model).instance(["a", 0], radius=1, claim=suffice.AtLeast(0))
        answer = verifier.ask(instance.sides, PATIENCE)
        assert answer.verdict is verdict, answer.note
        if verdict is Verdict.COUNTEREXAMPLE:
            assert answer.point[0] == "b"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: marabou.MarabouVerifier(), r"pip install 'suffice\[marabou\]'"),
        (lambda: vnnlib.CommandVerifier(STANDIN), r"pip install 'suffice\[vnnlib\]'"),
        (lambda: lirpa.LirpaVerifier(), "0.7 or newer from its source"),
        (lambda: lirpa.AbcrownVerifier(), "0.7 or newer from its source"),
    ],
)
def test_what_is_not_installed_is_named(monkeypatch, make, message):
    for module in (marabou, vnnlib, lirpa):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(VerifierError, match=message):
        make()


def test_units_other_than_relu_are_refused():
    network = suffice.ReluNetwork([[[1.0]], [[1.0]]], [[0.0], [0.0]], "abs")
    query = Problem(suffice.AdditiveModel([network], 1)).instance([0], radius=1).sides
    for verifier in (make_standin(),):
        with pytest.raises(VerifierError, match="other units"):
            verifier.ask(query, PATIENCE)


# --- Marabou ----------------------------------------------------------------------------------------------------------


def test_leaving_tiny_weights_out_is_charged_to_the_margin():
    network = suffice.ReluNetwork([[[1.0], [-1.0]], [[1e-7, -1.0]]], [[0.0, 0.0], [0.0]])
    part = Problem(suffice.AdditiveModel([network], 2)).instance([0], radius=1).sides[0].parts[0]
    encoded = marabou._encode(part, tiny=1e-6)
    assert encoded.weights[1].tolist() == [[0.0, -1.0]]
    assert 1e-7 <= encoded.charge < 1.1e-7
    for t in np.linspace(-1, 1, 21):
        changed = encoded.weights[1] @ np.maximum(encoded.weights[0][:, 0] * t + encoded.biases[0], 0)
        assert abs(float(part.component.layers.near(np.array([t]))[0]) - float(changed[0])) <= encoded.charge


def test_a_margin_below_the_charge_is_unknown():
    verifier = make_marabou(tiny=0.5)
    network = suffice.ReluNetwork([[[1.0], [-1.0]], [[-0.4, -1.0]]], [[0.0, 0.0], [0.0]])
    query = Problem(suffice.AdditiveModel([network], Fraction(11, 10))).instance([0], radius=1).sides
    assert ExactVerifier().ask(query, PATIENCE).holds
    assert verifier.ask(query, PATIENCE).verdict is Verdict.UNKNOWN


def test_unsat_is_not_believed_of_a_network_that_fails_its_test(monkeypatch):
    verifier = make_marabou()
    monkeypatch.setattr(verifier._solver, "call", lambda question, seconds: ("unsat", []))
    answer = verifier.ask(vees([1, 1], 1).sides, PATIENCE)
    assert (answer.verdict, answer.note) == (Verdict.UNKNOWN, "Marabou fails its self-test on this network")


def test_a_process_that_uses_up_its_cpu_seconds_is_ended():
    isolated = Isolated(sum)
    with pytest.raises(TimeoutError):
        isolated.call(range(10**12), 0.3)  # minutes of work, and no way to be told to stop
    assert isolated._process is None
    assert isolated.cpu_seconds == 0.3
    assert isolated.call([1, 2], 20.0) == 3  # a new process takes its place


def test_a_process_that_only_waits_is_ended_too(monkeypatch):
    import time

    monkeypatch.setattr("suffice.paper.verifiers.isolated._WALL", 0.2)
    isolated = Isolated(time.sleep)
    with pytest.raises(TimeoutError):
        isolated.call(60, 0.2)
    assert isolated._process is None


def test_what_fails_in_the_other_process_is_told_here():
    with pytest.raises(VerifierError, match="ValueError: invalid literal"):
        Isolated(int).call("one", 20.0)


# --- VNN-LIB ----------------------------------------------------------------------------------------------------------


def test_the_written_network_is_the_query(tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    networks, _ = three_networks()
    instance = Problem(suffice.AdditiveModel(networks, 1)).instance([0] * 3, radius=1)
    (query,) = instance.sufficient([1])
    session = runtime.InferenceSession(vnnlib.onnx_of(query, "float64"), providers=["CPUExecutionProvider"])
    for point in ([0.5, -0.25], [-1.0, 1.0]):
        (found,) = session.run(["Y"], {"X": np.array([point])})
        exact = query.at([rational(t) for t in point])
        assert found[0, 0] == pytest.approx(float(exact.p) / float(exact.q))


def test_the_property_is_written_as_the_format_has_it():
    (query,) = vees([1, 2], 1).sides
    assert vnnlib.vnnlib_of(query) == (
        "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n\n"
        "(assert (>= X_0 -1.0))\n(assert (<= X_0 1.0))\n(assert (>= X_1 -1.0))\n(assert (<= X_1 1.0))\n\n"
        "(assert (<= Y_0 0.0))\n"
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("unsat\n", Verdict.HOLDS),
        ("sat\n((X_0 1.0)\n (X_1 -1.0)\n (Y_0 -2.0))", Verdict.COUNTEREXAMPLE),
        ("sat\n", Verdict.UNKNOWN),  # no point, no counterexample
        ("sat\n((X_0 0.0) (X_1 0.0))", Verdict.UNKNOWN),  # a point that breaks nothing
        ("sat\n((X_0 oops) (X_1 0.0))", Verdict.UNKNOWN),
        ("timeout\n", Verdict.UNKNOWN),
        ("error: out of memory", Verdict.UNKNOWN),
        ("", Verdict.UNKNOWN),
    ],
)
def test_results_are_read_as_the_competition_writes_them(tmp_path, text, verdict):
    pytest.importorskip("onnx", reason="onnx is not installed")
    (tmp_path / "said").write_text(text)
    verifier = vnnlib.CommandVerifier(f"cp {tmp_path / 'said'} {{result}} # {{onnx}} {{vnnlib}}")
    assert verifier.ask(vees([1, 2], 1).sides, PATIENCE).verdict is verdict


def test_a_command_that_fails_or_overruns_is_unknown(monkeypatch, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    query = vees([1, 2], 1).sides
    failing = vnnlib.CommandVerifier("exit 3 # {onnx} {vnnlib} {result}", folder=tmp_path)
    assert failing.ask(query, PATIENCE).note == "the command ended with status 3"
    assert re.match(r"\(declare-const X_0", (tmp_path / "00000" / "query.vnnlib").read_text())
    monkeypatch.setattr(vnnlib, "_GRACE", 0.1)
    slow = vnnlib.CommandVerifier("sleep 60 # {onnx} {vnnlib} {result}")
    assert slow.ask(query, 0.1).note == "time-out after 2 s"  # it only waits, so that the clock on the wall counts
    monkeypatch.setattr(vnnlib, "_WALL", 1000.0)
    busy = vnnlib.CommandVerifier(f"{sys.executable} -c 'while True: pass' # {{onnx}} {{vnnlib}} {{result}}")
    answer = busy.ask(query, 0.8)
    assert answer.note == "time-out after 0.9 CPU s"
    assert answer.seconds > 0.8


def test_a_command_must_say_where_files_go():
    pytest.importorskip("onnx", reason="onnx is not installed")
    with pytest.raises(VerifierError, match=r"lacks \{result\}"):
        vnnlib.CommandVerifier("tool {onnx} {vnnlib}")


def test_the_module_of_a_joint_query_is_its_left_side():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    networks, lowest = three_networks()
    model = suffice.AdditiveModel(networks, -sum(lowest), "regression")
    (query,) = Problem(model).instance([0] * 3, radius=1, claim=suffice.AtLeast(0)).sides
    module = lirpa.joint_module(query, torch.float64)
    for point in ([0.0, 0.0, 0.0], [0.5, -1.0, 0.25], [-0.75, 1.0, 1.0]):
        exact = query.at([rational(value) for value in point])
        assert module(torch.tensor([point], dtype=torch.float64)).item() == pytest.approx(
            nearest_float(exact), abs=1e-9
        )
