"""What a worker does: from the body of a request, checked already, to the bytes of its answer.

It lives in a process of its own, compiled once; whatever it is sent and whatever it returns are plain values.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from suffice import __version__
from suffice.answers.words import region
from suffice.certificate.document import Certificate
from suffice.errors import SufficeError
from suffice.explainer import Explainer
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.serve.limits import Deadline
from suffice.serve.portfolio import SURVEYED, Survey
from suffice.serve.problems import ProblemError, problem_document
from suffice.serve.questions import ASKED, EXPLAIN, Asked, BatchBody, CertificateBody, ReportBody, read_question
from suffice.tables.reading import DataTable
from suffice_check import RejectedError, UnreadableError, check

_CERTIFICATE: TypeAdapter[Any] = TypeAdapter(CertificateBody)


@dataclass(frozen=True)
class Asker:
    """Answers what is asked over HTTP about one model.

    Parameters
    ----------
    explainer : Explainer
    content : bytes
        The model file that certificates are for.
    digest : str
        Its SHA-256.
    max_answer : int
        Bytes of an answer.
    table : DataTable, optional
        The rows that questions about a whole table are about.
    """

    explainer: Explainer
    content: bytes
    digest: str
    max_answer: int
    table: DataTable | None = None

    def answer(self, path: str, body: Any, deadline: Deadline) -> bytes:
        """Return the answer to a request."""
        own: Mapping[str, Callable[[Any, Deadline], bytes]] = {
            "batch": self._batch,
            "certificate": self._certificate,
            "report": self._report,
            "check": self._check,
        }
        if path in own:
            answer = own[path](body, deadline)
        elif path in SURVEYED:
            answer = _json(SURVEYED[path].document(self._survey, body, deadline))
        else:
            answer = self._asked(ASKED[path], body, deadline)
        if len(answer) > self.max_answer:
            raise ProblemError(
                413, f"the answer has {len(answer):,} bytes, more than {self.max_answer:,}; ask for less at once"
            )
        return answer

    @cached_property
    def _survey(self) -> Survey:
        return Survey(self.explainer, self.table)

    def _asked(self, asked: Asked, body: Mapping[str, Any], deadline: Deadline) -> bytes:
        read = asked.body.model_validate(body)
        return _json(asked.document(self._ask(asked, read, deadline), read))

    def _ask(self, asked: Asked, body: Any, deadline: Deadline) -> Any:
        return asked.ask(self.explainer, body.row, read_question(self.explainer, body), body, deadline)

    def _batch(self, body: Mapping[str, Any], deadline: Deadline) -> bytes:
        """Return an answer for each row; a row that cannot be answered says so and spares the others."""
        read = BatchBody.model_validate(body)
        question = read_question(self.explainer, read)
        answers = []
        size = 0
        for k, row in enumerate(read.rows):
            answers.append(_json({"row": k, **self._row_answer(row, question, read, deadline)}))
            size += len(answers[-1])
            if size > self.max_answer:
                raise ProblemError(413, f"the answers have more than {self.max_answer:,} bytes; ask about fewer rows")
        return b'{"answers":[' + b",".join(answers) + b"]}"

    def _row_answer(self, row: Any, question: Question, body: Any, deadline: Deadline) -> Json:
        try:
            return {"explanation": EXPLAIN.ask(self.explainer, row, question, body, deadline).document()}
        except SufficeError as error:
            return {"problem": problem_document(422, str(error), type(error).__name__)}

    def _certificate(self, body: Mapping[str, Any], deadline: Deadline) -> bytes:
        read = _CERTIFICATE.validate_python(body)
        asked = ASKED[read.of]
        return self._proof(asked.certified(self._ask(asked, read, deadline), read)).encode()

    def _proof(self, answer: Any) -> str:
        """Return the certificate of an answer, for the very file that is served."""
        return Certificate(answer.certificate().document | {"model": self.digest}).text

    def _report(self, body: Mapping[str, Any], deadline: Deadline) -> bytes:
        from suffice.present.report import Decision, report

        read = ReportBody.model_validate(body)
        why = self._ask(EXPLAIN, read, deadline)
        model = self.explainer.model
        facts = {
            "Model": f"{len(self.content):,} bytes",
            "SHA-256": self.digest,
            "Task": f"{model.task}, {len(model.features)} features",
            "Region": region(why.case.question, why.model),
            "Made by": f"suffice {__version__}",
        }
        decision = Decision("Decision", why, self._proof(why))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # axes near the largest float
                return report([decision], facts, title=read.title).encode()
        except SufficeError:
            raise
        except (ArithmeticError, ValueError):  # numbers are exact and can be larger than what pictures can hold
            raise ProblemError(
                422, "the numbers of this decision are too large to be drawn; ask for its explanation or certificate"
            ) from None

    def _check(self, certificate: bytes, deadline: Deadline) -> bytes:
        """Return what the checker says; it shares no code with the explainer."""
        try:
            return _json({"is_accepted": True, "says": check(self.content, certificate)})
        except RejectedError as error:
            return _json({"is_accepted": False, "says": f"Rejected: {error}"})
        except UnreadableError as error:
            raise ProblemError(422, f"this is not a certificate: {error}") from None


def _json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
