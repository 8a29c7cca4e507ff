"""Run the notebooks of docs/tutorials and keep what they show: python scripts/write_notebooks.py [NAME.ipynb ...]."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"


def run(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with what its cells show when they are run in order; the first that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the time of day
    return notebook


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or sorted(TUTORIALS.glob("*.ipynb"))):
        nbformat.write(run(path), path)
