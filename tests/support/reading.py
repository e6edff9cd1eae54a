"""Reads pages that were made: whether they are whole, what they say, what they load (nothing)."""

from __future__ import annotations

import html
import re
from collections import Counter
from html.parser import HTMLParser

VOID_TAGS = {"meta", "br"}
LOADING_TAGS = {
    "script",
    "link",
    "img",
    "iframe",
    "object",
    "embed",
    "form",
    "base",
    "image",
    "use",
}


class ParsedPage(HTMLParser):
    """The tags of a document, checked to be closed in order, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.styles = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.styles += data

    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.tags if "id" in attributes]

    def links(self) -> list[str]:
        return [str(attributes["href"]) for tag, attributes in self.tags if "href" in attributes]


def text_of(page: str) -> str:
    """What a person reads, white space as it comes."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", body))


def assert_self_contained(page: str) -> None:
    read = ParsedPage(page)
    assert not {tag for tag, _ in read.tags} & LOADING_TAGS
    assert all(link.startswith("#") for link in read.links())
    assert {link.removeprefix("#") for link in read.links()} <= set(read.ids())
    assert max(Counter(read.ids()).values(), default=1) == 1
    names = {name for _, attributes in read.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "srcset")}
    styles = [read.styles, *(str(attributes.get("style", "")) for _, attributes in read.tags)]
    assert not re.search(r"url\(|@import|expression|image-set", " ".join(styles))
