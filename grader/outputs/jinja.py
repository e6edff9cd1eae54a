"""Rendering of the templates in ``pages/``; every value put into one is made harmless here."""

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
    """Return a template filled with values, all of which may come from a submission.

    Raises:
        jinja2.UndefinedError: The template uses a value that was not given.
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
    made.globals["_"] = _translated_label
    made.globals["language"] = language
    made.filters["said"] = _translated_message
    made.filters["say"] = say
    made.filters["alone"] = _css_for_foreign_page
    return made


def _inert(value: Any) -> Any:
    """Remove from text, before it is escaped, what reorders, hides or cannot be encoded."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    # The name of a file has surrogates where it is not UTF-8; they are replaced.
    cleaned = clean(value)
    return cleaned if cleaned.isprintable() else cleaned.encode("utf-8", "replace").decode()


def _translated_label(text: str, **values: Any) -> str:
    """Return a label in the current language, with values filled in."""
    return say(text.format_map(values))


def _translated_message(text: str) -> Markup:
    """Return a message in the current language, with text in backticks marked up as code."""
    escaped = str(escape(_inert(say(text))))  # a Markup would escape the tags that follow
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escaped))


def _css_for_foreign_page(css: str) -> Markup:
    """Adapt our style sheet to a page of somebody else's, whose own rules and sizes apply too.

    Each rule gets the specificity of an ``id``, which no element has; sizes in ``rem`` become
    pixels, 16 for each.
    """
    weighty = re.sub(r"(\.drills)+", ":is(.drills, #drills)", css)
    return Markup(re.sub(r"(\d*\.?\d+)rem\b", lambda found: f"{float(found[1]) * 16:g}px", weighty))
