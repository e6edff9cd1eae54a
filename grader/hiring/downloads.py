"""Whose a file is that Canvas or Moodle named: several of a person belong together.

Sources: Canvas, ``lib/content_zipper.rb``; Moodle, ``mod/assign``, "Download all submissions".
"""

from __future__ import annotations

import re
from typing import NamedTuple

# doejane_1001_20034_exercise3.py, doejane_LATE_1001_20051_exercise3-1.py, doejane_1001_text.html;
# LATE_anon_Ab1_20034_exercise3.py where names are hidden. The first number is the student's.
CANVAS = re.compile(
    r"(?:(?P<name>(?!LATE_|anon_)\w+?)_)?(?:LATE_)?(?P<number>\d+|anon_[^\W_]+)_"
    r"(?:\d{3,}_.+|(?:text|link)\.html)"
)
# Jane Doe_123_assignsubmission_file_, a folder; or with the file's name behind it.
MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+(?:_.*)?")


class Owner(NamedTuple):
    """A student, as a course system names files.

    Attributes:
        system: ``Canvas`` or ``Moodle``.
        name: As it is written there, without blanks and capitals in Canvas.
        number: Canvas's own for the student; Moodle's for the student in this assignment.
    """

    system: str
    name: str
    number: str

    @property
    def key(self) -> str:
        """The same for all files of the student in a download, and in a later one."""
        return f"{self.name}_{self.number}" if self.name != self.number else self.name


def owner_of(file: str) -> Owner | None:
    """Whose a file or folder of this name is; None where no course system wrote it."""
    if found := MOODLE.fullmatch(file):
        return Owner("Moodle", found["name"], found["number"])
    found = CANVAS.fullmatch(file)
    # Canvas takes all that is no letter or digit out of names, and makes them small.
    if found and (found["name"] or "") == (found["name"] or "").lower():
        return Owner("Canvas", found["name"] or found["number"], found["number"])
    return None
