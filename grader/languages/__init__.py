"""What is said in another language than English, from catalogues of gettext.

Everything is written in English, and stays so in what is kept: records, results, histories. It is
translated where somebody reads it: ``say`` finds the template that a text was made from.
"""

from __future__ import annotations

import gettext
import os
from functools import cache
from pathlib import Path

from grader.errors import GradeError
from grader.languages.templates import Phrases

FOLDER = Path(__file__).parent
DOMAIN = "grade"
ENGLISH = "en"
VARIABLE = "GRADE_LANG"
_in_force = [ENGLISH]


def known_languages() -> tuple[str, ...]:
    """Those that can be asked for, English first."""
    return (ENGLISH, *sorted(path.name for path in FOLDER.iterdir() if _catalogue(path.name)))


def choose(asked: str | None = None) -> str:
    """Decide on the language, from now on: as asked, or of the environment.

    Args:
        asked: Such as ``zh``; by default what GRADE_LANG or the locale says.

    Returns:
        The language.

    Raises:
        GradeError: There is no catalogue for the one that was asked for.
    """
    asked = asked or os.environ.get(VARIABLE)
    if asked is not None and _base(asked) not in known_languages():
        listing = ", ".join(f"`{one}`" for one in known_languages())
        raise GradeError(f"there is no language `{asked}` here; choose one of {listing}")
    found = _base(asked) if asked else _of_locale()
    _in_force[0] = found
    # click says what it says itself by gettext as well.
    gettext.bindtextdomain(DOMAIN, FOLDER)
    gettext.textdomain(DOMAIN)
    os.environ["LANGUAGE"] = found
    return found


def language() -> str:
    """The language in force."""
    return _in_force[0]


def say(text: str) -> str:
    """A text in the language in force; English where that has no word for it."""
    if language() == ENGLISH or not text.strip():
        return text
    before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
    said = _phrases(language()).say(text.strip())
    return text if said is None else f"{before}{said}{after}"


@cache
def _phrases(name: str) -> Phrases:
    found = _catalogue(name)
    assert found is not None
    with found.open("rb") as file:
        known = vars(gettext.GNUTranslations(file))["_catalog"]  # it has no way to list them
    return Phrases({text: said for text, said in known.items() if text})


def _catalogue(name: str) -> Path | None:
    path = FOLDER / name / "LC_MESSAGES" / f"{DOMAIN}.mo"
    return path if path.is_file() else None


def _of_locale() -> str:
    """The language of the locale, as gettext has it; English where there is none for it."""
    values = (os.environ.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    wanted = next((value for value in values if value), "").split(":")
    return next((_base(one) for one in wanted if _base(one) in known_languages()), ENGLISH)


def _base(locale: str) -> str:
    """``zh`` of ``zh_CN.UTF-8``."""
    return locale.replace("-", "_").partition("_")[0].partition(".")[0].lower()
