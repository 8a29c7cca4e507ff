"""Write the table of options into docs/questions.md, from the code itself: what each face really takes.

    .venv/bin/python scripts/write_options_table.py

Python is asked for what a search honours, the command line for the options of its commands, HTTP for its description,
and the batch for what `explain_batch` and `suffice batch` take.
"""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import httpx

from suffice import AdditiveModel, Explainer, Steps
from suffice.cli.app import loaded
from suffice.question.claims import CLAIMS
from suffice.question.question import OPTIONS
from suffice.search.registry import SEARCHES
from suffice.serve.app import create_app

PAGE = Path(__file__).parent.parent / "docs" / "questions.md"
BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"
SPELLED = {"groups": "group"}  # options that may be repeated, each time for one


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_table(PAGE.read_text()))


def with_table(page: str) -> str:
    """Return a page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """Return the table: a row for each question, a column for each option, and the reasons for what is refused."""
    http = http_fields()
    lines = [
        "| | " + " | ".join(f"`{name}`" for name in OPTIONS) + " |",
        "| --- |" + " --- |" * len(OPTIONS),
    ]
    reasons: dict[str, int] = {}
    for name, search in SEARCHES.items():
        cells = []
        for option in OPTIONS:
            faces = faces_of(name, option, http)
            if faces:
                cells.append(" ".join(faces))
            else:
                cells.append(f"– ({reasons.setdefault(search.refuses[option], len(reasons) + 1)})")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    lines += [
        "",
        "P: Python; C: command line; H: HTTP; B: batch (`explain_batch` and `suffice batch`). –: refused, because",
        "",
        *(f"{number}. {reason};" for reason, number in reasons.items()),
    ]
    return "\n".join(lines)[:-1] + "."


def faces_of(name: str, option: str, http: dict[str, set[str]]) -> list[str]:
    """Return the faces through which a question takes an option."""
    faces = []
    method = inspect.signature(getattr(Explainer, name)).parameters
    if option in SEARCHES[name].honours and "options" in method:
        faces.append("P")
    if cli_option(option) & cli_options(name):
        faces.append("C")
    if option in http[name]:
        faces.append("H")
    is_batch = "options" in inspect.signature(Explainer.explain_batch).parameters and name == "explain"
    if is_batch and cli_option(option) & cli_options("batch"):
        faces.append("B")
    return faces


def cli_option(option: str) -> set[str]:
    """Return how the command line spells an option; a claim is an option for each kind."""
    if option == "claim":
        return {f"--{kind.replace('_', '-')}" for kind, claim in CLAIMS.items() if claim.field_names()}
    return {f"--{SPELLED.get(option, option).replace('_', '-')}"}


def cli_options(name: str) -> set[str]:
    """Return the options of a command."""
    return {spelled for parameter in loaded(name).params for spelled in parameter.opts}


def http_fields() -> dict[str, set[str]]:
    """Return the fields of the body of each question's endpoint, as the server describes them."""
    explainer = Explainer(AdditiveModel([Steps([0], [0, 1])]))

    async def described() -> Any:
        transport = httpx.ASGITransport(create_app(explainer))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.get("/openapi.json")).json()

    description = asyncio.run(described())
    found = {}
    for name in SEARCHES:
        schema = description["paths"][f"/v1/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        while "$ref" in schema:
            schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        found[name] = set(schema["properties"])
    return found


if __name__ == "__main__":
    main()
