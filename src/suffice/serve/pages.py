"""The files of the page: each is served under one fixed name, to everyone."""

from __future__ import annotations

from collections.abc import Mapping

_SCRIPTS = ("page", "elements", "pictures", "rows", "server", "whole")

# By the name that a browser asks for: the file, and what it is.
PAGE: Mapping[str, tuple[str, str]] = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    **{f"{name}.js": (f"{name}.js", "text/javascript") for name in _SCRIPTS},
}
