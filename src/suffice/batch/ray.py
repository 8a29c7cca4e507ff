"""The same Arrow function on a Ray cluster: scheduling, retries and transport are Ray's.

A task gets the number of a part and gives it back with the results, so that nothing depends on when it ends. Workers
read the rows of a Parquet file themselves; those of a CSV file, which has no places to start from, are sent to them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from suffice.batch.arrow import ArrowExplainer
from suffice.batch.files import TableFile
from suffice.batch.stream import PART_ROWS, PartExplainer, Progress, Shares, Summary, check_files, explain_file
from suffice.errors import DataError, SufficeError

_TASKS_PER_CORE = 2  # given out at once: enough that no core waits, few enough that memory does not grow


def explain_on_ray(
    explain: ArrowExplainer,
    table: TableFile,
    output: Path,
    *,
    address: str | None = None,
    batch_rows: int = PART_ROWS,
    progress: Progress,
) -> Summary:
    """Explain every row of a file on a Ray cluster, and write the results here as one Parquet file.

    Parameters
    ----------
    address : str, optional
        Of the cluster; None for one on this machine, or the one that this process is connected to.
    batch_rows : int
        How many rows a task gets at once.
    """
    check_files(explain, table, output)
    ray = _ray()
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    if explain.threads is None:
        explain = copy.copy(explain)
        explain.threads = 1  # a task has one core
    engine = partial(_on_ray, ray)
    return explain_file(
        explain, table, output, part_rows=batch_rows, progress=progress, engine=engine, reads_itself=True
    )


def _on_ray(ray: Any, ask: PartExplainer, shares: Shares) -> Iterator[tuple[int, Any]]:
    """Give every part to a task; yield results as they come. If a worker dies, Ray runs its task again elsewhere."""
    task, shared = ray.remote(_explain_part), ray.put(ask)
    most = _TASKS_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
    running: list[Any] = []
    for k, rows in shares:
        if len(running) >= most:
            done, running = ray.wait(running, num_returns=1)
            yield _result(ray, done[0])
        running.append(task.remote(shared, k, rows))
    while running:
        done, running = ray.wait(running, num_returns=1)
        yield _result(ray, done[0])


def _explain_part(ask: PartExplainer, k: int, rows: Any) -> tuple[int, Any]:
    return k, ask(k, rows)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, SufficeError):
            raise cause from None
        raise DataError(f"the engine ray failed ({' '.join(str(cause or error).split())})") from None


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise DataError(f"the engine ray is not installed ({error}): pip install 'suffice[ray]'") from None
    return ray
