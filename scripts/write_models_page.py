"""Write docs/models.md: the text of models-page.md, and a table of what tests/adapters measured (support.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "tests" / "adapters" / "support.json"
CONFIGURATIONS = ROOT / "tests" / "adapters" / "configurations.json"
PAGE = ROOT / "docs" / "models.md"

# Packages in the order of the page: name in support.json -> title, what can be given.
PACKAGES: dict[str, tuple[str, str]] = {
    "torch": ("PyTorch, your own modules", "module, `state_dict`, Lightning checkpoint"),
    "nam": ("nam (AmrMKayid)", "module, `state_dict`"),
    "lemeln": ("lemeln/nam", "module, `state_dict`, ensembles, several tasks"),
    "nam-pt": ("nam-pt", "module, `state_dict`"),
    "pytorch-nam": ("pytorch-nam", "module, `state_dict`"),
    "nbm-spam": ("nbm-spam (NBM of order 1)", "module, `state_dict`"),
    "interpret-core": ("InterpretML EBM", "fitted object, JSON of any detail level"),
    "scikit-learn": ("scikit-learn", "fitted estimator or pipeline"),
    "xgboost-cpu": ("XGBoost", "booster, estimator, JSON"),
    "lightgbm": ("LightGBM", "booster, estimator, text"),
    "catboost": ("CatBoost", "fitted object, JSON"),
    "dnamite": ("dnamite", "fitted object"),
    "aplr": ("APLR", "fitted object"),
    "pygam": ("pyGAM", "fitted object"),
    "onnx": ("ONNX", "`onnx.load(path)`"),
}

NOTE = """\
Each model was trained by its package and compared with the package's own scores on {rows:,} rows that contain every
kind of value: at jumps and bends, next to them, in between, far out, missing, never seen. The difference is relative
to the largest score; it is the package's own rounding (float32 in PyTorch, XGBoost, dnamite and ONNX). Each
explanation was tested with {moves:,} random changes of its free features, through the package's own prediction, and
held."""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads(MEASURED.read_text()), json.loads(CONFIGURATIONS.read_text())))


def page(measured: dict[str, Any], tried: dict[str, Any]) -> str:
    """Return the page."""
    text = (ROOT / "scripts" / "models-page.md").read_text()
    return text.replace("{table}", table(measured)).replace("{configurations}", configurations(tried))


def configurations(tried: dict[str, Any]) -> str:
    """Return one line for each common configuration, those that are read before those that are refused."""
    read = [one for one in tried.values() if "refused" not in one]
    refused = [one for one in tried.values() if "refused" in one]
    deep, curves, other = (sum(one["because"] == reason for one in refused) for reason in ("pairs", "curves", ""))
    share, rest = len(refused) / len(tried), (len(refused) - curves) / (len(tried) - curves)
    lines = [
        f"{len(tried)} configurations as working data scientists fit them: {len(read)} are read, {len(refused)} "
        f"({share:.0%}) refused: {curves} for smooth curves, {deep} for terms over several columns, {other} for other "
        f"reasons. Smooth curves left out, {len(refused) - curves} of {len(tried) - curves} ({rest:.0%}) are refused. "
        f"Against the original's own `predict`, {sum(one['labels'] for one in read):,} labels were compared, "
        f"{sum(one['explanations'] for one in read):,} explanations and "
        f"{sum(one['counterexamples'] for one in read):,} counterexamples tried: none was wrong. Seconds are CPU time "
        "to convert and check; the difference is the largest one of scores or predictions, relative to what is summed.",
        "",
        "| package | configuration | task | difference | labels | explanations | counterexamples | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in read:
        told = ("task", "error", "labels", "explanations", "counterexamples", "seconds")
        numbers = " | ".join(str(one[key]) for key in told)
        lines.append(f"| {one['package']} {one['version']} | {cell(one['name'])} | {numbers} |")
    lines += ["", "| refused | message |", "| --- | --- |"]
    lines += [f"| {one['package']}: {cell(one['name'])} | {cell(one['refused'])} |" for one in refused]
    return "\n".join(lines)


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(measured: dict[str, Any]) -> str:
    """Return one line for each package."""
    lines = [
        "| package | version | input | models tested | largest difference | explanations tested |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for package, (title, given) in PACKAGES.items():
        mine = [one for one in measured.values() if one["package"] == package]
        if not mine:
            continue
        worst = max((one["error"] for one in mine), key=float)
        versions = ", ".join(sorted({one["version"].partition("+")[0] for one in mine}))
        tried = sum(one["explanations"] for one in mine)
        lines.append(f"| {title} | {versions} | {given} | {len(mine)} | {worst} | {tried} |")
    rows = {one["rows"] for one in measured.values()}
    moves = {one["perturbations"] for one in measured.values()}
    lines.append("")
    lines.append(NOTE.format(rows=only(rows), moves=only(moves)))
    return "\n".join(lines)


def only(values: set[int]) -> int:
    """Return the one number in a set."""
    (value,) = values
    return value


if __name__ == "__main__":
    main()
