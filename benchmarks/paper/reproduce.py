"""The paper's tables and figures, from our models and any verifier: one command for each, and one for all.

    python benchmarks/paper/reproduce.py all --data FOLDER [--output FOLDER] [--verifier bisection] [--rows 50]
                                             [--timeout 60] [--limit 600] [--quick]
    python benchmarks/paper/reproduce.py table1 ...

Items: table1 (sizes and times), size-over-time, table2 (sampling against proof), table3 (radius), regression (one- and
two-sided claims), deployed (Table 1 on ensembles, with categories), features-over-time, processors, xi-histogram,
xi-time, table4 (near-identical features), verifiers (all of them on the same rows, and their time over that of
`Explainer.explain`). Each writes CSV, a picture where the paper has one (PNG and PDF), and a Markdown page with the
paper's numbers beside ours.

FOLDER holds the CSV files that `suffice.datasets` reads; sets that are not there are left out, and the pages say so.
Models and measured runs are kept in `--store` (default: .cache/paper): a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import statistics
import time
from pathlib import Path

import items
import setting

from suffice.paper import VerifierError

VERIFIERS = ("exact", "bisection", "marabou", "lirpa", "abcrown", "vnnlib")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("item", choices=[*items.ITEMS, "all"])
    parser.add_argument("--data", default=None, help="folder with the CSV files")
    parser.add_argument("--output", default="build/paper")
    parser.add_argument("--store", default=".cache/paper")
    parser.add_argument("--sets", default=",".join(setting.DEFAULT))
    parser.add_argument("--hidden", default="64,64,32", help="units of each hidden layer; the paper's by default")
    parser.add_argument(
        "--training", choices=setting.TRAININGS, default="own", help="our NAM estimators, or plain Adam"
    )
    parser.add_argument("--verifier", choices=VERIFIERS, default="bisection")
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one query")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one explanation")
    parser.add_argument("--compare", default="exact,bisection", help="verifiers of the item `verifiers`")
    parser.add_argument("--methods", default="ours", help="methods of the item `verifiers`")
    parser.add_argument("--page", default="verifiers", help="name of the page of the item `verifiers`")
    parser.add_argument("--compare-rows", type=int, default=3)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--machine", default=f"{os.cpu_count()} cores, {platform.machine()}")
    parser.add_argument("--quick", action="store_true", help="two rows of each set, short limits")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.compare_rows, options.timeout, options.limit = 2, 1, 10.0, 60.0
    options.sets = [name for name in options.sets.split(",") if setting.available(name, options.data)]
    options.compare = [name for name in options.compare.split(",") if _is_there(name)]
    options.methods = options.methods.split(",")
    options.hidden = tuple(int(units) for units in options.hidden.split(","))
    options.workers = [int(count) for count in options.workers.split(",")]
    return options


def _is_there(name):
    try:
        setting.verifier_of(name)
    except VerifierError as error:
        print(f"left out: {error}")
        return False
    return True


def about(options, item):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("suffice", "numpy"))
    command = f"python benchmarks/paper/reproduce.py {item} --verifier {options.verifier} --rows {options.rows}"
    command += f" --timeout {options.timeout:g} --limit {options.limit:g} --sets {','.join(options.sets)} --data FOLDER"
    if options.training != "own":
        command += f" --training {options.training}"
    if options.hidden != setting.HIDDEN:
        command += f" --hidden {','.join(map(str, options.hidden))}"
    if item == "verifiers":
        command += f" --compare {','.join(options.compare)} --compare-rows {options.compare_rows}"
        command += f" --methods {','.join(options.methods)} --page {options.page}"
    left_out = [setting.TITLES[name] for name in setting.DEFAULT if name not in options.sets]
    missing = f" Not measured: {', '.join(left_out)}." if left_out else ""
    return (
        f"Measured {datetime.date.today():%Y-%m-%d} with `{command}` on {options.machine}, "
        f"Python {platform.python_version()}, {versions}.{missing}"
    )


def main():
    options = parse()
    began = time.perf_counter()
    for item in items.ITEMS if options.item == "all" else [options.item]:
        options.about = about(options, item)
        items.ITEMS[item](options)
        print(f"{item}: written to {options.output}", flush=True)
    sizes = [file.stat().st_size for file in Path(options.output).iterdir()]
    print(f"{len(sizes)} files in all, {statistics.mean(sizes) / 1e3:.0f} kB each; {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
