"""A process that answers questions about one model, and that can be ended: exact sums heed no clock."""

from __future__ import annotations

import contextlib
import math
import signal
import traceback
from collections.abc import Iterator
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from suffice.errors import SufficeError, visible
from suffice.serve.asker import Asker
from suffice.serve.limits import TOO_LONG, Deadline
from suffice.serve.problems import ProblemError

_SHARE = 0.9  # of the time that is left is for the search, so that what it found can still be sent
_START_SECONDS = 120.0
_TOO_MUCH = "the question used up the memory or the process that it was given; ask for less at once"
_CPU_SIGNAL = getattr(signal, "SIGPROF", 0)
_METHOD = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


class OverrunError(ProblemError):
    """A worker was ended since its time was up."""

    def __init__(self) -> None:
        super().__init__(503, TOO_LONG)


class Worker:
    """Asks a process of its own, which is kept for the next question and replaced once it was ended.

    Parameters
    ----------
    asker : bytes
        As `packed` returns it.
    max_memory : int
        Bytes that a question may take.
    """

    def __init__(self, asker: bytes, max_memory: int) -> None:
        self._asker, self._max_memory = asker, max_memory
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self._is_closed:
            raise ProblemError(503, "the server is stopping")
        if self._process is not None and self._process.is_alive():
            return
        context = get_context(_METHOD)
        if _METHOD == "forkserver":
            context.set_forkserver_preload([__name__])  # a worker then starts without importing anything
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(  # type: ignore[attr-defined]
            target=_work, args=(self._asker, self._max_memory, theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            is_ready = self._pipe.poll(_START_SECONDS) and self._pipe.recv()
        except (EOFError, OSError):
            is_ready = False
        if not is_ready or self._is_closed:
            self.end()
            raise RuntimeError("a worker did not start")

    def ask(self, path: str, body: Any, seconds: float, cpu_seconds: float = math.inf) -> bytes:
        """Return the answer to a request; `OverrunError` after so many seconds, when the process is ended.

        Seconds of the processor are counted apart: a quick question stays quick on a machine that is busy.
        """
        self.start()
        assert self._pipe is not None
        try:
            self._pipe.send((path, body, seconds, cpu_seconds))
            if not self._pipe.poll(seconds):
                self.end()
                raise OverrunError
            answer, told = self._pipe.recv()
        except (EOFError, OSError):
            if self.end() == -_CPU_SIGNAL:
                raise OverrunError from None
            raise ProblemError(503, _TOO_MUCH) from None
        if answer is not None:
            assert isinstance(answer, bytes)
            return answer
        if isinstance(told, str):
            raise RuntimeError(told)
        raise ProblemError(*told)

    def end(self) -> int | None:
        """End the process; return how it ended, if it had before."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.join(0.1)  # one that ended by itself has a moment to say how
        process.kill()
        process.join()
        return process.exitcode

    def close(self) -> None:
        """End the process for good, from whichever thread; one that waits for its answer is told."""
        self._is_closed = True
        with contextlib.suppress(Exception):
            self.end()


def packed(asker: Asker) -> bytes:
    """Return what workers start with."""
    return bytes(ForkingPickler.dumps(asker))


def _work(packed_asker: bytes, max_memory: int, pipe: Connection) -> None:
    """Answer one request after the other until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all; the server ends its workers itself
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    asker: Asker = ForkingPickler.loads(packed_asker)
    _bound_memory(max_memory)
    with contextlib.suppress(EOFError, OSError):
        pipe.send(True)
        while True:
            pipe.send(_answered(asker, *pipe.recv()))


def _answered(asker: Asker, path: str, body: Any, seconds: float, cpu_seconds: float) -> tuple[bytes | None, Any]:
    """Return the answer, or what is wrong: the parts of a problem, or for a failure of our own what the log says."""
    try:
        with _at_most(cpu_seconds):
            return asker.answer(path, body, Deadline(_SHARE * seconds)), None
    except ProblemError as problem:
        return None, (problem.status, problem.detail, problem.headers, problem.kind)
    except MemoryError:
        return None, (503, _TOO_MUCH, None, "")
    except SufficeError as error:
        return None, (422, str(error), None, type(error).__name__)
    except Exception:  # the log is a text of lines; what a request says begins none
        return None, "\n".join(visible(line) for line in traceback.format_exc().split("\n"))


def _bound_memory(more: int) -> None:
    """Let this process take so many bytes more, where the system tells how many it has; then it fails or ends."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


@contextlib.contextmanager
def _at_most(cpu_seconds: float) -> Iterator[None]:
    """End this process after so many seconds of the processor, where there is such a clock."""
    is_limited = bool(_CPU_SIGNAL) and math.isfinite(cpu_seconds)
    if is_limited:
        signal.signal(_CPU_SIGNAL, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        if is_limited:
            signal.setitimer(signal.ITIMER_PROF, 0)
