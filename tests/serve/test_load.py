import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server needs FastAPI")
pytest.importorskip("httpx", reason="the clients need httpx")
SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "serving.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_fifty_clients_at_once_are_all_answered():
    """A short run of the benchmark; the long one is started by hand."""
    command = [sys.executable, str(SCRIPT), "--clients", "50", "--seconds", "4", "--max-seconds", "120"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0].split(", ")
    assert first[0] == "clients 50"
    assert first[3] == "errors 0"
    assert int(first[2].split()[1]) >= 50
