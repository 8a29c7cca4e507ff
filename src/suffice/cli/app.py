"""The command line: thin commands over the library, for people, and with `--json` for machines.

Exit codes: 0 answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage, 3 some rows of a
batch failed, 4 an assertion is not proven.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from suffice import __version__
from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.assertions import assertions_command
from suffice.cli.batch import batch_command
from suffice.cli.convert import convert_command
from suffice.cli.demo import demo_command
from suffice.cli.domains import domains_command
from suffice.cli.evaluate import evaluate_command
from suffice.cli.fit import fit_command
from suffice.cli.options import AsJson, ModelPath, file_facts
from suffice.cli.portfolio import (
    card_command,
    contributions_command,
    reasons_command,
    recourse_command,
    rule_command,
    rules_command,
    stability_command,
    unaffected_command,
)
from suffice.cli.questions import question_commands
from suffice.cli.report import report_command
from suffice.cli.serve import serve_command
from suffice.errors import DataError, SufficeError
from suffice.explainer import Explainer
from suffice.present.models import model_document
from suffice.present.terminal import new_console, show_error, show_model


class _Commands(TyperGroup):
    """Commands whose errors are one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except SufficeError as error:
            show_error(error)
        except MemoryError:
            show_error(DataError("there is not enough memory for this; take fewer rows, columns or features"))
        raise typer.Exit(1)


app = typer.Typer(
    cls=_Commands,
    help="Proven minimal explanations of additive models.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):  # where ∞ cannot be shown, a question mark is
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"suffice {__version__}")
        raise typer.Exit


@app.callback()
def _suffice(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def check_command(
    model: ModelPath,
    certificates: Annotated[
        list[Path], typer.Argument(help="Certificates, as --certificate writes them.", show_default=False)
    ],
    statement: Annotated[bool, typer.Option("--statement", help="Print all of what is proven, line by line.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check certificates without trusting the explainer. Exit code: 0 proven, 1 a step fails, 2 unreadable."""
    from suffice_check.__main__ import main as check

    forms = [*(["--statement"] if statement else []), *(["--json"] if as_json else [])]
    raise typer.Exit(check([*forms, str(model), *map(str, certificates)]))


def info_command(model: ModelPath, as_json: AsJson = False) -> None:
    """Describe a model file: its task, features, and how many exact pieces its shapes have."""
    compiled = Explainer(load_model(model)).compiled
    if as_json:
        typer.echo(to_text({"model": file_facts(model), **model_document(compiled)}))
    else:
        show_model(new_console(), compiled, file_facts(model))


_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo_command,
    "fit": fit_command,
    "evaluate": evaluate_command,
    **question_commands(),
    "test": assertions_command,
    "unaffected": unaffected_command,
    "stability": stability_command,
    "contributions": contributions_command,
    "reasons": reasons_command,
    "recourse": recourse_command,
    "card": card_command,
    "rule": rule_command,
    "rules": rules_command,
    "report": report_command,
    "serve": serve_command,
    "batch": batch_command,
    "check": check_command,
    "info": info_command,
    "convert": convert_command,
    "domains": domains_command,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
