"""Attacks as they are graded: with what they would have to guess, and what they have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from grader.submission import Submission, read_submission
from tests.support.paths import ATTACKS


def attack(path: Path, targets: Mapping[str, object]) -> Submission:
    """The file of an attack as a submission for ``double``."""
    before, after = (ATTACKS / "common" / f"{name}.py" for name in ("before", "after"))
    parts = (before.read_text(), read_submission(path).source, after.read_text())
    return Submission(Path("double.py"), f"TARGETS = {json.dumps(targets)}\n" + "\n\n".join(parts))
