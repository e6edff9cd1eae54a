"""Fills the templates of ``pages/``; whatever is put into one is made inert here."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader.languages import language, say
from grader.outputs.sanitise import clean


def render(template: str, **values: Any) -> str:
    """A template filled with values, all of which may come from a submission.

    Raises:
        jinja2.UndefinedError: The template asks for something that was not given.
    """
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("pages")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["_"] = _told
    made.globals["language"] = language
    made.filters["said"] = _said
    made.filters["say"] = say
    made.filters["alone"] = _alone
    return made


def _inert(value: Any) -> Any:
    """A value before it is escaped: text without what reorders, hides or cannot be encoded."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    # A file's name that is not UTF-8 comes with surrogates.
    cleaned = clean(value)
    return cleaned if cleaned.isprintable() else cleaned.encode("utf-8", "replace").decode()


def _told(text: str, **values: Any) -> str:
    """A label in the language in force."""
    return say(text.format_map(values))


def _said(text: str) -> Markup:
    """A message in the language in force, with what stands in backticks as code."""
    escaped = str(escape(_inert(say(text))))  # a Markup would escape the tags that follow
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escaped))


def _alone(css: str) -> Markup:
    """Our style sheet for a page of somebody else's, whose rules and sizes hold there too.

    Each of its rules gets the weight of an `id`, though nothing has it; sizes that are relative to
    the page become their usual ones.
    """
    weighty = re.sub(r"(\.drills)+", ":is(.drills, #drills)", css)
    return Markup(re.sub(r"(\d*\.?\d+)rem\b", lambda found: f"{float(found[1]) * 16:g}px", weighty))
