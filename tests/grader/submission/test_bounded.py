"""What strangers made is read in a process of its own, whose end costs nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from grader.errors import GradeError
from grader.submission import read_submission
from grader.submission.bounded import MEBIBYTES, bounded
from grader.submission.reading import LARGE_NOTEBOOK


def refuse(text: str) -> None:
    raise GradeError(text)


def test_what_it_gives_and_raises_comes_back() -> None:
    assert bounded("a.zip", partial(sum, [1, 2])) == 3
    assert bounded("a.zip", os.getpid) != os.getpid()
    with pytest.raises(GradeError, match=r"^`a` is damaged$"):
        bounded("a.zip", partial(refuse, "`a` is damaged"))


@pytest.mark.parametrize(
    "function", [partial(bytes, 2 * MEBIBYTES << 20), partial(os._exit, 1), os.abort]
)
def test_too_much_costs_it_alone(function: partial[object]) -> None:
    with pytest.raises(GradeError, match=r"^`a.zip` takes more than 10 s or 512 MiB to read"):
        bounded("a.zip", function)
    assert bounded("b.zip", partial(sum, [1, 2])) == 3


@pytest.mark.slow("three processes, one after the other")
@pytest.mark.parametrize("leaves", ["end(); os._exit(0)", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_nothing_is_left_once_whoever_asked_is_gone(tmp_path: Path, leaves: str) -> None:
    """A batch with an archive kept the pipe open that its output went to, for ever."""
    script = tmp_path / "asks.py"
    script.write_text(
        "import os\n"
        "from grader.submission.bounded import bounded, end\n"
        'if __name__ == "__main__":\n'
        '    bounded("a.zip", os.getpid)\n'
        f"    {leaves}\n"
    )
    subprocess.run([sys.executable, script], capture_output=True, timeout=60, check=False)


def test_large_notebook_is_read_as_a_small_one(tmp_path: Path) -> None:
    cell = '{"cell_type": "code", "source": ["x = 1\\n", "%time y = 2"], "outputs": "%s"}'
    small, large = (tmp_path / name for name in ("small.ipynb", "large.ipynb"))
    for path, size in ((small, 1), (large, LARGE_NOTEBOOK)):
        text = cell.replace("%s", "a" * size)
        path.write_text(f'{{"nbformat": 4, "cells": [{text}, {text}]}}', encoding="utf-8")
    assert read_submission(large).source == read_submission(small).source
    assert read_submission(large).cells == read_submission(small).cells


def test_large_file_that_is_no_notebook_is_said(tmp_path: Path) -> None:
    path = tmp_path / "large.ipynb"
    path.write_bytes(b" " * (LARGE_NOTEBOOK + 1))
    with pytest.raises(GradeError, match="is not a notebook"):
        read_submission(path)
