"""The commands about all rows of a table together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.options import (
    AsJson,
    Categories,
    ModelPath,
    TablePath,
    Unit,
    check_is_other_file,
    file_facts,
    groups_of,
    write_file,
)
from suffice.cli.questions import certificate_of
from suffice.cli.tables import table_at
from suffice.errors import DataError
from suffice.explainer import Explainer
from suffice.layout.told import Told
from suffice.present.terminal import new_console, show_facts, tell

_Counted = Annotated[Unit, typer.Option(help="What the radius counts.")]


def unaffected_command(
    model: ModelPath,
    table: TablePath,
    by: Annotated[
        list[str], typer.Option(metavar="NAME", help="Feature that may take any value; repeat it for a group.")
    ],
    radius: Annotated[str, typer.Option(metavar="NUMBER", help="How far it may move.")] = "inf",
    unit: _Counted = Unit.STD,
    as_json: AsJson = False,
) -> None:
    """Show for which share of a table some features never matter, each predicted class apart."""
    found = Explainer(load_model(model)).unaffected(table_at(table), by, radius, unit=unit.value)
    _show(model, found, as_json=as_json)


def stability_command(
    model: ModelPath,
    table: TablePath,
    radius: Annotated[
        list[str], typer.Option(metavar="NUMBER", help="How far all features may move; may be repeated.")
    ],
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with the true class.")] = None,
    unit: _Counted = Unit.STD,
    categories: Annotated[
        Categories, typer.Option(help="Whether a category may become any other at any radius, or from radius 1 on.")
    ] = Categories.FREE,
    as_json: AsJson = False,
) -> None:
    """Show for which share of a table nothing within a radius changes the prediction."""
    data = table_at(table)
    truth = None if labels is None else data.column(labels)
    asked = {"unit": unit.value, "categories": categories.value}
    found = Explainer(load_model(model)).stability(data, radius, labels=truth, **asked)  # type: ignore[arg-type]
    _show(model, found, as_json=as_json)


def _show(model: Path, found: Told, *, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {"model": file_facts(model), **found.document()}
        typer.echo(to_text(document))
    else:
        show_facts(new_console(), found.facts())


def reasons_command(
    model: ModelPath,
    table: TablePath,
    row: Annotated[
        list[int] | None, typer.Option("--row", help="Row to give reasons for, counted from 0; may be repeated.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Give the reasons of all rows with this decision instead.")
    ] = None,
    reference: Annotated[
        str, typer.Option(metavar="typical|best|ROW", help="What to compare with; the number of a row is a profile.")
    ] = "typical",
    immutable: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Feature that is never a reason; may be repeated.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="NAME=A,B", help="Features that count as one; may be repeated.")
    ] = None,
    codes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts and codes for features, in TOML; prints letters.")
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="Print letters as HTML.")] = False,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the certificate of one row's reasons here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the fewest factors that would have changed a decision, had they been as in a reference."""
    from suffice.decisions.letter import read_codes

    if bool(row) == (outcome is not None):
        raise typer.BadParameter("give either rows or a decision", param_hint="--row, --outcome")
    if certificate is not None and len(row or []) != 1:
        raise typer.BadParameter("is of one row; give one --row", param_hint="--certificate")
    explainer, data = Explainer(load_model(model)), table_at(table)
    portfolio = explainer.portfolio(data)
    given: dict[str, Any] = {"immutable": immutable or [], "groups": groups_of(group or [])}
    against: Any = portfolio.row(_row_number(reference, len(portfolio))) if reference.isdigit() else reference
    if outcome is not None:
        _show(model, explainer.reasons_batch(portfolio, outcome, against, **given), as_json=as_json)
        return
    texts = None if codes is None else read_codes(codes)
    found = [
        (k, explainer.reasons(portfolio.row(_row_number(str(k), len(portfolio))), against, table=portfolio, **given))
        for k in row or []
    ]
    if certificate is not None:
        certificate_of(found[0][1], model).save(certificate)
    if as_json:
        typer.echo(to_text({"model": file_facts(model), "answers": [{"row": k, **one.document()} for k, one in found]}))
        return
    for place, (k, one) in enumerate(found):
        if html:
            typer.echo(one.letter(texts).html, nl=False)
        elif texts is not None:
            typer.echo(("\n" if place else "") + one.letter(texts).text, nl=False)
        else:
            tell(f"Row {k}")
            show_facts(new_console(), one.facts())


def contributions_command(
    model: ModelPath,
    table: TablePath,
    row: Annotated[list[int], typer.Option("--row", help="Row to look at, counted from 0; may be repeated.")],
    reference: Annotated[
        str, typer.Option(metavar="average|ROW", help="What to compare with; the number of a row is a profile.")
    ] = "average",
    as_json: AsJson = False,
) -> None:
    """Show what each feature adds to the score of a row, compared with the average row of the table."""
    explainer = Explainer(load_model(model))
    portfolio = explainer.portfolio(table_at(table))
    against: Any = portfolio.row(_row_number(reference, len(portfolio))) if reference.isdigit() else reference
    rows = [(k, portfolio.row(_row_number(str(k), len(portfolio)))) for k in row]
    found = [(k, explainer.contributions(values, against, table=portfolio)) for k, values in rows]
    _show_rows(model, found, as_json=as_json)


def recourse_command(
    model: ModelPath,
    table: TablePath,
    actions: Annotated[
        Path, typer.Argument(help="What can be done about features, and at what cost, in TOML.", show_default=False)
    ],
    row: Annotated[
        list[int] | None, typer.Option("--row", help="Row to find changes for, counted from 0; may be repeated.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="What to reach; without rows, for all rows that are decided otherwise."),
    ] = None,
    alternatives: Annotated[int, typer.Option(min=0, max=100, help="Other sets of changes to list.")] = 0,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what the model decides after the changes here, as a proof."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the cheapest changes that lead to another decision, proven, or that there are none."""
    from suffice.decisions.actions import load_actions

    if not row and outcome is None:
        raise typer.BadParameter("give rows, a decision to reach, or both", param_hint="--row, --outcome")
    if certificate is not None and len(row or []) != 1:
        raise typer.BadParameter("is of one row; give one --row", param_hint="--certificate")
    able, relations = load_actions(actions)
    explainer, data = Explainer(load_model(model)), table_at(table)
    portfolio = explainer.portfolio(data)
    if not row:
        _show(model, explainer.recourse_batch(portfolio, able, outcome, relations=relations), as_json=as_json)
        return
    given: dict[str, Any] = {"relations": relations, "alternatives": alternatives, "table": portfolio}
    rows = [(k, portfolio.row(_row_number(str(k), len(portfolio)))) for k in row]
    found = [(k, explainer.recourse(values, able, outcome, **given)) for k, values in rows]
    if certificate is not None:
        certificate_of(found[0][1], model).save(certificate)
    _show_rows(model, found, as_json=as_json)


def card_command(
    model: ModelPath,
    table: TablePath,
    lines: Annotated[int, typer.Option(min=0, max=1000, help="Lines of the card, at most.")] = 60,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the card as CSV, too.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the card as a page to print, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a points card that decides with proof, or says to ask the model."""
    found = Explainer(load_model(model)).card(table_at(table), lines)
    for path, text in ((csv, found.csv), (html, found.html)):
        if path is not None:
            check_is_other_file(path, model=model, table=table)
            write_file(path, text)
    _show(model, found, as_json=as_json)


_Conditions = Annotated[int, typer.Option(min=1, max=100, help="Features that a rule may speak of, at most.")]


def rule_command(
    model: ModelPath,
    table: TablePath,
    row: Annotated[int, typer.Option("--row", help="Row that the rule is about, counted from 0.")],
    conditions: _Conditions = 4,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the proof of the rule here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the most general rule about a row, proven: few conditions under which all are decided as it is."""
    explainer, data = Explainer(load_model(model)), table_at(table)
    portfolio = explainer.portfolio(data)
    values = portfolio.row(_row_number(str(row), len(portfolio)))
    found = explainer.rule(values, portfolio, conditions=conditions)
    if certificate is not None:
        certificate_of(found, model).save(certificate)
    _show(model, found, as_json=as_json)


def rules_command(
    model: ModelPath,
    table: TablePath,
    conditions: _Conditions = 4,
    most: Annotated[int, typer.Option(min=1, max=1000, help="Rules, at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what rules of few conditions can cover of a table at most, and rules that do, each proven."""
    _show(model, Explainer(load_model(model)).rules(table_at(table), conditions=conditions, most=most), as_json=as_json)


def _show_rows(model: Path, found: Sequence[tuple[int, Any]], *, as_json: bool) -> None:
    """Print what was found for each of some rows."""
    if as_json:
        typer.echo(to_text({"model": file_facts(model), "answers": [{"row": k, **one.document()} for k, one in found]}))
        return
    for k, one in found:
        tell(f"Row {k}")
        show_facts(new_console(), one.facts())


def _row_number(text: str, rows: int) -> int:
    number = int(text)
    if not 0 <= number < rows:
        raise DataError(f"there is no row {text}; the {rows} rows of the table count from 0")
    return number
