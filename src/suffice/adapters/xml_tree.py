"""XML read with limits: nothing is expanded or fetched, and neither size, depth nor number of elements is unbounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from suffice.errors import AdapterError

_MOST_CHARACTERS = 64_000_000
_MOST_ELEMENTS = 2_000_000
_DEEPEST = 100


@dataclass(slots=True)
class Element:
    """An element: its name without a namespace, its attributes, the text and the elements inside."""

    name: str
    attributes: dict[str, str]
    inside: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside."""
        return "".join(self.texts)

    def all(self, *names: str) -> list[Element]:
        """Return the elements directly inside that have one of some names."""
        return [one for one in self.inside if one.name in names]

    def first(self, name: str) -> Element | None:
        """Return the first element directly inside that has a name."""
        return next((one for one in self.inside if one.name == name), None)


def read_xml(text: str) -> Element:
    """Return the outermost element of a document.

    Raises
    ------
    AdapterError
        If it is not XML, is too large, or declares a document type, by which entities could be defined.
    """
    if len(text) > _MOST_CHARACTERS:
        raise AdapterError(f"the XML has {len(text)} characters; up to {_MOST_CHARACTERS} are read")
    outside = Element("", {})
    path, count = [outside], 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > _MOST_ELEMENTS or len(path) > _DEEPEST:
            raise AdapterError("the XML has more elements, or deeper ones, than any model needs; it is not read")
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        element = Element(name.rpartition(" ")[2], plain)
        path[-1].inside.append(element)
        path.append(element)

    def add(text: str) -> None:
        path[-1].texts.append(text)

    def refuse(*_: object) -> None:
        raise AdapterError("the XML declares a document type or an entity, which could stand for anything; remove it")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.CharacterDataHandler = add
    parser.EndElementHandler = lambda _: path.pop()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.lstrip("\ufeff").encode(), True)
    except expat.ExpatError as error:
        raise AdapterError(f"the text begins like XML, but is damaged: {error}") from None
    (root,) = outside.inside
    return root
