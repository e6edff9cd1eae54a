"""Pytest in a candidate's place: with Python's packages, and nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PYTEST_WITHOUT_GRADER = """\
import sys
sys.modules["grader"] = None
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def run_alone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder where ``import grader`` fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-c", PYTEST_WITHOUT_GRADER, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
