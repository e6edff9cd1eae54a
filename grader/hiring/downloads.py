"""Finding whose a file is that Canvas or Moodle named, so that a person's files stay together.

Sources: Canvas, ``lib/content_zipper.rb``; Moodle, ``mod/assign``, "Download all submissions".
"""

from __future__ import annotations

import re
from typing import NamedTuple

# doejane_1001_20034_exercise3.py, doejane_LATE_1001_20051_exercise3-1.py, doejane_1001_text.html;
# LATE_anon_Ab1_20034_exercise3.py where names are hidden. The first number is the student's.
CANVAS_NAME = re.compile(
    r"(?:(?P<name>(?!LATE_|anon_)\w+?)_)?(?:LATE_)?(?P<number>\d+|anon_[^\W_]+)_"
    r"(?:\d{3,}_(?P<own>.+)|(?:text|link)\.html)"
)
# Jane Doe_123_assignsubmission_file_ is a folder; a file has its own name behind that.
MOODLE_MARK = "_assignsubmission_"
MOODLE_NAME = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+(?:_(?P<own>.*))?")
SENT_AGAIN = re.compile(r"-\d+(?=\.[^.]*$)")  # Canvas's mark in exercise3-1.py


class Owner(NamedTuple):
    """A student, as read from the name that a course system gave a file.

    Attributes:
        system: ``Canvas`` or ``Moodle``.
        name: The name as it is written there: in Canvas, without blanks and capitals.
        number: Canvas's number for the student; Moodle's for the student in this assignment.
    """

    system: str
    name: str
    number: str

    @property
    def key(self) -> str:
        """A key that is the same for all files of the student, in this download and later.

        It has a slash, which no file's name has: nobody can name a file so.
        """
        name = f"{self.name}_{self.number}" if self.name != self.number else self.name
        return f"{self.system}/{name}"


def owner_of(file: str) -> Owner | None:
    """Return the owner of a file or folder by its name; None where no course system named it."""
    found = MOODLE_NAME.fullmatch(file)
    if found and file.count(MOODLE_MARK) == 1:  # else whose it is was written by its owner
        return Owner("Moodle", found["name"], found["number"])
    found = CANVAS_NAME.fullmatch(file)
    # Canvas removes all but letters and digits from names, and makes them lower case.
    if found and (found["name"] or "") == (found["name"] or "").lower():
        return Owner("Canvas", found["name"] or found["number"], found["number"])
    return None


def own_name(file: str) -> str:
    """Return the name that a student gave a file, without what a course system added."""
    if found := MOODLE_NAME.fullmatch(file):
        return found["own"] or file
    found = CANVAS_NAME.fullmatch(file)
    return SENT_AGAIN.sub("", found["own"]) if found and found["own"] else file
