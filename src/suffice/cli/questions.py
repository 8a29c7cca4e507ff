"""The commands that ask something about rows of a table: one for each search.

A command is a function of `Asked`, what all of them have in common, and options of its own; `command_of` gives
it the options that its search honours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers import Answer, Contested, Listing
from suffice.answers.documents import to_text
from suffice.certificate.document import Certificate
from suffice.cli.options import (
    AsJson,
    CacheFolder,
    ModelPath,
    TablePath,
    file_facts,
    parameters_of,
    read_question,
    warnings_told,
    with_question,
)
from suffice.cli.tables import table_at
from suffice.errors import ModelFileError, RowError
from suffice.explainer import Explainer
from suffice.present.terminal import new_console, show_answer, tell
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.search.registry import SEARCHES

Found = TypeVar("Found")


class Minimal(StrEnum):
    """What no other set may undercut."""

    SIZE = "size"
    SUBSET = "subset"


class Certified(Protocol):
    """An answer that has a certificate."""

    def certificate(self, model_file: str | Path | None = None) -> Certificate:
        """Return the proof."""


_Features = Annotated[
    list[str] | None, typer.Option("--feature", metavar="NAME", help="Fixed feature; may be repeated.")
]
_CertificatePath = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the proof to this file, for suffice check; with several rows, one file each: NAME-ROW.json.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """A model, a question, and some rows of a table to ask it of."""

    path: Path
    table: Path
    explainer: Explainer
    question: Question
    rows: tuple[tuple[int, Json], ...]
    ignored: tuple[str, ...]
    as_json: bool = False

    @classmethod
    def read(
        cls,
        model: Path,
        table: Path,
        rows: Sequence[int],
        given: dict[str, Any],
        *,
        as_json: bool = False,
        cache: Path | None = None,
    ) -> Asked:
        """Read what all commands need."""
        additive = load_model(model)
        question = read_question(additive, given)
        data = table_at(table)
        data.check_columns(additive.names)
        chosen = tuple((k, {name: data.row(k)[name] for name in additive.names}) for k in rows)
        ignored = tuple(name for name in data.columns if name not in additive.names)
        with warnings_told():
            explainer = Explainer(additive, cache=cache)
        return cls(model, table, explainer, question, chosen, ignored, as_json)

    def answers(self, ask: Callable[[Json], Found]) -> list[tuple[int, Found]]:
        """Return the answer for each row."""
        found = [(k, _of_row(k, cells, ask)) for k, cells in self.rows]
        if self.ignored:
            tell(f"Ignored (not features of the model): {_some(self.ignored)}", err=True)
        return found

    def save_certificates(self, path: Path | None, answers: Sequence[tuple[int, Certified]]) -> None:
        """Write the proof of each answer, if a path is given."""
        if path is None:
            return
        for k, answer in answers:
            own = path.with_name(f"{path.stem}-{k}{path.suffix}") if len(answers) > 1 else path
            certificate_of(answer, self.path).save(own)

    def show(self, answers: Sequence[tuple[int, Answer]]) -> None:
        """Print answers for people, or as one document."""
        if self.as_json:
            facts = {"model": file_facts(self.path), "table": str(self.table), "question": self.question.document()}
            shown = [{"row": k, **answer.document()} for k, answer in answers]
            typer.echo(to_text({**facts, "answers": shown}))
            return
        console = new_console()
        for place, (k, answer) in enumerate(answers):
            if place:
                console.print()
            show_answer(console, f"Row {k}", answer)


def certificate_of(answer: Certified, model: Path) -> Certificate:
    """Return the certificate of an answer for a model file of suffice's own."""
    try:
        return answer.certificate(model)
    except ModelFileError:
        reason = "certificates need a model file of suffice; make one with `suffice convert` first"
        raise ModelFileError(model, reason) from None


# --- the commands -----------------------------------------------------------------------------------------------------


def explain(
    asked: Asked,
    without: Annotated[
        str | None, typer.Option(metavar="NAME", help="Fixed feature; show what could happen if it were free too.")
    ] = None,
    certificate: _CertificatePath = None,
) -> None:
    """Find a smallest set of features that guarantees a prediction, with proof."""
    if without is not None:
        asked.explainer.model.index(without)
    answers = asked.answers(lambda cells: asked.explainer.explain(cells, asked.question))
    asked.save_certificates(certificate, answers)
    asked.show([(k, why if without is None else Contested(why, without)) for k, why in answers])


def sufficiency(asked: Asked, feature: _Features = None, certificate: _CertificatePath = None) -> None:
    """Test whether fixing some features is enough, with a proof or a counterexample."""
    answers = asked.answers(lambda cells: asked.explainer.sufficiency(cells, feature or (), asked.question))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def contrast(asked: Asked, certificate: _CertificatePath = None) -> None:
    """Find a smallest set of features whose change can change a prediction, with an input that shows it."""
    answers = asked.answers(lambda cells: asked.explainer.contrast(cells, asked.question))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def counterfactual(asked: Asked, certificate: _CertificatePath = None) -> None:
    """Find the nearest input with another prediction, with as few changes as possible."""
    answers = asked.answers(lambda cells: asked.explainer.counterfactual(cells, asked.question))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def relevance(asked: Asked, certificate: _CertificatePath = None) -> None:
    """Show which features are in every minimal explanation, in some, or in none."""
    answers = asked.answers(lambda cells: asked.explainer.relevance(cells, asked.question))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def explanations(
    asked: Asked,
    minimal: Annotated[
        Minimal, typer.Option(help="All sets of the smallest size, or all of which no proper subset suffices.")
    ] = Minimal.SIZE,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of sets to list for each row.")] = 20,
    count: Annotated[bool, typer.Option("--count", help="Count the sets instead of listing them.")] = False,
    certificate: _CertificatePath = None,
) -> None:
    """List all minimal explanations, or count them."""

    def ask(cells: Json) -> Listing:
        found = asked.explainer.explanations(cells, asked.question, minimal=minimal.value)
        return found.counted() if count else found.listing(limit)

    answers = asked.answers(ask)
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def radius(asked: Asked, feature: _Features = None, certificate: _CertificatePath = None) -> None:
    """Find the largest radius for which some features suffice, exactly."""
    answers = asked.answers(lambda cells: asked.explainer.radius(cells, feature or (), asked.question))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def curve(
    asked: Asked,
    until: Annotated[str, typer.Option(metavar="NUMBER", help="Largest radius to look at.")] = "inf",
    certificate: _CertificatePath = None,
) -> None:
    """Show how the size of the smallest explanation grows with the radius, with exact breakpoints."""
    answers = asked.answers(lambda cells: asked.explainer.curve(cells, asked.question, until=until))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def inflate(asked: Asked, feature: _Features = None, certificate: _CertificatePath = None) -> None:
    """Find, for each fixed feature, the widest range that keeps the prediction; by default for those of explain."""
    answers = asked.answers(lambda cells: asked.explainer.inflate(cells, asked.question, features=feature))
    asked.save_certificates(certificate, answers)
    asked.show(answers)


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options that all share, those that its search honours, and those of its own."""

    def command(given: dict[str, Any], **values: Any) -> None:
        common = {one.name: values.pop(one.name) for one in shared}
        function(_read_asked(**common, given=given), **values)

    shared = [one for one in parameters_of(_read_asked) if one.name != "given"]
    own = [one for one in parameters_of(function) if one.name != "asked"]
    return with_question(SEARCHES[function.__name__], command, (*shared, *own), function.__doc__)


def _read_asked(
    model: ModelPath,
    table: TablePath,
    row: Annotated[
        list[int], typer.Option("--row", help="Row to ask about, counted from 0; may be repeated.", show_default=False)
    ],
    given: dict[str, Any],
    as_json: AsJson = False,
    cache: CacheFolder = None,
) -> Asked:
    return Asked.read(model, table, row, given, as_json=as_json, cache=cache)


# --- reading ----------------------------------------------------------------------------------------------------------


def _of_row(k: int, cells: Json, ask: Callable[[Json], Found]) -> Found:
    try:
        return ask(cells)
    except RowError as error:
        raise RowError(f"row {k}: {error}") from None


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more columns"
