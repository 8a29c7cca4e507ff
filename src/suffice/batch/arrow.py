"""One function from Arrow to Arrow, which every engine runs: this machine, Ray Data, Spark, Dask.

It holds the model, as the bytes of suffice's own files, and a question, as it is written down, so it can be sent to
another process; there it compiles the model at its first call, and keeps it for the next.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from suffice.adapters.files import load_any as load_model
from suffice.batch.cells import Source, read_source
from suffice.batch.run import BatchQuestion, batch_question
from suffice.errors import DataError
from suffice.model.additive import AdditiveModel
from suffice.model.compile_cache import CompileCache
from suffice.model.compiled import Compiled
from suffice.model.fields import first_twice
from suffice.model.reading import file_hash
from suffice.question.question import HALF, Options, Question
from suffice.question.region import Radius


class ArrowExplainer:
    """Explains Arrow tables, or batches of them: `explain(table)` returns a table with as many rows.

    Parameters
    ----------
    model : path
        A model file, read now.
    radius, **options
        As `Explainer.explain` takes them.
    carry : names of columns
        Columns to carry over into the result, such as an id.
    threads : int, optional
        How many to use in each process; all by default.
    cache : path, optional
        A folder to keep compiled models in, as for `Explainer`; processes that this is sent to do without.

    Raises
    ------
    SufficeError
        If the file is not a model, or the question does not fit it.
    """

    def __init__(
        self,
        model: str | Path,
        radius: Radius | Question = HALF,
        *,
        carry: Sequence[str] = (),
        threads: int | None = None,
        cache: str | Path | None = None,
        **options: Unpack[Options],
    ) -> None:
        twice = first_twice(carry)
        if twice is not None:
            raise DataError(f"carry names the column {twice!r} twice; name it once")
        self.path = Path(model)
        self.carry, self.threads = tuple(carry), threads
        compiled = Compiled(load_model(model), cache=None if cache is None else CompileCache(cache))
        question = Question.read(compiled.model, radius, **options)
        self._question: BatchQuestion | None = batch_question(compiled, question, threads)
        self.model_hash = file_hash(model)
        self.content = compiled.content  # the file itself may be one that another process has no reader for
        self.document = question.document()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_question": None}  # compiled again where it is sent

    @property
    def question(self) -> BatchQuestion:
        """The compiled question, made once in each process."""
        if self._question is None:
            self._question = _compiled(self.content, json.dumps(self.document))
        return self._question

    @property
    def model(self) -> AdditiveModel:
        """The model."""
        return self.question.compiled.model

    @property
    def schema(self) -> Any:
        """The Arrow schema of results, without the columns that are carried over."""
        source = Source(self.model, tuple(np.empty(0) for _ in self.model.features), 0)
        return self.question.answer(source).to_arrow().schema

    def schema_of(self, rows: Any) -> Any:
        """Return the Arrow schema of the results for rows of a schema, with the columns that are carried over."""
        for name in self.carry:
            if name not in rows.names:
                raise DataError(f"the table has no column {name!r} to carry over")
        found = self.schema
        for place, name in enumerate(self.carry):
            found = found.insert(place, rows.field(name))
        return found

    def __call__(self, table: Any, *, encoded: bool = False) -> Any:
        """Return the explanations of a table's rows; columns that are not features are left out.

        Encoded, as `BatchResult.to_arrow` says.
        """
        names = list(table.schema.names)
        for name in self.carry:
            if name not in names:
                raise DataError(f"the table has no column {name!r} to carry over")
        features = set(self.model.names)
        wanted = table.select([name for name in names if name in features])
        answers = self.question.answer(read_source(self.model, wanted), threads=self.threads)
        found = answers.to_arrow(encoded=encoded)
        for place, name in enumerate(self.carry):
            found = found.add_column(place, name, table.column(name))
        return found


@lru_cache(maxsize=4)
def _compiled(content: bytes, document: str) -> BatchQuestion:
    compiled = Compiled.of_content(content)
    return batch_question(compiled, Question.from_document(compiled.model, json.loads(document)), threads=1)
