"""What users say that columns can be, in a few words: on the command line and in a small file.

age = "18:99"                     # a range; either end may be left out
dependents = "integer"            # whole numbers, in the range there is
amount = "integer 0:50000"
balance = "number"                # any number of the range, also where only whole ones were seen
score = "any"                     # every number
purpose = ["car", "education"]    # the categories that can occur
rating = "low < middle < high"    # all categories, in their order
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from flint import fmpq

from suffice.errors import DataError, FeatureNameError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, format_value
from suffice.model.observed import limited, reals_without
from suffice.numbers.exact import Rational, brief, nearest_float, rational

Said: TypeAlias = str | list[str]

_FORM = "write a range such as 0:10, 'integer', 'integer 0:10', 'number' or 'any', list categories, or 'low < high'"


def read_domains_file(path: Path) -> dict[str, Said]:
    """Return what a file says of columns, by name."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: is not a TOML file ({error})") from None
    for name, words in said.items():
        if not isinstance(words, str) and not (isinstance(words, list) and all(isinstance(w, str) for w in words)):
            raise DataError(f"{path}: {name!r} is {brief(words)}; {_FORM}")
    return said


def stated_domains(model: AdditiveModel, said: Mapping[str, Said | Sequence[str]]) -> dict[str, Domain]:
    """Return the domains of the features of which something is said.

    Raises
    ------
    FeatureNameError
        If there is no such feature.
    DataError
        If what is said means nothing for it.

    Examples
    --------
    >>> from suffice import Feature, Steps
    >>> model = AdditiveModel([Steps([18], [-1, 2])], features=[Feature("age", Domain.integers(19, 75))])
    >>> print(stated_domains(model, {"age": "18:"})["age"])
    the integers from 18 to 75
    """
    domains = dict(zip(model.names, model.domains, strict=True))
    for name in said:
        if name not in domains:
            raise FeatureNameError(name, model.names)
    return {name: _stated(name, domains[name], words) for name, words in said.items()}


def _stated(name: str, domain: Domain, said: Said | Sequence[str]) -> Domain:
    if not isinstance(said, str):
        return _chosen(name, domain, said)
    if not domain.spans and "<" in said:
        return _in_order(name, domain, said)
    if not domain.spans:
        raise DataError(
            f"{name!r} holds categories and has no range; list those that can occur, or their order: low < high"
        )
    words = said.split()
    kind = words.pop(0) if words and words[0] in ("integer", "number", "any") else ""
    if len(words) > 1 or not (kind or words) or (kind == "any" and words) or (words and words[0].count(":") != 1):
        raise DataError(f"{name!r} is said to be {said!r}; {_FORM}")
    was_whole = all(span.is_integers for span in domain.spans)
    is_whole = kind == "integer" or (kind == "" and was_whole)
    low, high = _ends(name, words[0], domain) if words else (None, None) if kind == "any" else _outer(domain)
    codes = [nearest_float(code) for code in domain.codes_ if isinstance(code, fmpq)]
    spans = limited(reals_without(codes).spans, low, high, is_whole=is_whole)
    if not spans:
        raise DataError(f"{name!r} is said to be {said!r}: there is no such number; give the smaller end first")
    return replace(domain, spans=spans)


def _chosen(name: str, domain: Domain, said: Sequence[str]) -> Domain:
    known = {format_value(category): category for category in domain.categories_}
    for word in said:
        if word not in known:
            raise FeatureNameError(word, tuple(known), what=f"category of {name!r}")
    chosen = [known[word] for word in dict.fromkeys(said)]
    if domain.is_ordered:
        chosen.sort(key=domain.categories_.index)
    return replace(domain, categories_=tuple(chosen))


def _in_order(name: str, domain: Domain, said: str) -> Domain:
    """Return a domain whose categories are in an order, as `low < middle < high` says it."""
    known = {format_value(category): category for category in domain.categories_}
    named = _split(said.split("<"), known)
    if named is None:
        shown = ", ".join(known)
        raise DataError(
            f"{name!r} is said to be {said!r}; write its categories as a < b < c, each of them one of {shown}"
        )
    twice = [word for word in named if named.count(word) > 1]
    if twice:
        raise DataError(f"{name!r} is said to be {said!r}; {twice[0]!r} can stand in one place only")
    absent = [word for word in known if word not in named]
    if absent:
        raise DataError(f"the order of {name!r} leaves out {absent[0]!r}; give every category a place")
    return replace(domain, categories_=tuple(known[word] for word in named), is_ordered=True)


def _split(parts: Sequence[str], known: Mapping[str, object]) -> list[str] | None:
    """Return the names that some parts make, in which a name may hold the sign between them; None if there are none."""
    ways: list[list[str] | None] = [[]]  # for the first parts, one more each time
    for end in range(1, len(parts) + 1):
        found = None
        for start in range(end):
            before, name = ways[start], "<".join(parts[start:end]).strip()
            if before is not None and name in known:
                found = [*before, name]
                break  # the longest name, of which others may be parts
        ways.append(found)
    return ways[-1]


def _outer(domain: Domain) -> tuple[Rational | None, Rational | None]:
    """Return the ends of a domain's numbers."""
    lows = [span.low for span in domain.spans if span.low is not None]
    highs = [span.high for span in domain.spans if span.high is not None]
    is_open = len(lows) < len(domain.spans), len(highs) < len(domain.spans)
    return None if is_open[0] else min(lows), None if is_open[1] else max(highs)


def _ends(name: str, words: str, domain: Domain) -> tuple[Rational | None, Rational | None]:
    """Return the ends of a range as it is written; one that is left out stays as it is, `inf` is none."""
    before = _outer(domain)
    return tuple(  # type: ignore[return-value]
        _end(name, text, infinity) if text else known
        for text, known, infinity in zip(words.split(":"), before, ("-inf", "inf"), strict=True)
    )


def _end(name: str, text: str, infinity: str) -> Rational | None:
    if text == infinity:
        return None
    try:
        return rational(text)
    except NumberError as error:
        raise DataError(f"the range of {name!r}: {error}") from None


def said_in_options(
    integers: Sequence[str] | None, ranges: Sequence[str] | None, orders: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return what is said by `--integer NAME`, `--range NAME=LOW:HIGH` and `--ordered NAME=A<B<C`."""
    said: dict[str, Any] = dict.fromkeys(integers or (), "integer")
    for text in ranges or ():
        name, equals, words = text.rpartition("=")
        if not equals or not name:
            raise DataError(f"--range {text}: write a column and its range, such as --range 'age=18:99'")
        said[name] = f"integer {words}" if name in said else words
    for text in orders or ():
        name, equals, words = text.partition("=")
        if not equals or not name or "<" not in words:
            raise DataError(
                f"--ordered {text}: write a column and its order, such as --ordered 'rating=low<middle<high'"
            )
        said[name] = words
    return said
