"""Translate messages into other languages, with gettext catalogues.

Every text is written in English, and stays English in what is stored: records, results, histories.
It is translated where somebody reads it: ``say`` finds the template that a text was made from.
"""

from __future__ import annotations

import gettext
import os
from functools import cache
from pathlib import Path

from grader.errors import GradeError
from grader.languages.templates import Translations

CATALOGUES_FOLDER = Path(__file__).parent
DOMAIN = "grade"
ENGLISH = "en"
LANGUAGE_VARIABLE = "GRADE_LANG"
_in_force = [ENGLISH]


def known_languages() -> tuple[str, ...]:
    """Return the languages that can be chosen, English first."""
    return (
        ENGLISH,
        *sorted(path.name for path in CATALOGUES_FOLDER.iterdir() if _catalogue(path.name)),
    )


def choose_language(asked: str | None = None) -> str:
    """Set the language in force to the one asked for, or else to the environment's.

    Args:
        asked: A language such as ``zh``; by default what GRADE_LANG or the locale says.

    Returns:
        The language now in force.

    Raises:
        GradeError: There is no catalogue for the language that was asked for.
    """
    asked = asked or os.environ.get(LANGUAGE_VARIABLE)
    if asked is not None and _base(asked) not in known_languages():
        listing = ", ".join(f"`{one}`" for one in known_languages())
        raise GradeError(f"there is no language `{asked}` here; choose one of {listing}")
    found = _base(asked) if asked else _of_locale()
    _in_force[0] = found
    # click translates its own messages with gettext too.
    gettext.bindtextdomain(DOMAIN, CATALOGUES_FOLDER)
    gettext.textdomain(DOMAIN)
    os.environ["LANGUAGE"] = found
    return found


def language() -> str:
    """Return the language in force."""
    return _in_force[0]


def say(text: str) -> str:
    """Translate a text into the language in force; without a translation it stays English."""
    if language() == ENGLISH or not text.strip():
        return text
    before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
    said = _translations(language()).say(text.strip())
    return text if said is None else f"{before}{said}{after}"


@cache
def _translations(name: str) -> Translations:
    found = _catalogue(name)
    assert found is not None
    with found.open("rb") as file:
        known = vars(gettext.GNUTranslations(file))["_catalog"]  # no method lists the messages
    return Translations({text: said for text, said in known.items() if text})


def _catalogue(name: str) -> Path | None:
    path = CATALOGUES_FOLDER / name / "LC_MESSAGES" / f"{DOMAIN}.mo"
    return path if path.is_file() else None


def _of_locale() -> str:
    """Return the language of the locale, read as gettext does; English if it has no catalogue."""
    values = (os.environ.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    wanted = next((value for value in values if value), "").split(":")
    return next((_base(one) for one in wanted if _base(one) in known_languages()), ENGLISH)


def _base(locale: str) -> str:
    """Return the language code of a locale: ``zh`` for ``zh_CN.UTF-8``."""
    return locale.replace("-", "_").partition("_")[0].partition(".")[0].lower()
