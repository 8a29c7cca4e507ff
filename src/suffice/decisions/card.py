"""A points card: lines with points that add up to a proven decision, or to "ask the model".

In: a compiled model of two classes, a table, a number of lines. Out: a `Card`. Each line says of a range of values how
many points they bring for sure, and how many at most; both are whole numbers, rounded so that they hold for every value
of the line. So a total of sure points that is high enough proves the one decision, a total of most points that is low
enough the other, whatever the values are. Features without a line count with the least and the most that they can add.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.answers.documents import number_document
from suffice.certificate.document import Certificate
from suffice.certificate.ranges import certify_ranges
from suffice.core.case import Case
from suffice.decisions.binning import cuts_of, shared_out
from suffice.decisions.cells import Cell, cells_of, together
from suffice.decisions.rows import Portfolio, each_value
from suffice.decisions.shares import Share
from suffice.decisions.words import failed_facts
from suffice.errors import CardError, CertificateError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.html import escaped, page
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.numbers.exact import Rational, rational, to_fraction
from suffice.numbers.values import MISSING, Value
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.question.row import read_row

_MOST_POINTS = 1000
_PRINT = """
body.suffice { max-width: none; } .suffice table { page-break-inside: auto; } .suffice tr { page-break-inside: avoid; }
.suffice td.points { text-align: right; font-variant-numeric: tabular-nums; } @page { margin: 1.5cm; }
"""


class Line(NamedTuple):
    """Values of a feature, by index, the points that they bring for sure, and those that they bring at most."""

    feature: int
    cell: Cell
    sure: int
    most: int


@dataclass(frozen=True)
class Card(Told):
    """A card that decides with proof, or says to ask the model.

    Parameters
    ----------
    compiled : Compiled
        The model.
    lines : tuple of Line
        By feature, in the order of the model.
    unit : Rational
        How much of the score a point is.
    enough : int
        A total of sure points from which on the second class is proven.
    too_few : int
        A total of most points up to which the first class is proven.
    shares : mapping
        For each class the share of the table's rows predicted so that the card decides.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([20, 40], [-2, 0, 2]), Steps([3], [1, -1])]
    >>> explainer = Explainer(AdditiveModel(shapes, -1, features=["income", "late"], classes=["no", "yes"]))
    >>> card = explainer.card(np.array([[10, 1], [30, 5], [50, 0], [50, 4]]), lines=5)
    >>> card.decides([50, 0]), card.decides([10, 5]), str(card.share)
    ('yes', 'no', '100.0 % (4 of 4)')
    """

    compiled: Compiled
    lines: tuple[Line, ...]
    unit: Rational
    enough: int
    too_few: int
    shares: Mapping[Any, Share]
    failed: Mapping[int, str]

    @property
    def share(self) -> Share:
        """The share of the table's rows that the card decides."""
        return Share(sum(one.count for one in self.shares.values()), sum(one.rows for one in self.shares.values()))

    def lines_of(self, x: Any) -> tuple[Line, ...]:
        """Return the lines that hold for a row."""
        row = read_row(self.compiled.model, x)
        return tuple(line for line in self.lines if line.cell.holds(row[line.feature]))

    def decides(self, x: Any) -> Any:
        """Return the class that the card proves for a row; None where the model must be asked."""
        some, classes = self.lines_of(x), self.compiled.model.classes
        if sum(line.sure for line in some) >= self.enough:
            return classes[1]
        return classes[0] if sum(line.most for line in some) <= self.too_few else None

    def certificate(self, x: Any, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that whatever is on the same lines as a row is decided as the card says.

        Raises
        ------
        CertificateError
            If the card does not decide it, or a line joins special codes with other values.
        """
        if self.decides(x) is None:
            raise CertificateError("the card does not decide this row; the model must be asked")
        case = Case.of(self.compiled, Question.read(self.compiled.model, "inf", unit="raw"), x)
        names, domains = self.compiled.model.names, self.compiled.model.domains
        ranges = [(i, cell.as_range(names[i], domains[i])) for i, cell, _, _ in self.lines_of(x)]
        return certify_ranges(case, ranges, False, model_file)

    def on(self, portfolio: Portfolio) -> Card:
        """Return the same card with the shares of another table, as `Explainer.portfolio` reads it."""
        columns, readable = columns_of(portfolio), portfolio.readable()
        sure, most = (np.zeros(int(readable.sum()), dtype=np.int64) for _ in range(2))
        for i in dict.fromkeys(line.feature for line in self.lines):
            own = [line for line in self.lines if line.feature == i]
            points = {x: next((line.sure, line.most) for line in own if line.cell.holds(x)) for x in set(columns[i])}
            sure += np.array([points[x][0] for x in columns[i]], dtype=np.int64)
            most += np.array([points[x][1] for x in columns[i]], dtype=np.int64)
        shares = {}
        for k, name in enumerate(self.compiled.model.classes):
            is_so, is_decided = portfolio.predicts(k)[readable], sure >= self.enough if k else most <= self.too_few
            shares[name] = Share(int((is_decided & is_so).sum()), int(is_so.sum()))
        return replace(self, shares=shares, failed=portfolio.failed)

    # --- as it is printed ---------------------------------------------------------------------------------------------

    def facts(self) -> Facts:
        """Return how to use the card, its lines, and how much of the table it decides."""
        names = self.compiled.model.names
        rows = tuple(Row((names[i], str(cell), str(sure), str(most))) for i, cell, sure, most in self.lines)
        decided = [Fact("Decided", f"{self.share} of the table's rows, with proof.")]
        each = Grid(("predicted", "decided"), tuple(Row((str(name), str(one))) for name, one in self.shares.items()))
        return (
            *(Fact(*one) for one in self._rules()),
            Fact("Columns", "feature, value, sure points, most points"),
            Grid(("feature", "value", "sure", "most"), rows),
            *decided,
            each,
            *failed_facts(self.failed),
        )

    def _rules(self) -> list[tuple[str, str]]:
        no, yes = self.compiled.model.classes
        return [
            ("How to use", "add up the points of the lines that hold, one of each feature, each column for itself."),
            ("Proven", f"sure points of {self.enough} or more: {yes}; most points of {self.too_few} or less: {no}."),
            ("Else", "ask the model."),
        ]

    @property
    def csv(self) -> str:
        """The lines as CSV: feature, values, sure points, most points; the last two lines are the totals to reach.

        A name that a spreadsheet would take for a formula begins with an apostrophe.
        """
        names, (no, yes) = self.compiled.model.names, self.compiled.model.classes
        text = io.StringIO()
        write = csv.writer(text, lineterminator="\n")
        write.writerow(["feature", "value", "sure", "most"])
        for i, cell, sure, most in self.lines:
            values = _no_formula(str(cell)) if any(isinstance(label, str) for label in cell.labels) else str(cell)
            write.writerow([_no_formula(names[i]), values, sure, most])
        write.writerow([_no_formula(f"{yes}, at least"), "", self.enough, ""])
        write.writerow([_no_formula(f"{no}, at most"), "", "", self.too_few])
        return text.getvalue()

    @property
    def html(self) -> str:
        """The card as a page to print."""
        names = self.compiled.model.names
        told = "".join(f"<p><strong>{escaped(label)}:</strong> {escaped(text)}</p>" for label, text in self._rules())
        rows, before = [], -1
        for i, cell, sure, most in self.lines:
            name = f'<th scope="row">{escaped(names[i])}</th>' if i != before else "<td></td>"
            points = "".join(f'<td class="points">{number}</td>' for number in (sure, most))
            rows.append(f"<tr>{name}<td>{escaped(str(cell))}</td>{points}</tr>")
            before = i
        head = "<tr><th>feature</th><th>value</th><th>sure</th><th>most</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
        return page("Points card", told + table, _PRINT)

    def document(self) -> Json:
        """Return the card as JSON."""
        names = self.compiled.model.names
        return {
            "kind": "card",
            "unit": number_document(to_fraction(self.unit)),
            "enough": self.enough,
            "too_few": self.too_few,
            "lines": [
                {"feature": names[i], "value": str(cell), "sure": sure, "most": most}
                for i, cell, sure, most in self.lines
            ],
            "shares": [{"class": class_document(name), **one.document()} for name, one in self.shares.items()],
            "failed": {str(k): text for k, text in self.failed.items()},
        }


def card(portfolio: Portfolio, lines: int) -> Card:
    """Return a card of so many lines at most, made for the rows of a table."""
    compiled, model = portfolio.compiled, portfolio.compiled.model
    cells = all_cells(portfolio, "cards")
    cuts = shared_out([cuts_of(ranges, labels) for ranges, labels in cells], lines)
    whole = [together([*ranges, *labels]) for ranges, labels in cells]
    unit = _nice(sum((one.most - one.least for one in whole), rational(0)) / _MOST_POINTS)
    base_sure = base_most = model.intercept[0]
    made: list[Line] = []
    for i, (cut, one) in enumerate(zip(cuts, whole, strict=True)):
        if not cut.lines:
            base_sure, base_most = base_sure + one.least, base_most + one.most
            continue
        sure = [int((cell.least / unit).floor()) for cell in cut.lines]
        most = [int((cell.most / unit).ceil()) for cell in cut.lines]
        # Points count from the fewest of a feature on: what is taken away here goes into the totals to reach.
        base_sure, base_most = base_sure + unit * min(sure), base_most + unit * min(most)
        made += [Line(i, cell, a - min(sure), b - min(most)) for cell, a, b in zip(cut.lines, sure, most, strict=True)]
    is_strict = model.ties != "positive"
    enough = (-base_sure / unit).floor() + 1 if is_strict else (-base_sure / unit).ceil()
    too_few = (-base_most / unit).floor() if is_strict else (-base_most / unit).ceil() - 1
    found = Card(compiled, tuple(made), unit, int(enough), int(too_few), {}, {})
    return found.on(portfolio)


def all_cells(portfolio: Portfolio, what: str) -> list[tuple[list[Cell], list[Cell]]]:
    """Return the ranges and labels of each feature; an error if what is to be made of them cannot be."""
    compiled, model = portfolio.compiled, portfolio.compiled.model
    if model.task != "binary":
        raise CardError(f"{what} decide between two classes, and this model has not two")
    model.refuse_pairs(what, CardError)
    each = zip(model.names, model.domains, compiled.oriented((1,)), columns_of(portfolio), strict=True)
    return [cells_of(*one) for one in each]


def columns_of(portfolio: Portfolio) -> list[list[Value]]:
    """Return the values of each feature in the rows that can be read."""
    readable, unread = np.flatnonzero(portfolio.readable()).tolist(), cast("Value", MISSING)
    found = []
    for column, domain in zip(portfolio.source.columns, portfolio.compiled.model.domains, strict=True):
        values = each_value(column, domain, lambda value: value, otherwise=unread)
        found.append([values[k] for k in readable])
    return found


def _nice(size: Rational) -> Rational:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a number; 1 for 0."""
    if not size:
        return rational(1)
    power = rational(1)
    while power > size:
        power /= 10
    while power * 10 <= size:
        power *= 10
    return max(power * k for k in (1, 2, 5) if power * k <= size)


def _no_formula(text: str) -> str:
    """Return text of strangers so that spreadsheets take it for text, whatever it begins with."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
