"""The same Arrow function on a Ray cluster: partitions, retries and back-pressure are Ray Data's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suffice.batch.arrow import ArrowExplainer
from suffice.batch.files import TableFile, csv_options
from suffice.batch.stream import PART_ROWS, Progress, Summary, check_files, write_table
from suffice.errors import DataError


def explain_on_ray(
    explain: ArrowExplainer,
    table: TableFile,
    output: Path,
    *,
    address: str | None = None,
    batch_rows: int = PART_ROWS // 4,
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
    return write_table(explain, _results(ray, explain, table, batch_rows), output, progress)


def _results(ray: Any, explain: ArrowExplainer, table: TableFile, batch_rows: int) -> Iterator[Any]:
    """Yield result tables in the order of the rows."""
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    columns = [name for name in table.columns if name in (*explain.model.names, *explain.carry)]
    if table.is_parquet:
        data = ray.data.read_parquet(str(table.path), columns=columns)
    else:
        data = ray.data.read_csv(str(table.path), partitioning=None, **csv_options(columns))
    # A task for each batch: if its worker dies Ray runs it again, elsewhere, with the same rows.
    found = data.map_batches(explain, batch_size=batch_rows, batch_format="pyarrow", zero_copy_batch=True)
    yield from found.iter_batches(batch_size=PART_ROWS, batch_format="pyarrow")


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise DataError(f"the engine ray is not installed ({error}): pip install 'suffice[ray]'") from None
    return ray
