"""Results on a terminal, in columns that fit it: what the commands and the demo print for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import typer
from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from suffice.answers import Answer
from suffice.errors import SufficeError, visible
from suffice.layout.facts import Fact, Facts
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.numbers.exact import Rational, in_digits
from suffice.present.models import kinds, pair_kinds
from suffice.question.documents import Json

_HANGING = 2


def new_console() -> Console:
    """Return a console that takes text as it is."""
    return Console(highlight=False, emoji=False)


def grid_of(*styles: str) -> Grid:
    """Return a grid to fill, with a column for each style."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for style in styles:
        grid.add_column(style=style, overflow="fold")
    return grid


def put(console: Console, what: RenderableType, indent: int = 0) -> None:
    """Print without the spaces that rich fills lines up with.

    What continues a line is indented, so that no name can be long enough to begin a line that looks like ours.
    """
    if isinstance(what, Text) and len(lines := what.wrap(console, max(console.width - indent - _HANGING, 1))) > 1:
        put(console, lines[0], indent)
        for more in lines[1:]:
            put(console, more, indent + _HANGING)
        return
    with console.capture() as captured:
        console.print(Padding(what, (0, 0, 0, indent)))
    for line in captured.get().splitlines():
        console.out(line.rstrip(), highlight=False)


def tell(text: str, *, err: bool = False) -> None:
    """Print a line with names or paths in it."""
    typer.echo(visible(text), err=err)


def show_error(error: SufficeError) -> None:
    """Print an error on stderr, on one line."""
    typer.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    tell(str(error), err=True)


# --- answers ----------------------------------------------------------------------------------------------------------


def show_answer(console: Console, title: str, answer: Answer) -> None:
    """Print what `print(answer)` says, tables in full and in columns that fit."""
    put(console, Text(visible(title), style="bold"))
    show_facts(console, answer.facts())


def show_facts(console: Console, facts: Facts) -> None:
    """Print facts: a sentence each, tables in full and in columns that fit."""
    for fact in facts:
        if isinstance(fact, Fact):
            put(
                console,
                Text.assemble((f"{visible(fact.label)}:", _label_style(fact)), f" {visible(fact.text)}"),
            )
            continue
        grid = grid_of("cyan", *[""] * (len(fact.rows[0].cells) - 1))
        for row in fact.rows:
            grid.add_row(*(Text(visible(cell)) for cell in row.cells))
        put(console, grid, indent=2)


def _label_style(fact: Fact) -> str:
    styles = {"PROVEN": "bold green", "REFUTED": "bold red", "UNKNOWN": "bold yellow"}
    return styles.get(fact.label.upper(), "bold")


# --- models -----------------------------------------------------------------------------------------------------------


def show_model(console: Console, compiled: Compiled, file: Json) -> None:
    """Print what a model is, with a line for each feature and each pair, and the path, size and hash of its file."""
    model = compiled.model
    facts = {
        "task": model.task,
        "classes": _classes(model),
        "intercept": ", ".join(_short(value) for value in model.intercept),
        "features": str(len(model.features)),
        "pairs": str(len(compiled.pairs)) if compiled.pairs else "",
        **_file_facts(file),
    }
    _show_facts(console, facts)
    console.print()
    _show_features(console, compiled)
    if compiled.pairs:
        console.print()
        _show_pairs(console, compiled)


def _classes(model: AdditiveModel) -> str:
    if model.task != "binary":
        return ", ".join(str(name) for name in model.classes)
    below, above = ("below 0", "from 0 up") if model.ties == "positive" else ("up to 0", "above 0")
    return f"{model.classes[0]} (score {below}), {model.classes[1]} ({above})"


def _show_features(console: Console, compiled: Compiled) -> None:
    model = compiled.model
    grid = _listing(("feature", "domain", "shape"), ("pieces", "center", "scale"))
    for feature, domain, term, pieces in zip(model.features, model.domains, model.mains, compiled.pieces, strict=True):
        has_numbers = bool(domain.spans)
        counts = [one.count for one in pieces]
        count = "many" if None in counts else str(sum(one for one in counts if one is not None))
        grid.add_row(
            Text(visible(feature.name)),
            Text(textwrap.shorten(visible(str(domain)), 60, placeholder=" ...")),
            _counted(kinds(term.shape)),
            count if has_numbers else "-",
            _short(feature.center) if has_numbers else "-",
            _short(feature.scale) if has_numbers else "-",
        )
    put(console, grid, indent=2)  # a long name goes on below itself, and must not begin a line


def show_domains(console: Console, model: AdditiveModel) -> None:
    """Print what each feature can be."""
    grid = _listing(("feature", "can be"), ())
    for name, domain in zip(model.names, model.domains, strict=True):
        grid.add_row(Text(visible(name)), Text(visible(str(domain))))
    put(console, grid, indent=2)


def _show_pairs(console: Console, compiled: Compiled) -> None:
    model = compiled.model
    grid = _listing(("pair", "", "shape"), ("cells",))
    for (i, j), pieces in compiled.pairs:
        cells = sum(one.constants.size for one in pieces)
        names = (Text(visible(model.names[k])) for k in (i, j))
        grid.add_row(*names, _counted(pair_kinds(model, i, j)), str(cells))
    put(console, grid, indent=2)


def _listing(texts: Sequence[str], numbers: Sequence[str]) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for k, title in enumerate(texts):
        grid.add_column(title, overflow="fold", style="cyan" if k == 0 or not title else "")
    for title in numbers:
        grid.add_column(title, justify="right", no_wrap=True)
    return grid


def _counted(words: Iterable[str]) -> str:
    return " + ".join(f"{n} x {kind}" if n > 1 else kind for kind, n in Counter(words).items())


def show_training(console: Console, document: Json, model: AdditiveModel) -> None:
    """Print the document of a training; `model` is what came out of it."""
    categories = sum(not domain.spans for domain in model.domains)
    facts = {
        "rows": f"{document['rows']:,}",
        "features": f"{len(model.features)}" + (f", {categories} of them categories" if categories else ""),
        "uses": "" if document["features"] == document["columns"] else ", ".join(document["features"]),
        "pairs": "; ".join(" and ".join(pair) for pair in document["pairs"]),
        "target": f"{document['target']} ({model.task})",
        "classes": ", ".join(str(name) for name in model.classes),
        "calibrated": _calibration(document["calibration"]),
        "trained": (f"{document['epochs']} epochs " if "epochs" in document else "")
        + f"in {document['seconds']:.1f} s",
        **_scores(document),
        **_trade_off(document["trade_off"]),
        "loss": _loss(document),
        **_file_facts(document["model"]),
    }
    for doubt in document["doubts"]:
        put(console, Text.assemble(("Doubt:", "bold yellow"), f" {visible(doubt)}"))
    _show_facts(console, facts)


def _calibration(found: Json | None) -> str:
    """Return what was done to the scores so that probabilities agree with what happens."""
    if found is None:
        return ""
    if found["slope"] == 1 and not any(found["shift"]):
        return "not at all: nothing shows that a line of the scores would bring probabilities closer to what happens"
    return f"scores times {found['slope']:.4g}, plus {', '.join(f'{shift:.4g}' for shift in found['shift'])}"


def _scores(document: Json) -> dict[str, str]:
    """Return how well the model predicts rows that were held back, beside a linear model and the simplest guess."""
    return {
        one["name"]: f"{one['model']:.3f} on rows held back (linear model {one['linear']:.3f}, simplest guess "
        f"{one['guess']:.3f})"
        for one in document["scores"]
    }


def _trade_off(found: Json | None) -> dict[str, str]:
    """Return the weight that was chosen for short explanations, and what was tried."""
    if found is None:
        return {}
    facts = {"weight": f"{found['explanation_weight']:g} for short explanations, of those tried on parts of the rows"}
    for one in found["tried"]:
        size = "" if one["size"] is None else f", explanations of {one['size']:.2f} features"
        facts[f"at {one['weight']:g}"] = f"{found['scoring']} {one['score']:.4f}{size}"
    return facts


def _loss(document: Json) -> str:
    """Return the loss that networks were left with, of the rows that it is of."""
    if "validation_loss" in document:
        return f"{document['validation_loss']:.4g} on the validation rows"
    if "training_loss" in document:
        return f"{document['training_loss']:.4g} on the training rows (too few rows to hold any back)"
    return ""


def _show_facts(console: Console, facts: Mapping[str, str]) -> None:
    grid = grid_of("bold", "")
    for name, fact in facts.items():
        if fact:
            grid.add_row(name, Text(visible(fact)))
    put(console, grid)


def _file_facts(file: Json) -> dict[str, str]:
    return {"file": f"{file['path']}, {decimal(file['bytes'])}", "SHA-256": file["sha256"]}


# --- numbers ----------------------------------------------------------------------------------------------------------


def _short(value: Rational) -> str:
    return in_digits(value, 4)
