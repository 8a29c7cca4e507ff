"""A function in a process of its own, so that it can be ended: some verifiers neither keep time nor heed signals.

Time is counted in CPU seconds of that process, so that a busy machine changes no verdict.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

from suffice.errors import VerifierError

_WALL = 30.0  # a call may last so many times its CPU seconds by the clock on the wall, on a machine that is busy
_COUNTS_CPU = hasattr(signal, "setitimer")  # where the system has no such timer, seconds are those of the clock


class Isolated:
    """Calls a function in a child process, which is kept for the next call, and killed where it overruns.

    Parameters
    ----------
    function : callable
        Of one argument; argument and result must be picklable, and the function importable by name.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.cpu_seconds = function, 0.0  # what the child has used
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def call(self, argument: Any, seconds: float) -> Any:
        """Return the function's result; `TimeoutError` after so many CPU seconds, `VerifierError` if the child dies."""
        if self._process is None or not self._process.is_alive():
            self._start()
        assert self._pipe is not None
        self._pipe.send((argument, seconds))
        if not self._pipe.poll(_WALL * (1.0 + seconds) if _COUNTS_CPU else seconds):
            self._give_up(seconds)
        try:
            error, result, spent = self._pipe.recv()
        except EOFError:
            if self._is_out_of_time():
                self._give_up(seconds)
            self.close()
            raise VerifierError("the verifier's process ended without an answer") from None
        self.cpu_seconds += spent
        if error:
            raise VerifierError(f"the verifier failed: {error}")
        return result

    def _is_out_of_time(self) -> bool:
        assert self._process is not None
        self._process.join()
        return _COUNTS_CPU and self._process.exitcode == -signal.SIGPROF

    def _give_up(self, seconds: float) -> NoReturn:
        self.close()
        self.cpu_seconds += seconds  # all of it was used
        raise TimeoutError

    def close(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.kill()  # not terminate: Marabou prints QUIT_REQUESTED and goes on
            self._process.join()
        self._process = self._pipe = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.function, theirs), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(120):
            self.close()
            raise VerifierError("the verifier's process did not start within 120 s")
        self._pipe.recv()

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "cpu_seconds": 0.0, "_process": None, "_pipe": None}

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _serve(function: Callable[[Any], Any], pipe: Connection) -> None:
    """Answer one argument after the other until the pipe is closed."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # verifiers print, some of them from C
    os.dup2(silence, 2)
    pipe.send("ready")
    while True:
        try:
            argument, seconds = pipe.recv()
        except EOFError:
            return
        began = time.process_time()
        _end_after(seconds)
        try:
            error, result = None, function(argument)
        except Exception as raised:  # whatever goes wrong inside a verifier is for the caller to read
            error, result = f"{type(raised).__name__}: {raised}", None
        _end_after(0.0)
        pipe.send((error, result, time.process_time() - began))


def _end_after(seconds: float) -> None:
    """Have the system end this process once it has used so many more CPU seconds; 0: never."""
    if _COUNTS_CPU:
        signal.setitimer(signal.ITIMER_PROF, seconds)
