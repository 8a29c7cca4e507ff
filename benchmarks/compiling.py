"""How long networks take to compile: beside another version, beside reading them from a cache, and in processes.

    python benchmarks/compiling.py [--against FOLDER] [--repeat 5]

- One network of 64-64-32, of 1024 and of 256-128-128 units, compiled to exact pieces: milliseconds of the processor,
  the least of several. With `--against`, the `src` folder of another version (0.1.0, say), the same networks are
  compiled by that version in turns, and the ratio is printed.
- A model of 30 such networks: compiled, and read from a cache on disk.
- The same model where most features are fixed, and where a row is only predicted: what is compiled then.
- A model of many wide networks, by one process and by several: seconds of the clock, in turns.
- What a process of its own costs before it compiles anything: starting Python and importing the library.

Weights are drawn at random, float32, with variances that keep activations alive. Times are those of the processor, with
as many BLAS threads as there are by default, which count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTHS = [(64, 64, 32), (1024,), (256, 128, 128)]
HERE = Path(__file__).resolve().parents[1] / "src"

_COMPILE = """
import json, sys, time
import numpy as np
from suffice.shapes import ReluNetwork
from suffice.shapes.shape import PieceBudget

def network(seed, widths):
    rng, sizes = np.random.default_rng(seed), (1, *widths, 1)
    weights = [(rng.normal(size=(b, a)) * np.sqrt(2 / a)).astype(np.float32) for a, b in zip(sizes, sizes[1:])]
    return ReluNetwork(weights, [rng.normal(size=b).astype(np.float32) * np.float32(0.5) for b in sizes[1:]])

found = []
for widths in json.loads(sys.argv[1]):
    times = []
    for seed in range(3):
        one = network(seed, widths)
        begin = time.process_time()
        (pieces,) = one.compile(PieceBudget(100_000, "x"))
        times.append(time.process_time() - begin)
    found.append((sum(times) / len(times), len(pieces.knots) + 1))
print(json.dumps(found))
"""

_MODEL = """
import json, sys, time
exec(sys.argv[2].split("found = []")[0])
from suffice import AdditiveModel, Explainer
for widths in json.loads(sys.argv[1]):
    model = AdditiveModel([network(seed, widths) for seed in range(30)])
    times = []
    for cache in (None, sys.argv[3], sys.argv[3], sys.argv[3]):
        fresh = AdditiveModel([network(seed, widths) for seed in range(30)])
        begin = time.process_time()
        Explainer(fresh, cache=cache).compile(processes=1)
        times.append(time.process_time() - begin)
    print(json.dumps([widths, times[0], times[1], min(times[2:])]))
"""


_NEEDED = """
import json, sys, time
exec(sys.argv[2].split("found = []")[0])
from suffice import AdditiveModel, Explainer
for widths in json.loads(sys.argv[1]):
    row, names = [0.5] * 30, [f"x{k}" for k in range(27)]
    times = []
    for ask in (
        lambda one: one.compile(processes=1),
        lambda one: one.explain(row, 0.5, unit="raw").size,
        lambda one: bool(one.sufficiency(row, names, 0.5, unit="raw")),
        lambda one: one.predict(row),
    ):
        fresh = Explainer(AdditiveModel([network(seed, widths) for seed in range(30)]))
        begin = time.process_time()
        ask(fresh)
        times.append(time.process_time() - begin)
    print(json.dumps([widths, *times]))
"""

_PROCESSES = """
import json, sys, time
exec(sys.argv[2].split("found = []")[0])
from suffice import AdditiveModel, Explainer
(widths, count), times = json.loads(sys.argv[1]), {1: [], 2: []}
for _ in range(2):
    for processes in times:
        fresh = Explainer(AdditiveModel([network(seed, widths) for seed in range(count)]))
        begin = time.perf_counter()
        fresh.compile(processes)
        times[processes].append(time.perf_counter() - begin)
print(json.dumps([min(times[1]), min(times[2])]))
"""


def run(source, code, *arguments):
    """Return what a program prints that finds the library in a folder of sources."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def spent(command):
    """Return the seconds of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(HERE)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Compile, here and there, in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="the src folder of another version")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    print(platform.processor() or platform.machine(), f"Python {platform.python_version()}")
    sources = [HERE, *([Path(given.against)] if given.against else [])]
    times = {source: [] for source in sources}
    for _ in range(given.repeat):
        for source in sources:
            (found,) = run(source, _COMPILE, json.dumps(WIDTHS))
            times[source].append(found)
    for k, widths in enumerate(WIDTHS):
        name, pieces = "-".join(map(str, widths)), times[HERE][0][k][1]
        least = [min(found[k][0] for found in times[source]) for source in sources]
        other = (
            f", {least[1] * 1000:.0f} by the other version: {least[1] / least[0]:.1f} times" if given.against else ""
        )
        print(f"one network of {name}, {pieces} pieces: {least[0] * 1000:.0f} ms{other}")
    with tempfile.TemporaryDirectory() as folder:
        for widths, plain, written, read in run(HERE, _MODEL, json.dumps([WIDTHS[0], WIDTHS[2]]), _COMPILE, folder):
            name = "-".join(map(str, widths))
            print(
                f"30 networks of {name}: compiled in {plain:.2f} s, compiled and kept in {written:.2f} s, read in "
                f"{read:.3f} s: {plain / read:.0f} times faster"
            )
    for widths, whole, explained, few, predicted in run(HERE, _NEEDED, json.dumps([WIDTHS[0], WIDTHS[2]]), _COMPILE):
        name = "-".join(map(str, widths))
        print(
            f"30 networks of {name}: all compiled in {whole:.2f} s, a row explained in {explained:.2f} s; whether 27 "
            f"of them suffice in {few:.2f} s, {few / whole:.2f} of it; a row predicted in {predicted:.2f} s, "
            f"{predicted / whole:.2f} of it"
        )
    ((alone, shared),) = run(HERE, _PROCESSES, json.dumps([WIDTHS[2], 60]), _COMPILE)
    print(f"60 of these, in seconds of the clock: {alone:.2f} by one process, {shared:.2f} by two")
    start = spent([sys.executable, "-P", "-c", "import suffice.model.compiled"])
    print(f"a process that is ready to compile: {start:.2f} s of the processor")


if __name__ == "__main__":
    main()
