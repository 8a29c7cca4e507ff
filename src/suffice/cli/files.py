"""Commands about files: what a model file holds, and whether certificates prove what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.options import AsJson, ModelPath, file_facts
from suffice.explainer import Explainer
from suffice.present.models import model_document
from suffice.present.terminal import new_console, show_model


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
