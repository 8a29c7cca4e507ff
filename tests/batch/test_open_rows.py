"""Rows that bounds leave open: done here or in processes, they get the same answers, and no process stays behind."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import suffice
from suffice import (
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    PiecewisePolynomial,
    Smooth,
    SmoothNetwork,
    Steps,
    Within,
    processes,
)
from suffice.batch import open_rows
from suffice.core.rounding import Rounding


@pytest.fixture
def _processes_at_once(monkeypatch):
    monkeypatch.setattr(open_rows, "ALONE_SECONDS", -1.0)
    monkeypatch.setattr(open_rows, "WORTH_SECONDS", -1.0)


def tied():
    """Return an explainer, and rows of which many tie, are refused, or hold what is no number."""
    step = Steps(["1/3", 1, 2], [0, 1, 2, 4])
    line = PiecewiseLinear([0, 1, 2], [0, 1, 3], left_slope=1, right_slope=1)
    explainer = Explainer(suffice.AdditiveModel([step, line] * 2, -5, "binary"))
    rng = np.random.default_rng(0)
    rows = rng.choice(np.array([0.0, 1 / 3, 0.5, 1.0, 1.5, 2.0], object), size=(120, 4))
    rows[3, 0], rows[50, 1], rows[70, 2] = "none", "1/3", None
    return explainer, rows


def digest(result):
    columns = [
        np.ascontiguousarray(one).tobytes() for one in (*result.answers, result.status_codes, result.lower_bounds)
    ]
    return columns, result.messages, result.was_exact.tobytes()


@pytest.mark.usefixtures("_processes_at_once")
@pytest.mark.parametrize("options", [{}, {"cost": {"x1": 2}, "max_changed": 3}])
def test_processes_give_the_same_bytes(options, started):
    explainer, rows = tied()
    ask = {"radius": 1, "unit": "raw", **options}
    alone = explainer.explain_batch(rows, threads=1, **ask)
    assert not started
    shared = explainer.explain_batch(rows, threads=2, **ask)
    assert len(started) == 2
    assert digest(alone) == digest(shared)
    assert alone.was_exact.sum() > 20
    assert alone.messages
    assert all(process.poll() is not None for process in started)


@pytest.mark.usefixtures("_processes_at_once")
def test_so_they_do_for_regressions(started):
    shapes = [Steps([0.5, 1], [0, 1, 3]), PiecewiseLinear([0, 3], [0, 1])]
    explainer, rows = Explainer(suffice.AdditiveModel(shapes, 0, "regression")), np.full((30, 2), 0.5)
    alone, shared = (
        explainer.explain_batch(rows, 0.5, unit="raw", claim=Within(1), max_changed=1, threads=n) for n in (1, 2)
    )
    assert started
    assert alone.was_exact.all()
    assert digest(alone) == digest(shared)


def test_few_rows_start_no_process(started):
    explainer, rows = tied()
    assert explainer.explain_batch(rows, 1, unit="raw", threads=2).was_exact.any()
    assert not started


@pytest.mark.usefixtures("_processes_at_once")
def test_one_process_of_several_starts_no_more(started, monkeypatch):
    monkeypatch.setattr(processes, "parent_process", lambda: "another")
    explainer, rows = tied()
    assert explainer.explain_batch(rows, 1, unit="raw", threads=2).was_exact.any()
    assert not started


@pytest.mark.usefixtures("_processes_at_once")
@pytest.mark.parametrize("how", ["killed", "no Python", "no words"])
def test_what_processes_do_not_answer_is_done_here(how, started, monkeypatch):
    explainer, rows = tied()
    alone = explainer.explain_batch(rows, 1, unit="raw", threads=1)
    if how == "no Python":
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
    elif how == "killed":
        ask, asked = processes.Worker.ask, threading.Semaphore(3)

        def ask_and_kill(worker, some):
            if not asked.acquire(blocking=False):
                worker.started().kill()
            return ask(worker, some)

        monkeypatch.setattr(processes.Worker, "ask", ask_and_kill)
    else:
        monkeypatch.setattr(processes.Worker, "ask", lambda *_: None)
    assert digest(explainer.explain_batch(rows, 1, unit="raw", threads=2)) == digest(alone)


class Cell(float):
    """A cell that cannot be sent to another process."""

    def __reduce__(self):
        raise TypeError("stays here")


@pytest.mark.usefixtures("_processes_at_once")
def test_cells_that_cannot_be_sent_are_read_here(started):
    explainer, rows = tied()
    alone = explainer.explain_batch(rows, 1, unit="raw", threads=1)
    rows[5:9, 1] = [Cell(cell) for cell in rows[5:9, 1]]
    assert digest(explainer.explain_batch(rows, 1, unit="raw", threads=2)) == digest(alone)
    assert started


@pytest.mark.usefixtures("_processes_at_once")
def test_an_error_of_ours_is_raised_and_ends_all_processes(started, monkeypatch):
    explainer, rows = tied()
    monkeypatch.setattr(processes.Worker, "ask", lambda worker, _: worker.started() and None)

    answer, left = open_rows.answer_one, threading.Semaphore(5)

    def fails(*given):
        if not left.acquire(blocking=False):
            raise ZeroDivisionError
        return answer(*given)

    monkeypatch.setattr(open_rows, "answer_one", fails)
    with pytest.raises(ZeroDivisionError):
        explainer.explain_batch(rows, 1, unit="raw", threads=2)
    assert started
    assert all(process.poll() is not None for process in started)


SCRIPT = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have had it ignored
    import numpy as np
    import suffice
    from suffice import processes
    from suffice.batch import open_rows
    print("script", flush=True)
    open_rows.ALONE_SECONDS = open_rows.WORTH_SECONDS = -1.0
    make = processes.subprocess.Popen
    def start(*given, **named):
        process = make(*given, **named)
        print(f"{process.pid}\\n", end="", flush=True)  # at once: threads start processes side by side
        return process
    processes.subprocess.Popen = start
    step = suffice.Steps(["1/3", 1, 2], [0, 1, 2, 4])
    explainer = suffice.Explainer(suffice.AdditiveModel([step] * 8, -10, "binary"))
    rows = np.random.default_rng(0).choice([0.0, 1 / 3, 1.0, 2.0], size=(COUNT, 8))
    result = explainer.explain_batch(rows, 1, unit="raw", threads=2)
    print("exact", int(result.was_exact.sum()))
"""


def run(count):
    text = textwrap.dedent(SCRIPT).replace("COUNT", str(count))
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(pids):
    for _ in range(600):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.1)
    return False


def test_a_script_without_a_guard_is_run_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).replace("COUNT", "60"))
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert found.stdout.count("script") == 1
    assert int(found.stdout.split("exact ")[1]) > 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process(how):
    process = run(100_000)
    lines = [process.stdout.readline() for _ in range(3)]
    pids = [int(line) for line in lines[1:]]
    process.send_signal(how)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert wait_until_gone(pids)
    assert how != signal.SIGINT or errors.rstrip().endswith("KeyboardInterrupt")


def test_layers_kept_by_id_are_not_those_of_a_copy():
    rng = np.random.default_rng(0)
    shapes = [suffice.ReluNetwork([rng.normal(size=(3, 1)), rng.normal(size=(1, 3))], [[0] * 3, [0]]) for _ in range(2)]
    model = suffice.AdditiveModel(shapes, 0, "binary")
    rounding = Rounding(model, "float32")
    region = [suffice.Domain.interval(0, 1)] * 2
    errors = rounding.errors(region)
    again = pickle.loads(pickle.dumps(rounding))
    assert rounding._layers
    assert not again._layers
    assert again.errors(region) == errors


@pytest.mark.usefixtures("_processes_at_once")
def test_rows_of_curved_and_smooth_shapes_are_done_in_processes_too(started):
    rng = np.random.default_rng(0)
    network = SmoothNetwork([rng.normal(size=(3, 1)), rng.normal(size=(1, 3))], [rng.normal(size=3), [0.25]], "tanh")
    shapes = [PiecewisePolynomial([0.5], [[0, 0, 1], [1, -2]]), network, Smooth("exp")]
    features = [Feature(f"x{i}", Domain.interval(-2, 2)) for i in range(3)]
    explainer = Explainer(suffice.AdditiveModel(shapes, -0.5, features=features))
    question, rows = explainer.question(0.5, unit="raw"), rng.uniform(-2, 2, size=(12, 3))
    here, there = (explainer.explain_batch(rows, question, threads=threads) for threads in (1, 2))
    assert started
    assert digest(here) == digest(there)
