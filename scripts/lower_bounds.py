"""Print constraints that hold every package a user installs at the lowest version that pyproject.toml allows.

What only the tests need (the extra `dev`) may be newer. PyTorch stays where scripts/constraints.txt puts it: other
builds are gigabytes.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_NEED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([^,;\s]+)$")


def lower_bounds(project: dict, held: dict[str, str]) -> dict[str, str]:
    """Return name and version of every need, `held` ones as they are."""
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(need for name in extras if name != "dev" for need in extras[name])]
    bounds = dict(held)
    for need in needs:
        if need.startswith("suffice["):
            continue
        match = _NEED.match(need)
        if match is None:
            raise SystemExit(f"pyproject.toml: {need!r} has no plain lower bound")
        name, version = match.groups()
        if name not in held and bounds.setdefault(name, version) != version:
            raise SystemExit(f"pyproject.toml: {name} has two lower bounds, {bounds[name]} and {version}")
    return bounds


def main() -> None:
    """Print the constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "scripts" / "constraints.txt").read_text().splitlines()
    held = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    for name, version in sorted(lower_bounds(project, held).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
