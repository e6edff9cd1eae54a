"""Changes of solutions that change no result, which a kit lists with the reasons.

``tests/answers/equivalent.toml`` has a table for each exercise: ``"OLD -> NEW" = "reason"``, in
which ``…`` stands for any text.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.authoring.answers import answers_folder
from grader.kit import Exercise
from grader.kit.toml_files import read_toml


def equivalent_file(exercise: Exercise) -> Path:
    """Return the file of a kit that lists the changes of its solutions that change no result."""
    return answers_folder(exercise) / "equivalent.toml"


def read_equivalent(path: Path) -> dict[str, dict[str, str]]:
    """Return what is listed of each exercise: changes with the reasons; nothing without a file.

    Raises:
        GradeError: The file is damaged.
    """
    return read_toml(path, dict[str, dict[str, str]]) if path.is_file() else {}


def stands_for(entry: str, change: str) -> bool:
    """Return whether an entry of the file stands for a change."""
    return re.fullmatch(".*".join(map(re.escape, entry.split("…"))), change) is not None
