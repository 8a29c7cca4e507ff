"""Features compiled when they are asked for: answers are those of a model compiled at once, wherever it is done."""

import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from suffice import (
    MISSING,
    AdditiveModel,
    Explainer,
    Feature,
    PiecewisePolynomial,
    ReluNetwork,
    Steps,
    SufficeError,
    Table,
    Within,
    processes,
)
from suffice.errors import PieceBudgetError
from suffice.model import features
from suffice.model.features import Features
from suffice.numbers.exact import rational
from suffice.numbers.later import Later
from suffice.shapes.lazy import Lazy
from suffice.shapes.network import Readout, is_tabulated
from suffice.shapes.pieces import Pieces


def network(seed, outputs=1, widths=(6, 5)):
    draw = np.random.default_rng(seed).normal
    sizes = (1, *widths, outputs)
    weights = [draw(size=(after, before)).astype(np.float32) for before, after in pairwise(sizes)]
    return ReluNetwork(weights, [draw(size=after).astype(np.float32) for after in sizes[1:]])


def several(count=8, outputs=1, **options):
    """A model of networks by themselves, in sums and tables, behind a change of units, and of other shapes."""
    basis = network(90, outputs=3)
    made = [
        network(0, outputs),
        network(1, outputs) + network(2, outputs) * "2/3",
        Table({MISSING: [1] * outputs, 4: [5] * outputs}, otherwise=network(3, outputs)),
        Readout(basis, np.arange(1.0, 3 * outputs + 1).reshape(outputs, 3)),
        Readout(basis, -np.arange(1.0, 3 * outputs + 1).reshape(outputs, 3)),
        Steps([0, 1], [[1] * outputs, [-1] * outputs, ["2/3"] * outputs]),
        network(4, outputs).rescaled("1/3", -2) + Steps([0], [[0] * outputs, [1] * outputs]),
        network(5, outputs),
    ]
    columns = [Feature(f"x{i}", center=f"{i}/7", scale=(-1) ** i * (i + 1), deviation=1) for i in range(len(made))]
    task = "multiclass" if outputs > 1 else "binary"
    return AdditiveModel(made[:count], [0] * outputs, task, columns[:count], **options)


ROW = [0.25, -1, 4, 2, "1/3", 0, -0.5, 1]


@pytest.fixture
def compiled(monkeypatch):
    """The features that are compiled as a whole, one after the other."""
    found, compile_feature = [], AdditiveModel.compile_feature

    def noted(model, i, *given, **named):
        if is_tabulated(model.mains[i].shape):
            found.append(i)
        return compile_feature(model, i, *given, **named)

    monkeypatch.setattr(AdditiveModel, "compile_feature", noted)
    return found


@pytest.fixture
def _processes_at_once(monkeypatch):
    monkeypatch.setattr(features, "ALONE_SECONDS", -1.0)
    monkeypatch.setattr(features, "WORTH_SECONDS", -1.0)


def exactly(functions):
    """All that there is of functions, to be compared bit by bit."""
    return [
        (type(one), one.knots, one.slopes, one.offsets, one.values, dict(one.labels)) if isinstance(one, Pieces) else
        (type(one), one.factors)
        for some in functions
        for one in some
    ]  # fmt: skip


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("most", [10_000, 8])
def test_features_are_those_that_compiling_all_at_once_gives(outputs, most):
    model = several(outputs=outputs)
    eager = model.compile(most, lazily=True)
    found = Features(several(outputs=outputs), most)
    for i in np.random.default_rng(0).permutation(len(eager)).tolist():
        assert exactly([found[i]]) == exactly([eager[i]])
    assert exactly(found) == exactly(eager)
    assert any(isinstance(one, Lazy) for some in found for one in some) == (most == 8)


@pytest.mark.parametrize("outputs", [1, 3])
def test_values_are_the_same_before_and_after_compiling(outputs):
    eager, found = several(outputs=outputs).compile(), Features(several(outputs=outputs), 10_000)
    for at in (rational("1/3"), rational(4), rational(-7), rational(0.1)):  # the later ones as a whole
        for i, functions in enumerate(eager):
            assert found.value(i, at, 64) == tuple(one(at) for one in functions)
    missing = Features(several(outputs=outputs), 10_000).value(2, MISSING, 64)
    assert missing == tuple(one(MISSING) for one in eager[2])


def test_a_model_is_not_compiled_before_it_is_asked_about(compiled):
    explainer = Explainer(several())
    assert not compiled
    explainer.predict(ROW)
    explainer.contributions(ROW, reference=[0] * 8)
    assert not compiled
    explainer.score([9] * 8)  # a third number of each feature
    assert sorted(compiled) == [0, 1, 2, 3, 4, 6, 7]


ASKED = [
    lambda one: one.sufficiency(ROW, ["x0", "x1", "x2", "x3", "x4", "x6"], 0.5).document(),
    lambda one: one.sufficiency(ROW, ["x0", "x1"], 5, max_changed=2).document(),
    lambda one: one.explain(ROW, 0.5, immutable=["x0", "x1", "x2"]).document(),
    lambda one: one.explain(ROW, {f"x{i}": 0.5 if i > 4 else 0 for i in range(8)}, unit="raw").document(),
    lambda one: one.explain(ROW, 0.5, fix=["x3"], cost={"x4": 2}).document(),
    lambda one: one.contributions(ROW, reference=[0] * 8).document(),
    lambda one: one.contrast(ROW, 1, immutable=["x0"]).document(),
    lambda one: one.radius(ROW, ["x0", "x1", "x2", "x3"]).document(),
    lambda one: one.curve(ROW, until=1, immutable=["x1"]).document(),
    lambda one: one.inflate(ROW, 0.5, features=["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]).document(),
]


@pytest.mark.parametrize("most", [10_000, 8])
@pytest.mark.parametrize("ask", ASKED)
def test_every_question_is_answered_as_of_a_model_that_is_compiled(ask, most):
    eager, later = Explainer(several(), max_pieces=most), Explainer(several(), max_pieces=most)
    eager.compile()
    assert ask(later) == ask(eager)
    assert ask(later) == ask(eager)  # and again, whatever was compiled in between


def test_what_rounding_may_take_is_the_same():
    eager, later = (Explainer(AdditiveModel([network(0), network(1), network(2)])) for _ in range(2))
    eager.compile()
    asked = {"unit": "raw", "arithmetic": "float32", "immutable": ["x2"]}
    found, known = (one.explain([0.25, -1, 0.5], 0.125, **asked).document() for one in (later, eager))
    assert found == known


@pytest.mark.parametrize(
    ("ask", "needed"),
    [
        (ASKED[0], {7}),
        (lambda one: one.explain(ROW, 0.5, immutable=["x0", "x1", "x2"]).features, {3, 4, 6, 7}),
        (lambda one: one.explain(ROW, {"x6": 1, "x7": 1, **dict.fromkeys(one.model.names[:6], 0)}).features, {6, 7}),
        (lambda one: one.is_sufficient(ROW, ["x0", "x1", "x2", "x3"], 1), {4, 6, 7}),
        (ASKED[5], set()),
    ],
)
def test_only_features_that_may_move_are_compiled(ask, needed, compiled):
    ask(Explainer(several()))
    assert set(compiled) == needed


def test_a_check_compiles_what_its_box_leaves_room_for(compiled):
    eager, later = Explainer(several()), Explainer(several())
    eager.compile()
    compiled.clear()
    conditions = {f"x{i}": rational(cell) for i, cell in enumerate(ROW) if i != 7} | {"x7": (0.5, 1.5)}
    outcome = later.predict(ROW)
    found = later.check(conditions, outcome)
    assert set(compiled) == {7}
    assert found.document() == eager.check(conditions, outcome).document()
    past_budget = Explainer(several(), max_pieces=8).check(conditions, outcome)
    assert (bool(past_budget), past_budget.margin) == (bool(found), found.margin)


def test_a_feature_is_compiled_once_however_many_threads_ask(compiled):
    explainer, answers = Explainer(several()), [None] * 8

    def ask(k):
        answers[k] = explainer.explain(ROW, 0.5, unit="std").document()

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(compiled) == [0, 1, 2, 3, 4, 6, 7]
    assert answers == [Explainer(several()).explain(ROW, 0.5, unit="std").document()] * 8


def test_a_budget_that_is_none_and_shapes_that_cannot_be_compiled_are_refused_at_once():
    with pytest.raises(Exception, match="max_pieces must be a whole number"):
        Explainer(several(), max_pieces=0)
    curve = PiecewisePolynomial([0.5], [[0, 0, 1], [1, -2]])
    assert not is_tabulated(network(0) + curve)
    assert not Explainer(AdditiveModel([network(0) + curve, network(1)])).compiled.is_rational


def test_another_process_gets_a_model_that_is_compiled(compiled):
    explainer = Explainer(several())
    sent = pickle.dumps(explainer)
    assert sorted(compiled) == [0, 1, 2, 3, 4, 6, 7]
    again = pickle.loads(sent)
    assert again.explain(ROW, 0.5).document() == explainer.explain(ROW, 0.5).document()
    assert len(compiled) == 7


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_processes_at_once")
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("most", [10_000, 8])
def test_processes_give_the_same_pieces(outputs, most, started):
    eager = several(outputs=outputs).compile(most, lazily=True)
    found = Features(several(outputs=outputs), most)
    found.make(processes=3)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
    assert exactly(found) == exactly(eager)


def test_networks_that_are_compiled_soon_start_no_process(started):
    Features(several(), 10_000).make(processes=2)
    assert not started


@pytest.mark.usefixtures("_processes_at_once")
def test_none_is_started_where_one_is_enough_or_in_one_of_several(started, monkeypatch):
    Features(several(), 10_000).make(processes=1)
    monkeypatch.setattr(processes, "parent_process", lambda: "another")
    Features(several(), 10_000).make(processes=2)
    monkeypatch.setattr(processes, "parent_process", lambda: None)
    monkeypatch.setenv("SUFFICE_PROCESS", "1")
    Features(several(), 10_000).make(processes=2)
    assert not started


@pytest.mark.parametrize(("load", "most"), [(0.2, 4), (1.0, 4), (2.4, 3), (3.0, 2), (4.0, 1), (30.0, 1)])
def test_as_many_work_as_cores_are_idle_unless_asked_for(load, most, monkeypatch):
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(processes.os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert processes.available() == most
    assert processes.available(7) == 7


@pytest.mark.usefixtures("_processes_at_once")
@pytest.mark.parametrize("how", ["killed", "no Python", "no words"])
def test_what_processes_do_not_compile_is_compiled_here(how, started, monkeypatch):
    ask = processes.Worker.ask
    if how == "no Python":
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
    elif how == "killed":

        def killed(worker, content):
            process = worker.started()
            if process is not None:  # it is ended once nothing came back
                process.kill()
            return ask(worker, content)

        monkeypatch.setattr(processes.Worker, "ask", killed)
    else:
        monkeypatch.setattr(processes.Worker, "ask", lambda *_: None)
    found = Features(several(), 10_000)
    found.make(processes=2)
    assert exactly(found) == exactly(several().compile())


@pytest.mark.usefixtures("_processes_at_once")
def test_a_batch_on_one_thread_starts_none(started):
    Explainer(several()).explain_batch(np.zeros((3, 8)), 0.5, threads=1)
    assert not started


@pytest.mark.usefixtures("_processes_at_once")
@pytest.mark.parametrize("words", ["", "8 bytes\\n", "16 bytes in all.", "a site that greets whoever starts Python\\n"])
def test_words_of_a_site_are_not_taken_for_answers(words, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(f"import os; os.write(1, b'{words}')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    model = AdditiveModel([network(k) for k in range(6)])
    found = Features(model, 10_000)
    monkeypatch.setattr(features, "shared_out", lambda *given, **_: processes.shared_out(*given, helps=False))
    found.make(processes=2)
    assert exactly(found) == exactly(model.compile())


def test_nobody_needs_to_know_how_busy_the_machine_is(monkeypatch):
    def unknown():
        raise OSError("Load averages are unobtainable")

    monkeypatch.setattr(processes.os, "getloadavg", unknown, raising=False)
    assert processes.available() >= 1


def test_a_thread_that_outlives_the_script_may_compile():
    late = """
        import threading, time
        def run():
            time.sleep(0.5)  # the script has ended by then
            explainer.compile(processes=2)
            print("compiled", len(explainer.pieces))
        threading.Thread(target=run).start()
    """
    text = script(4, (5, 4)).split("explainer.compile")[0] + textwrap.dedent(late)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout.endswith("compiled 4\n"), found.stderr


def test_items_are_counted_once_from_either_end():
    found = Features(several(), 10_000)
    assert found[-1] is found[7]
    assert not found.is_complete
    assert sorted(Later(3, str)[-2:]) == ["1", "2"]
    backwards = Later(2, str)
    assert (backwards[-1], list(backwards)) == ("1", ["0", "1"])
    assert len(backwards._made) == 2


SCRIPT = """
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have had it ignored
    import numpy as np
    import suffice
    from suffice import processes
    from suffice.model import features
    print("script", flush=True)
    features.ALONE_SECONDS = features.WORTH_SECONDS = -1.0
    make = processes.subprocess.Popen
    def start(*given, **named):
        process = make(*given, **named)
        print(f"{process.pid}\\n", end="", flush=True)
        return process
    processes.subprocess.Popen = start
    draw, widths = np.random.default_rng(0).normal, WIDTHS
    def network():
        sizes = (1, *widths, 1)
        weights = [draw(size=(b, a)) for a, b in zip(sizes, sizes[1:])]
        return suffice.ReluNetwork(weights, [draw(size=b) for b in sizes[1:]])
    explainer = suffice.Explainer(suffice.AdditiveModel([network() for _ in range(COUNT)]))
    explainer.compile(processes=2)
    print("compiled", len(explainer.pieces))
"""


def script(count, widths):
    return textwrap.dedent(SCRIPT).replace("COUNT", str(count)).replace("WIDTHS", repr(widths))


def test_a_script_without_a_guard_is_run_once(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(script(4, (5, 4)))
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert found.stdout.count("script") == 1
    assert len(found.stdout.split()) == 4  # one process was started
    assert found.stdout.endswith("compiled 4\n")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process(how):
    process = subprocess.Popen(
        [sys.executable, "-c", script(2_000, (64, 64))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pid = int([process.stdout.readline() for _ in range(2)][1])
    process.send_signal(how)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    for _ in range(600):
        if not is_alive(pid):
            break
        time.sleep(0.1)
    assert not is_alive(pid)
    assert how != signal.SIGINT or errors.rstrip().endswith("KeyboardInterrupt")


WIDE = {"x0": math.inf, "x1": 0, "x2": math.inf}


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: list(one.explanations([0.25, 0.5, 0.1], WIDE, unit="raw", minimal="subset")),
        lambda one: one.explain([0.25, 0.5, 0.1], WIDE, unit="raw", fix=["x2"], arithmetic="float32").document(),
        lambda one: one.sufficiency([0.25, 0.5, 0.1], ["x2"], WIDE, unit="raw").document(),
        lambda one: one.sufficiency([0.25, 0.5, 0.1], ["x0", "x1", "x2"], WIDE, unit="raw").certificate(),
        lambda one: one.sufficiency([0.25, 0.5, 0.1], ["x0"], {**WIDE, "x2": 0.01}, unit="raw").document(),
        lambda one: one.contrast([0.25, 0.5, 0.1], WIDE, unit="raw", fix=["x0", "x2"]).document(),
    ],
)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_networks_with_too_many_pieces_are_asked_about_whatever_is_compiled(ask, task):
    claim = {} if task == "binary" else {"claim": Within(1)}

    def told(is_compiled):
        explainer = Explainer(AdditiveModel([network(k, widths=(6,)) for k in range(3)], 0.5, task), max_pieces=1)
        if is_compiled:
            explainer.compile()
        question = explainer.question
        explainer.question = lambda *given, **named: question(*given, **named, **claim)
        try:
            return ask(explainer)
        except SufficeError as error:
            return type(error), str(error)

    later = told(is_compiled=False)
    assert later == told(is_compiled=True)
    assert not (isinstance(later, tuple) and later[0] is PieceBudgetError)
