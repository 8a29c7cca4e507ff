"""Many clients at once: does the server answer all of them, how fast, and does its memory stay flat?

.venv/bin/python benchmarks/serving.py [--clients 50] [--seconds 60] [--slow 4] [--max-seconds 10]

Starts `suffice serve` with the embedded model on loopback, asks it from that many clients at once for that long, stops
it, and prints errors, percentiles, memory, and how the rate compares with the floor: the same questions asked of the
library in one process, measured just before. Exits with 1 if any request failed.

With `--slow`, so many of the clients ask for curves and for all minimal sets, and the others only quick questions, with
a pause after each, so that what is measured is no queue of their own; first without the slow ones, then with them. A
slow question may be answered with 503: its time was up. `--max-seconds` is that time, as `suffice serve` takes it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

import suffice

DATA = Path(suffice.__file__).parent / "data"
MODEL, ROWS = DATA / "breast_cancer.safetensors", DATA / "breast_cancer_rows.csv"
RADII = ("0.1", "0.3", "0.5", "0.8", "1.2")
PAUSE = 2.0  # seconds between two quick questions of one client, as of people who read the answer


def questions():
    """Return what is asked: paths and bodies, the same in every run."""
    explainer = suffice.Explainer(suffice.load(MODEL))
    with ROWS.open() as file:
        rows = [{name: row[name] for name in explainer.model.names} for row in csv.DictReader(file)]
    asked = []
    for row in rows:
        for radius in RADII:
            body = {"row": row, "radius": radius}
            asked += [("/v1/explain", body | {"outlines": 6}), ("/v1/explain", body), ("/v1/contrast", body)]
            asked += [("/v1/batch", {"rows": [row, row], "radius": radius})]
    return explainer, asked


def slow_questions(asked):
    """Return questions that take long: curves without an end, and how many minimal sets there are."""
    bodies = [body["row"] for path, body in asked if path == "/v1/explain"]
    found = []
    for row in bodies[:: 2 * len(RADII)]:
        found += [("/v1/curve", {"row": row, "until": "inf"})]
        found += [("/v1/explanations", {"row": row, "radius": "3", "minimal": "subset", "count": True})]
    return found


def floor(explainer, asked, seconds):
    """Return how many of the questions the library answers a second, without any server."""
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        path, body = asked[done % len(asked)]
        for row in body.get("rows") or [body["row"]]:
            ask = explainer.contrast if path == "/v1/contrast" else explainer.explain
            json.dumps(ask(row, body["radius"]).document())
        done += 1
    return done / (time.perf_counter() - began)


def family(pid):
    """Return the process and those it started, and those they started."""
    found = [pid]
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a worker was ended meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += family(int(child))
    return found


def memory(pid):
    """Return the memory of a process and of those it started in MiB; what they share counts once."""
    total = 0.0
    for one in family(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
    return total


def note_processor(pid, used):
    """Note under each process of the family how many seconds of the processor it has used so far."""
    for one in family(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            used[one] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(address, pid, asked, clients, seconds, pause=0.0):
    """Ask until the time is over; return latencies, statuses, samples of the server's memory and its processor seconds.

    Memory and processor are those of its workers too; what a worker used between the last sample and its end is missed.
    """
    latencies, statuses, samples, used = [], Counter(), [], {}
    end = time.perf_counter() + seconds

    async def one(client, start):
        k = start
        await asyncio.sleep(pause * start / (3 * clients))  # not all at the same moment
        while time.perf_counter() < end:
            path, body = asked[k % len(asked)]
            began = time.perf_counter()
            try:
                statuses[(await client.post(path, json=body)).status_code] += 1
            except httpx.HTTPError as error:
                statuses[type(error).__name__] += 1
            latencies.append(time.perf_counter() - began)
            k += 7
            await asyncio.sleep(pause)

    async def watch():
        while time.perf_counter() < end:
            samples.append(
                await asyncio.to_thread(memory, pid)
            )  # milliseconds, in which clients would not hear answers
            note_processor(pid, used)
            await asyncio.sleep(max(seconds / 20, 0.1))

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
        await asyncio.gather(watch(), *(one(client, 3 * k) for k in range(clients)))
    return latencies, statuses, samples, sum(used.values())


@contextlib.contextmanager
def served(most):
    """Run `suffice serve`, with so many seconds for a request; give its address and its process."""
    command = [sys.executable, "-m", "suffice.cli", "serve", str(MODEL), "--port", "0", "--max-seconds", f"{most:g}"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[0].rstrip("/"), server.pid
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def beside(asked, clients, seconds, slow, most):
    """Print how long quick questions take without slow ones, and beside them."""
    quick = [one for one in asked if one[0] != "/v1/batch"]

    async def both(address, pid, count):
        slowly = load(address, pid, slow_questions(asked), count, seconds)
        return await asyncio.gather(load(address, pid, quick, clients - slow, seconds, PAUSE), slowly)

    bad = 0
    for count in (0, slow):
        with served(most) as (address, pid):
            (latencies, statuses, samples, used), (long, others, *_) = asyncio.run(both(address, pid, count))
        ordered = sorted(latencies)
        p50, p99 = (ordered[int(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.99))
        print(f"{clients - slow} quick clients, {count} slow, seconds {seconds:g}")
        print(f"  quick: requests {len(ordered)}, p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {ordered[-1] * 1000:.0f} ms")
        print(f"  quick statuses {dict(statuses)}, slow statuses {dict(others)}, slowest {max(long, default=0):.1f} s")
        print(f"  memory at most {max(samples):.0f} MiB, processor {used:.0f} s")
        bad += sum(number for status, number in statuses.items() if status != 200)
        bad += sum(number for status, number in others.items() if status not in (200, 503))
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--slow", type=int, default=0)
    parser.add_argument("--max-seconds", type=float, default=10)
    given = parser.parse_args()
    explainer, asked = questions()
    if given.slow:
        return beside(asked, given.clients, given.seconds, given.slow, given.max_seconds)
    alone = floor(explainer, asked, min(given.seconds / 4, 10))
    began = time.process_time()
    with served(given.max_seconds) as (address, pid):
        latencies, statuses, samples, used = asyncio.run(load(address, pid, asked, given.clients, given.seconds))
    ordered = sorted(latencies)
    bad = sum(count for status, count in statuses.items() if status != 200)
    settled = samples[len(samples) // 4 :]
    print(f"clients {given.clients}, seconds {given.seconds:g}, requests {len(ordered)}, errors {bad}")
    print(f"statuses {dict(statuses)}")
    for share in (0.5, 0.9, 0.99):
        print(f"p{share * 100:g} {ordered[int(share * (len(ordered) - 1))] * 1000:.0f} ms")
    rate = len(ordered) / given.seconds
    print(f"rate {rate:.0f}/s = {rate / alone:.2f} of the library alone in one process ({alone:.0f}/s)")
    print(f"memory {settled[0]:.0f} MiB after a quarter, {settled[-1]:.0f} MiB at the end, most {max(samples):.0f} MiB")
    print(f"processor {used:.0f} s of the server, {time.process_time() - began:.0f} s of the clients")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
