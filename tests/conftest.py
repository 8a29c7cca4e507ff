import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

# Same examples on every run: a failure seen once is seen again.
settings.register_profile("suffice", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suffice")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model and a table, to work in on the command line."""
    from cli.commands import MODEL, TABLE

    MODEL.save(tmp_path / "model.safetensors")
    (tmp_path / "data.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _close_figures():
    """Close the figures that a test leaves open: pyplot keeps them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture
def started(monkeypatch):
    """The processes of our own that a test starts."""
    from suffice import processes

    made = []

    class Noted(subprocess.Popen):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            made.append(self)

    monkeypatch.setattr(processes.subprocess, "Popen", Noted)
    return made
