"""The notebooks of docs/tutorials run, and show what they are said to show."""

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
import nbformat
from write_notebooks import TUTORIALS, run

NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))


def kinds(cell):
    """Return what kinds of output a cell has: pictures, tables, text."""
    return [sorted(output.get("data", [output.get("name")])) for output in cell.get("outputs", [])]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # those of Jupyter's own packages
def test_a_notebook_runs_and_shows_what_it_has_shown(path):
    written = nbformat.read(path, as_version=4)
    for before, now in zip(written.cells, run(path).cells, strict=True):
        assert kinds(now) == kinds(before), before.source
