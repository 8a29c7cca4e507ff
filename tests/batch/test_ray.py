"""The same function on a real Ray cluster of this machine, with a worker or the driver killed in the middle."""

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import suffice

ray = pytest.importorskip("ray", reason="ray is not installed (extra 'ray')")
arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as parquet  # noqa: E402

from suffice.batch.arrow import ArrowExplainer  # noqa: E402
from suffice.batch.files import TableFile  # noqa: E402
from suffice.batch.ray import explain_on_ray  # noqa: E402
from suffice.batch.stream import explain_file  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def cluster():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a module of tests
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


class DyingExplainer(ArrowExplainer):
    """Kills the worker it runs in, once."""

    def __init__(self, *arguments, mark, **options):
        super().__init__(*arguments, **options)
        self.mark = str(mark)

    def __call__(self, table, **options):
        found = super().__call__(table, **options)
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return found


def files(folder, kind):
    """Write a model, and 4,000 rows of it; return where the rows are."""
    rng = np.random.default_rng(0)
    shapes = [
        suffice.PiecewiseLinear(np.sort(rng.normal(size=8)).tolist(), rng.normal(size=8).tolist()) for _ in range(4)
    ]
    suffice.AdditiveModel(shapes, 0.1).save(folder / "model.safetensors")
    table = arrow.table({"id": range(4000), **{f"x{i}": rng.normal(size=4000) for i in range(4)}})
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=500)
    else:
        path.write_text(
            "\n".join([",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())])
        )
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_killed_worker_changes_nothing(cluster, tmp_path, kind):
    path = files(tmp_path, kind)
    options = {"carry": ["id"], "threads": 1, "unit": "raw"}
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    plain = ArrowExplainer(tmp_path / "model.safetensors", 0.5, **options)
    explain_file(plain, TableFile(path), here, progress=lambda done: None)
    dying = DyingExplainer(tmp_path / "model.safetensors", 0.5, mark=tmp_path / "died", **options)
    summary = explain_on_ray(dying, TableFile(path), there, batch_rows=500, progress=lambda done: None)
    assert (tmp_path / "died").exists()
    assert summary.rows == 4000
    assert parquet.read_table(there).equals(parquet.read_table(here))


DRIVER = """
    import sys, time
    from pathlib import Path
    import ray
    from suffice.batch.arrow import ArrowExplainer
    from suffice.batch.files import TableFile
    from suffice.batch.ray import explain_on_ray
    folder, table, output, address = sys.argv[1:]
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    ask = ArrowExplainer(folder + "/model.safetensors", 0.5, carry=["id"], threads=1, unit="raw")
    def tell(done):
        print(done, flush=True)
        time.sleep(1)
    explain_on_ray(ask, TableFile(Path(table)), Path(output), batch_rows=500, progress=tell)
"""


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_killed_driver_is_gone_on_from(cluster, tmp_path, kind):
    path = files(tmp_path, kind)
    there, here = tmp_path / f"there.{kind}", tmp_path / f"here.{kind}"
    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), str(tmp_path), str(path), str(there), address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        done = [int(line) for line, _ in zip(driver.stdout, range(3), strict=False)]
        driver.kill()
    assert done == [0, 500, 1000]
    assert not there.exists()
    ask = ArrowExplainer(tmp_path / "model.safetensors", 0.5, carry=["id"], threads=1, unit="raw")
    told = []
    summary = explain_on_ray(ask, TableFile(path), there, batch_rows=500, progress=told.append)
    assert 1000 <= told[0] < 4000 == told[-1] == summary.rows
    explain_file(ask, TableFile(path), here, part_rows=500, progress=lambda done: None)
    assert there.read_bytes() == here.read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("there")) == [there.name]
