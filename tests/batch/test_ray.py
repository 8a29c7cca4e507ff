"""The same function on a real Ray cluster of this machine, with a worker killed in the middle."""

import os
import signal
import sys
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

    def __call__(self, table):
        found = super().__call__(table)
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return found


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_killed_worker_changes_nothing(cluster, tmp_path, kind):
    rng = np.random.default_rng(0)
    shapes = [
        suffice.PiecewiseLinear(np.sort(rng.normal(size=8)).tolist(), rng.normal(size=8).tolist()) for _ in range(4)
    ]
    suffice.AdditiveModel(shapes, 0.1).save(tmp_path / "model.safetensors")
    table = arrow.table({"id": range(4000), **{f"x{i}": rng.normal(size=4000) for i in range(4)}})
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=500)
    else:
        path.write_text(
            "\n".join([",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())])
        )
    options = {"carry": ["id"], "threads": 1, "unit": "raw"}
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    plain = ArrowExplainer(tmp_path / "model.safetensors", 0.5, **options)
    explain_file(plain, TableFile(path), here, progress=lambda done: None)
    dying = DyingExplainer(tmp_path / "model.safetensors", 0.5, mark=tmp_path / "died", **options)
    summary = explain_on_ray(dying, TableFile(path), there, batch_rows=500, progress=lambda done: None)
    assert (tmp_path / "died").exists()
    assert summary.rows == 4000
    assert parquet.read_table(there).equals(parquet.read_table(here))
