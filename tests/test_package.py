import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "suffice"

# Rooms further down may use those further up, never the other way round; `docs/architecture.md` has the same list.
ORDER = [
    "errors",
    "processes",
    "numbers",
    "shapes",
    "model",
    "tables",
    "question",
    "adapters",
    "core",
    "solvers",
    "certificate",
    "layout",
    "answers",
    "search",
    "batch",
    "decisions",
    "explainer",
    "__init__",
    "paper",
    "gam",
    "nam",
    "datasets",
    "present",
    "serve",
    "cli",
]


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


NO_PARAMETERS = {"PairShape", "Same", "Shape", "Status"}  # these take none, or cannot be made


@pytest.mark.parametrize("name", [name for name in suffice.__all__ if name != "MISSING"])
def test_public_names_have_complete_docstrings(name):
    public = getattr(suffice, name)
    text = inspect.getdoc(public) or ""
    if isinstance(public, type) and issubclass(public, Exception):
        assert text
        return
    wanted = ["Examples"] + (["Parameters"] if name not in NO_PARAMETERS else [])
    wanted += ["Returns", "Raises"] if inspect.isfunction(public) else []
    assert [section for section in wanted if f"{section}\n{'-' * len(section)}\n" not in text] == []


# --- the tree ---------------------------------------------------------------------------------------------------------


def imports(path):
    """All modules of suffice that a file imports at run time, inside functions too, as dotted names below suffice."""
    found = []

    def visit(node):
        for child in ast.iter_child_nodes(node):
            is_guard = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
            if is_guard:  # types only: nothing is imported
                continue
            if isinstance(child, ast.Import):
                found.extend(a.name.removeprefix("suffice.") for a in child.names if a.name.startswith("suffice."))
                found.extend("__init__" for a in child.names if a.name == "suffice")
            if isinstance(child, ast.ImportFrom) and child.level == 0 and child.module:
                head, _, rest = child.module.partition(".")
                if head == "suffice":
                    names = [a.name for a in child.names]
                    found.extend([rest] if rest else [n if (SOURCE / n).exists() else "__init__" for n in names])
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_every_room_has_its_place():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")}
    assert rooms == set(ORDER)


def test_rooms_import_one_way_inside_functions_too():
    wrong = [
        f"{path.relative_to(SOURCE)} imports {used}"
        for path in sorted(SOURCE.rglob("*.py"))
        for used in imports(path)
        # Facts about the package itself (its version) may be read from anywhere.
        if used != "__init__" and ORDER.index(used.split(".")[0]) > ORDER.index(room_of(path))
    ]
    assert not wrong


def test_modules_of_a_room_do_not_import_in_circles():
    graph = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        graph[".".join(parts).removesuffix(".__init__")] = {used for used in imports(path) if used != "__init__"}
    done, walking = set(), []

    def walk(module):
        assert module not in walking, " -> ".join([*walking[walking.index(module) :], module])
        if module in done or module not in graph:
            return
        walking.append(module)
        for used in sorted(graph[module]):
            # A package's own __init__ brings its modules together, and they may name it.
            if not (used != module and used.startswith(f"{module}.") and (SOURCE / module.replace(".", "/")).is_dir()):
                walk(used)
        walking.pop()
        done.add(module)

    for module in sorted(graph):
        walk(module)


def test_the_architecture_page_has_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text()
    for room in ORDER:
        if room != "__init__":
            assert re.search(rf"^\| `{room}(/|\.py)`", page, flags=re.MULTILINE), room


def test_no_module_is_long():
    long = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in SOURCE.rglob("*.py")
        if len(path.read_text().splitlines()) > 430
    }
    assert not long
