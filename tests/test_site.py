"""The documentation's site: it builds, has every page, and loads nothing from elsewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("mkdocs", "material", "mkdocstrings")
needs_site = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED),
    reason="the site needs mkdocs-material and mkdocstrings: pip install 'suffice[docs]'",
)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page():
    configuration = (ROOT / "mkdocs.yml").read_text()
    listed = re.findall(r": (\S+\.md)$", configuration.partition("nav:")[2], flags=re.MULTILINE)
    assert all((ROOT / "docs" / page).exists() for page in listed)
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= set(listed)
    assert {f"tutorials/{path.name}" for path in (ROOT / "docs" / "tutorials").glob("*.md")} <= set(listed)
    assert len(listed) == len(set(listed))


def test_every_picture_shown_is_there_and_every_one_there_is_made_by_a_script():
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} shows {target}"
            shown.add(Path(target).name)
    made = "".join((ROOT / "scripts" / name).read_text() for name in ("draw_pictures.py", "take_screenshots.py"))
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert f'"{picture.name}"' in made or f'"{picture.stem}"' in made, picture.name
    assert {"drops.svg", "page.png", "report.png"} <= shown


@needs_site
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]*)\"", page.read_text())
        loaded += re.findall(
            r"<link[^>]*rel=\"(?:stylesheet|icon|preconnect)\"[^>]*href=\"([^\"]*)\"", page.read_text()
        )
        assert loaded
        assert not [url for url in loaded if url.startswith(("http", "//"))], page.name
    text = (tmp_path / "site" / "reference" / "index.html").read_text()
    assert "smallest set of features that keeps a claim true" in text  # from a docstring
