"""A pytest plugin that gives a suite its submission in the process of the tests themselves.

What ``cold.py`` compares with: the same checks as most graders run them, one `import` away.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.suite.draw import Draw
from grader.suite.subject import Subject
from grader.suite.trial import Trial


class LocalSubmission:
    """A submission's file, imported here."""

    def __init__(self, path: Path) -> None:
        self.module = ModuleType("submission")
        self.changed: list[int] = []
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), self.module.__dict__)

    def create(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Construct one of its modules."""
        return self.create_with({}, name, *args, **kwargs)

    def create_with(self, weights: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Construct one of its modules; the suite sets the weights."""
        return _with_each(getattr(self.module, name)(*args, **kwargs))

    def function(self, name: str) -> Any:
        """One of its functions."""
        return _with_each(getattr(self.module, name))

    def seed(self, seed: int) -> None:
        """Seed torch's random numbers."""
        torch.manual_seed(seed)


def _with_each(target: Any) -> Any:
    target.set_at_once = set()
    target.each = lambda calls: [target(*arguments) for arguments in calls]
    return target


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> Trial:
    """A try at the suite's subject, with the file that ``SUBMISSION`` names."""
    subject: Subject = request.module.subject
    submission = LocalSubmission(Path(os.environ["SUBMISSION"]))
    seen: dict[Any, Any] = {}
    return Trial(subject, submission, Draw(1), "cpu", seen)  # type: ignore[arg-type]  # looks like one
