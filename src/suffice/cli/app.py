"""The command line: thin commands over the library, for people, and with `--json` for machines.

Exit codes: 0 answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage, 3 some rows of a
batch failed, 4 an assertion is not proven.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from suffice import __version__
from suffice.errors import DataError, SufficeError


class Command(NamedTuple):
    """Where a command is, and what it does in a line: the list of commands needs nothing else of it."""

    module: str  # of `suffice.cli`
    function: str
    summary: str


COMMANDS = {
    "demo": Command("demo", "demo_command", "Explain three patients of an embedded breast cancer model."),
    "fit": Command("fit", "fit_command", "Train an additive model on a table, and save it as an exact model file."),
    "evaluate": Command(
        "evaluate",
        "evaluate_command",
        "Say how well a model predicts the rows of a table, beside the simplest guess. Use rows it was not trained on.",
    ),
    "explain": Command(
        "questions", "explain", "Find a smallest set of features that guarantees a prediction, with proof."
    ),
    "sufficiency": Command(
        "questions", "sufficiency", "Test whether fixing some features is enough, with a proof or a counterexample."
    ),
    "contrast": Command(
        "questions",
        "contrast",
        "Find a smallest set of features whose change can change a prediction, with an input that shows it.",
    ),
    "counterfactual": Command(
        "questions",
        "counterfactual",
        "Find the nearest input with another prediction, with as few changes as possible.",
    ),
    "relevance": Command(
        "questions", "relevance", "Show which features are in every minimal explanation, in some, or in none."
    ),
    "explanations": Command("questions", "explanations", "List all minimal explanations, or count them."),
    "radius": Command("questions", "radius", "Find the largest radius for which some features suffice, exactly."),
    "curve": Command(
        "questions",
        "curve",
        "Show how the size of the smallest explanation grows with the radius, with exact breakpoints.",
    ),
    "inflate": Command(
        "questions",
        "inflate",
        "Find, for each fixed feature, the widest range that keeps the prediction; by default for those of explain.",
    ),
    "test": Command(
        "assertions",
        "assertions_command",
        "Test a model against a file of assertions. Exit code: 0 all proven, 4 some are not, 1 a file cannot be read.",
    ),
    "unaffected": Command(
        "portfolio",
        "unaffected_command",
        "Show for which share of a table some features never matter, each predicted class apart.",
    ),
    "stability": Command(
        "portfolio",
        "stability_command",
        "Show for which share of a table nothing within a radius changes the prediction.",
    ),
    "contributions": Command(
        "portfolio",
        "contributions_command",
        "Show what each feature adds to the score of a row, compared with the average row of the table.",
    ),
    "reasons": Command(
        "portfolio",
        "reasons_command",
        "Show the fewest factors that would have changed a decision, had they been as in a reference.",
    ),
    "recourse": Command(
        "portfolio",
        "recourse_command",
        "Show the cheapest changes that lead to another decision, proven, or that there are none.",
    ),
    "card": Command(
        "portfolio", "card_command", "Show a points card that decides with proof, or says to ask the model."
    ),
    "rule": Command(
        "portfolio",
        "rule_command",
        "Show the most general rule about a row, proven: few conditions under which all are decided as it is.",
    ),
    "rules": Command(
        "portfolio",
        "rules_command",
        "Show what rules of few conditions can cover of a table at most, and rules that do, each proven.",
    ),
    "report": Command(
        "report", "report_command", "Write a report on decisions: one HTML file with pictures, proofs and certificates."
    ),
    "serve": Command("serve", "serve_command", "Serve a web page and an HTTP API to ask about a model's decisions."),
    "batch": Command(
        "batch",
        "batch_command",
        "Explain every row of a file, even one larger than memory. Exit code 3 if some rows failed.",
    ),
    "check": Command(
        "files",
        "check_command",
        "Check certificates without trusting the explainer. Exit code: 0 proven, 1 a step fails, 2 unreadable.",
    ),
    "info": Command(
        "files", "info_command", "Describe a model file: its task, features, and how many exact pieces its shapes have."
    ),
    "convert": Command(
        "convert", "convert_command", "Convert a model of another package exactly, check it, and write a model file."
    ),
    "domains": Command(
        "domains",
        "domains_command",
        "Show what the columns of a model can be; learn it from a table, or say it, and write a new model file.",
    ),
}


class _Commands(TyperGroup):
    """Commands that are imported when they are called, and whose errors are one sentence."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.commands = {name: TyperCommand(name, help=one.summary) for name, one in COMMANDS.items()}
        self.is_listed = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; only what it is called and does, where all are listed."""
        return self.commands.get(cmd_name) if self.is_listed or cmd_name not in COMMANDS else loaded(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        self.is_listed = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.is_listed = False

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except SufficeError as error:
            _show(error)
        except MemoryError:
            _show(DataError("there is not enough memory for this; take fewer rows, columns or features"))
        raise typer.Exit(1)


def loaded(name: str) -> Any:
    """Return a command with its options."""
    one = COMMANDS[name]
    module = import_module(f"suffice.cli.{one.module}")
    function: Callable[..., None] = getattr(module, one.function)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(module.command_of(function) if one.module == "questions" else function)
    return typer.main.get_command(alone)


def _show(error: SufficeError) -> None:
    from suffice.present.terminal import show_error

    show_error(error)


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
