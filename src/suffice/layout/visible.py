"""Text that is not ours, made safe to print."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return a text on one line that cannot steer a terminal: names, classes, categories, paths, messages.

    Whatever Python's `repr` would escape (controls, line ends, marks that hide or reorder text, odd spaces) is written
    as `repr` writes it; everything else stays. So no name can clear the screen, or begin a line that looks like ours.

    Examples
    --------
    >>> print(visible("age\nProven: all is well \x1b[2J"))
    age\nProven: all is well \x1b[2J
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
