"""Reads HTML the way a browser does, to see what hostile names have become."""

import unicodedata
from html.parser import HTMLParser


class Seen(HTMLParser):
    """All tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def assert_harmless(text):
    """Nothing runs, nothing is loaded, and nothing hides or reorders what is beside it."""
    seen = Seen(text)
    written = "".join([*seen.text, *(value or "" for _, _, value in seen.attributes)])
    assert not {one for one in written if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\t"}
    assert not {"script", "iframe", "object", "embed", "img", "link", "base", "form"} & set(seen.tags)
    for tag, name, value in seen.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("href", "src", "xlink:href", "action"):
            assert value.startswith(("#", "data:application/json;base64,")), (tag, name, value)
    return seen
