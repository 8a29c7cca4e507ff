import re
import subprocess
import sys
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parent.parent


def test_import_is_light_and_silent():
    code = (
        "import sys, suffice;"
        "heavy = {'torch', 'pandas', 'matplotlib', 'sklearn', 'scipy', 'typer', 'rich', 'fastapi'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_line_loads_pictures_and_servers_only_when_asked():
    code = (
        "import sys, suffice.cli;"
        "heavy = {'torch', 'pandas', 'matplotlib', 'fastapi', 'uvicorn', 'pydantic', 'numba'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("absent", "arguments", "said"),
    [
        ("matplotlib", ["report", "m", "t", "--rows", "0", "--radius", "1", "-o", "r"], "pip install 'suffice[plot]'"),
        ("fastapi", ["serve", "m"], "pip install 'suffice[serve]'"),
        ("uvicorn", ["serve", "m"], "pip install 'suffice[serve]'"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(absent, arguments, said):
    hidden = f"import sys; sys.modules[{absent!r}] = None; sys.argv[1:] = {arguments!r}"
    code = f"{hidden}; from suffice.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_public_names_are_those_of_the_api_page():
    listed = re.findall(r"^- `(\w+)", (ROOT / "docs" / "api.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(suffice.__all__)
    assert all(getattr(suffice, name) is not None for name in suffice.__all__)


def test_modules_import_one_way():
    """Rooms further down may use those further up, never the other way round."""
    order = [
        "errors",
        "rational",
        "labels",
        "shapes",
        "domain",
        "model",
        "model_file",
        "rows",
        "regions",
        "claims",
        "preferences",
        "drops",
        "growth",
        "rounding",
        "limits",
        "breaking",
        "search",
        "results",
        "certificate",
        "explain",
        "paper",
        "present",
    ]
    for path in (ROOT / "src" / "suffice").rglob("*.py"):
        room = path.relative_to(ROOT / "src" / "suffice").parts[0].removesuffix(".py")
        if room not in order:
            continue
        runtime = re.sub(r"if TYPE_CHECKING:\n(?:    .*\n)+", "", path.read_text())
        for used in re.findall(r"^from suffice\.(\w+)", runtime, flags=re.MULTILINE):
            assert order.index(used) <= order.index(room), f"{path.name} imports {used}"
