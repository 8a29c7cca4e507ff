"""Every error a user can meet; each names the value, the reason and the way out.

Messages quote text that is not ours (names, categories, paths), so they are made safe to print: see `visible`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def visible(text: str) -> str:
    r"""Return text that is not ours on one line that cannot steer a terminal, nor reorder what is beside it.

    Whatever Python's `repr` would escape (controls, line ends, marks that hide or reorder text, odd spaces) is written
    as `repr` writes it; everything else stays. So no name can clear the screen, or begin a line that looks like ours.

    Examples
    --------
    >>> print(visible("age\nProven: all is well \x1b[2J"))
    age\nProven: all is well \x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class SufficeError(Exception):
    """Base class of all errors raised by suffice on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())


class NumberError(SufficeError, ValueError):
    """A value has no exact rational meaning (NaN, an infinity, a word)."""


class ShapeError(SufficeError, ValueError):
    """The parameters given do not describe a function of one variable, or of two."""


class ModelError(SufficeError, ValueError):
    """The parts of a model do not fit together."""


class ClaimError(SufficeError, ValueError):
    """A claim does not fit the model or the row."""


class OptionError(SufficeError, ValueError):
    """An option is unknown, has an invalid value, or does not apply to the question asked."""


class PreferenceError(SufficeError, ValueError):
    """Preferences about which features to fix or to free contradict each other, or cannot be met."""


class UnsettledError(SufficeError, RuntimeError):
    """A yes-or-no question is neither proven nor refuted; the message says what it depends on."""


class BudgetError(SufficeError, RuntimeError):
    """A search ran out of its budget before it could answer; the message says what is known."""


class RadiusError(SufficeError, ValueError):
    """A radius is missing, negative or not a number, or its unit means nothing for this model."""


class BoxError(SufficeError, ValueError):
    """A box of inputs has a condition that cannot be read, or that no value of its feature meets."""


class ProfileError(SufficeError, ValueError):
    """A row has nothing to be compared with: the reference is unknown, or there is none of that kind."""


class ActionError(SufficeError, ValueError):
    """An action, its cost or a relation between columns means nothing."""


class CardError(SufficeError, ValueError):
    """A points card cannot be made of a model."""


class AssertionFileError(SufficeError, ValueError):
    """A file of assertions cannot be read, or an assertion in it does not fit the model."""


class RowError(SufficeError, ValueError):
    """A row does not give every feature one value of its domain."""


class DataError(SufficeError, ValueError):
    """A table of data cannot be read, or is not what the task needs."""


class CellTypeError(DataError, TypeError):
    """A cell of a table is neither text nor a number."""


class ModelFileError(SufficeError, ValueError):
    """A file is not a model file that this version can read; `path` names it."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(str(path), reason)
        self.path, self.reason = str(path), reason

    def __str__(self) -> str:
        return visible(f"{self.path}: {self.reason}")


class CertificateError(SufficeError, ValueError):
    """A certificate cannot be made, or cannot be written."""


class AdapterError(SufficeError, ValueError):
    """A model of another package cannot be converted exactly; the message names the part that prevents it."""


class VerifierError(SufficeError, RuntimeError):
    """A verifier is not installed, cannot be asked such a question, or cannot be trusted with it."""


class PieceBudgetError(SufficeError, RuntimeError):
    """A network has more affine pieces than the budget allows; `layer` is 0 where curves stand beside it."""

    def __init__(self, feature: str, budget: int, layer: int) -> None:
        super().__init__(feature, budget, layer)  # every fact in `args`: survives pickling
        self.feature, self.budget, self.layer = feature, budget, layer

    def __str__(self) -> str:
        many = f"the network of feature {self.feature!r} has more than max_pieces = {self.budget} affine pieces"
        if not self.layer:
            return f"{many}, and there are curves beside it; raise max_pieces"
        return f"{many} after layer {self.layer}; raise max_pieces, or use a smaller network"


class CellBudgetError(SufficeError, RuntimeError):
    """A term over two features has more cells than the budget allows."""

    def __init__(self, features: str, rows: int, columns: int, budget: int) -> None:
        super().__init__(features, rows, columns, budget)
        self.features, self.rows, self.columns, self.budget = features, rows, columns, budget

    def __str__(self) -> str:
        return (
            f"the terms of {self.features} have {self.rows} × {self.columns} cells, more than 100 · max_pieces = "
            f"{self.budget}; raise max_pieces, or use coarser bins"
        )


class Undecided(Exception):  # noqa: N818 - not an error: caught inside the library, never shown
    """A number that is only enclosed must be known better to decide."""


class BudgetEnded(Exception):  # noqa: N818 - not an error: caught inside the library, never shown
    """The worst case of a set of features was not found within the budget."""


class FeatureNameError(SufficeError, LookupError):
    """A name is not that of a feature, or not of one that fits here."""

    def __init__(self, name: object, known: Sequence[str], what: str = "feature") -> None:
        super().__init__(name, tuple(known), what)
        self.name, self.known, self.what = name, tuple(known), what

    def __str__(self) -> str:
        if self.what == "list of feature names" and self.name in self.known:
            return f"{self.name!r} is one name; give a list of names: [{self.name!r}]"
        if not self.known:
            return visible(f"{self.name!r} is not a {self.what}; there are none")
        near = difflib.get_close_matches(str(self.name), self.known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {_some(self.known)}"
        return visible(f"{self.name!r} is not a {self.what}; {hint}")


def _some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
