"""Processes of our own for work that holds Python's lock, as exact arithmetic does: started, asked, and always ended.

They are started as `python -c`, and not by `multiprocessing`, which would run the user's script again in each of them.
They end when their input does, so also when this process is killed. None is started inside one of them, or in a process
that `multiprocessing` started: it is one of several already.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from typing import IO, Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_LENGTH_BYTES = 8
_STARTED_BY_US = "SUFFICE_PROCESS"  # in the environment of a process that was started here


def available(wanted: int | None = None) -> int:
    """Return how many processes may work at once, this one included: as many as wanted, or as cores are idle."""
    if parent_process() is not None or _STARTED_BY_US in os.environ or not sys.executable:
        return 1
    if wanted is not None:
        return wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = 1.0  # by this process, if nobody else works
    with contextlib.suppress(AttributeError, OSError):  # not all systems tell
        busy = os.getloadavg()[0]
    return max(1, min(cores, round(cores + 1 - busy)))


def shared_out(
    tasks: Sequence[Task],
    workers: Sequence[Worker],
    ask: Callable[[Worker, Task], Result | None],
    here: Callable[[Task], Result],
    *,
    helps: bool = False,
) -> list[Result]:
    """Return the results of tasks, in order; each is given to the next process that is idle.

    Parameters
    ----------
    ask : callable
        Asks a process for a result; None where it does not come back, and then the task is done here.
    here : callable
        Does a task in this process.
    helps : bool
        Whether this thread does tasks too, rather than wait.
    """
    found: dict[int, Result] = {}
    left, lock = iter(range(len(tasks))), threading.Lock()

    def following() -> int | None:
        with lock:
            return next(left, None)

    def work(worker: Worker) -> None:
        while (k := following()) is not None:
            result = ask(worker, tasks[k])
            found[k] = here(tasks[k]) if result is None else result

    with contextlib.ExitStack() as stack, ThreadPoolExecutor(max(len(workers), 1)) as pool:
        for worker in workers:
            stack.enter_context(worker)
        try:
            waiting = []
            with contextlib.suppress(RuntimeError):  # the script has ended, and this thread goes on: all is done here
                waiting = [pool.submit(work, worker) for worker in workers]
            while (helps or not waiting) and (k := following()) is not None:
                found[k] = here(tasks[k])
            for one in waiting:
                one.result()
        except BaseException:
            with lock:
                left = iter(range(0))
            for worker in workers:
                worker.end()
            raise
    return [found[k] for k in range(len(tasks))]


class Worker:
    """A process that answers what it is asked. Once it has ended, nothing comes back from it.

    Parameters
    ----------
    module : str
        Its function `serve` is what the process runs.
    first : bytes, optional
        What it is sent before all else.
    """

    def __init__(self, module: str, first: bytes | None = None) -> None:
        self._module, self._first = module, first
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_ended = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def started(self) -> subprocess.Popen[bytes] | None:
        """Return the process, which is started at the first call; None if that fails, or it was ended."""
        with self._lock:
            if self._process is None and not self._is_ended and sys.executable:
                path = os.pathsep.join(one for one in sys.path if one)
                command = [sys.executable, "-P", "-c", f"from {self._module} import serve; serve()"]
                with contextlib.suppress(OSError):
                    self._process = subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        env={**os.environ, "PYTHONPATH": path, _STARTED_BY_US: "1"},
                    )
                    if self._first is not None:
                        _send(self._process.stdin, self._first)
            return None if self._is_ended else self._process

    def ask(self, content: Any) -> Any:
        """Return the answer to something; None if it does not come back."""
        try:
            sent = pickle.dumps(content)
        except Exception:
            return None
        try:
            process = self.started()
            if process is None or process.stdout is None:
                return None
            _send(process.stdin, sent)
            return pickle.loads(_receive(process.stdout))
        except Exception:
            self.end()  # what it still writes would be taken for the answer to the next question
            return None

    def end(self) -> None:
        """End the process, at once."""
        self._is_ended = True
        with self._lock:
            process = self._process
        if process is None:
            return
        process.kill()
        with contextlib.suppress(OSError):
            process.stdin and process.stdin.close()
        process.stdout and process.stdout.close()
        process.wait()


def serve_with(begin: Callable[[Callable[[], Any]], Callable[[Any], Any]]) -> None:
    """Answer what comes in until nothing does: what a process of its own runs.

    `begin` is given a function that reads what is sent first, if that is expected, and returns the one that answers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one is interrupted too, and ends it
    given = sys.stdin.buffer
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as back:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write where answers go
        with contextlib.suppress(EOFError, BrokenPipeError):
            answer = begin(lambda: pickle.loads(_receive(given)))
            while True:
                _send(back, pickle.dumps(answer(pickle.loads(_receive(given)))))


def _send(pipe: IO[bytes] | None, content: bytes) -> None:
    assert pipe is not None
    pipe.write(len(content).to_bytes(_LENGTH_BYTES, "big") + content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return what was sent; `EOFError` if the other end is closed."""
    head = pipe.read(_LENGTH_BYTES)
    content = pipe.read(int.from_bytes(head, "big")) if len(head) == _LENGTH_BYTES else b""
    if not content:
        raise EOFError
    return content
