"""One function from Arrow to Arrow, which every engine runs: this machine, Ray Data, Spark, Dask.

It holds the model, as the bytes of suffice's own files, and a question, so it can be sent to another process; there it
compiles the model at its first call, and keeps it for the next.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from suffice.adapters.files import load_any as load_model
from suffice.batch.cells import Source, read_source
from suffice.batch.run import BatchQuestion, lasting
from suffice.claims import Claim
from suffice.errors import DataError
from suffice.explain import SAME, Explainer
from suffice.model import AdditiveModel
from suffice.model_file import file_hash, to_bytes
from suffice.model_file import load_model as load_own
from suffice.regions import Radius, Unit, read_radii


class ArrowExplainer:
    """Explains Arrow tables, or batches of them: `explain(table)` returns a table with as many rows.

    Parameters
    ----------
    model : path
        A model file, read now.
    radius, unit, held, claim
        As `Explainer.explain` takes them.
    keep : names of columns
        Columns to carry over into the result, such as an id.
    threads : int, optional
        How many to use in each process; all by default.
    """

    def __init__(
        self,
        model: str | Path,
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        keep: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        twice = [name for k, name in enumerate(keep) if name in keep[:k]]
        if twice:
            raise DataError(f"the column {twice[0]!r} is to be kept twice; name it once")
        self.path = Path(model)
        self.options: dict[str, Any] = {"radius": radius, "unit": unit, "held": lasting(held), "claim": claim}
        self.keep, self.threads = tuple(keep), threads
        additive = load_model(model)
        self._question: BatchQuestion | None = BatchQuestion.of(Explainer(additive), **self.options)
        self.model_hash = file_hash(model)
        self.content = to_bytes(additive)  # the file itself may be one that another process has no reader for
        self.asked = _exact_text(additive, **self.options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_question": None}  # compiled again where it is sent

    @property
    def question(self) -> BatchQuestion:
        """The compiled question, made once in each process."""
        if self._question is None:
            self._question = _compiled(_Key(self.content, self.asked, self.options))
        return self._question

    @property
    def model(self) -> AdditiveModel:
        """The model."""
        return self.question.explainer.model

    @property
    def schema(self) -> Any:
        """The Arrow schema of results, without the columns that are carried over."""
        import numpy as np

        source = Source(self.model, tuple(np.empty(0) for _ in self.model.features), 0)
        return self.question.answer(source).to_arrow().schema

    def __call__(self, table: Any) -> Any:
        """Return the explanations of a table's rows; columns that are no features are left out."""
        names = list(table.schema.names)
        for name in self.keep:
            if name not in names:
                raise DataError(f"the table has no column {name!r} to keep")
        wanted = table.select([name for name in names if name in self.model.names])
        found = self.question.answer(read_source(self.model, wanted), threads=self.threads).to_arrow()
        for place, name in enumerate(self.keep):
            found = found.add_column(place, name, table.column(name))
        return found


def _exact_text(model: AdditiveModel, radius: Radius, unit: Unit, held: Iterable[str], claim: Claim) -> str:
    """Return a question as text that no other question has: radii in the features' own units, as exact numbers."""
    radii = read_radii(model, radius, unit=unit, held=held)
    each = {name: "inf" if one is None else str(one) for name, one in zip(model.names, radii, strict=True)}
    return json.dumps({"radius": each, "claim": repr(claim)})


class _Key:
    """What tells one compiled question from another."""

    def __init__(self, content: bytes, asked: str, options: dict[str, Any]) -> None:
        self.content, self.options = content, options
        self.mark = (hashlib.sha256(content).digest(), asked)

    def __hash__(self) -> int:
        return hash(self.mark)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.mark == other.mark


@lru_cache(maxsize=4)
def _compiled(key: _Key) -> BatchQuestion:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(key.content)
        explainer = Explainer(load_own(path))
    return BatchQuestion.of(explainer, **key.options)
