"""What strangers made is read in a process of its own, whose end costs nobody else."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.errors import GradeError
from grader.submission import bounded as module
from grader.submission import read_submission
from grader.submission.bounded import MAX_MEMORY_MIB, run_bounded
from grader.submission.notebook.slicing import cut_apart
from grader.submission.reading import LARGE_NOTEBOOK_BYTES

A, B = "a.zip", "b.zip"
TOO_MUCH = r"^`a.zip` cannot be read within 10 s and 512 MiB; a Python file that "


def refuse(text: str) -> None:
    raise GradeError(text)


def say(data: bytes, then: float = 0.0) -> None:
    """What a reader that somebody has taken over may send."""
    for descriptor in range(3, 20):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)
    time.sleep(then)
    os._exit(0)


def try_everything(secret: Path, mine: Path) -> list[str]:
    """What can be done beside reading one file."""
    tries = {
        "read it": partial(mine.read_bytes),
        "read another": partial(secret.read_bytes),
        "write": partial(mine.open, "wb"),
        "make": partial((mine.parent / "new").mkdir),
        "connect": partial(socket.create_connection, ("127.0.0.1", 9), 1.0),
        "fork": os.fork,
        "signal": partial(os.kill, os.getppid(), 0),
    }
    done = []
    for name, attempt in tries.items():
        with contextlib.suppress(OSError):
            attempt()
            done.append(name)
    return done


def test_what_it_gives_and_raises_comes_back() -> None:
    assert run_bounded(A, partial(sum, [1, 2]), int) == 3
    assert run_bounded(A, partial(os.getpid), int) != os.getpid()
    with pytest.raises(GradeError, match=r"^`a` is damaged$"):
        run_bounded(A, partial(refuse, "`a` is damaged"), type(None))


@pytest.mark.parametrize(
    "function", [partial(bytes, 2 * MAX_MEMORY_MIB << 20), partial(os._exit, 1), partial(os.abort)]
)
def test_too_much_costs_it_alone(function: partial[Any]) -> None:
    with pytest.raises(GradeError, match=TOO_MUCH):
        run_bounded(A, function, int)
    assert run_bounded(B, partial(sum, [1, 2]), int) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="walls are Linux's")
def test_it_can_read_its_file_and_nothing_else(tmp_path: Path) -> None:
    mine, secret = tmp_path / "a.zip", tmp_path / "b.zip"
    for path in (mine, secret):
        path.write_bytes(b"x")
    assert run_bounded(A, partial(try_everything, secret, mine), list[str], [mine]) == ["read it"]


@pytest.mark.parametrize(
    "forged", [b"\x80\x04N.", b"\xc1", b"\xa1\xff", b"", msgspec.msgpack.encode(["no number"])]
)
def test_what_it_answers_is_data_of_the_right_kind(forged: bytes) -> None:
    with pytest.raises(GradeError, match=TOO_MUCH):
        run_bounded(A, partial(say, forged), int)
    assert run_bounded(B, partial(sum, [1, 2]), int) == 3


def test_what_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WALL_S", 0.2)
    with pytest.raises(GradeError, match=TOO_MUCH):
        run_bounded(A, partial(say, b"\x82", 60.0), int)


def test_reader_that_is_gone_is_begun_anew() -> None:
    run_bounded(A, partial(os.getpid), int)
    server, _ = module._server()
    server.kill()
    server.wait()
    with pytest.raises(GradeError, match=TOO_MUCH):
        run_bounded(A, partial(os.getpid), int)
    assert run_bounded(A, partial(sum, [1, 2]), int) == 3


@pytest.mark.slow("two processes, one after the other")
@pytest.mark.parametrize("leaves", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_nothing_is_left_once_whoever_asked_is_gone(tmp_path: Path, leaves: str) -> None:
    """A batch with an archive kept the pipe open that its output went to, for ever."""
    script = tmp_path / "asks.py"
    script.write_text(
        "import os\nfrom functools import partial\n"
        "from grader.submission.bounded import _server, run_bounded\n"
        'run_bounded("a.zip", partial(os.getpid), int)\n'
        f"print(_server()[0].pid, flush=True)\n{leaves}\n"
    )
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, timeout=60, check=False)
    words = Path(f"/proc/{int(done.stdout)}/cmdline")
    for _ in range(100):
        if not (words.exists() and words.read_bytes()):
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_large_notebook_is_read_as_a_small_one(tmp_path: Path) -> None:
    cell = '{"cell_type": "code", "source": ["x = 1\\n", "%time y = 2"], "outputs": "%s"}'
    small, large = (tmp_path / name for name in ("small.ipynb", "large.ipynb"))
    for path, size in ((small, 1), (large, LARGE_NOTEBOOK_BYTES)):
        text = cell.replace("%s", "a" * size)
        path.write_text(f'{{"nbformat": 4, "cells": [{text}, {text}]}}', encoding="utf-8")
    assert read_submission(large).source == read_submission(small).source
    assert read_submission(large).cells == read_submission(small).cells


def test_large_file_that_is_no_notebook_is_said(tmp_path: Path) -> None:
    path = tmp_path / "large.ipynb"
    path.write_bytes(b" " * (LARGE_NOTEBOOK_BYTES + 1))
    with pytest.raises(GradeError, match="is not a notebook"):
        read_submission(path)


@pytest.mark.parametrize(("depth", "is_cut"), [(2, True), (80, False)])
def test_file_of_many_names_in_many_scopes_stays_whole(depth: int, is_cut: bool) -> None:
    """Each name had an entry in each scope around it: 113 KB of source took 4 GiB."""
    names = ", ".join(f"n{number}" for number in range(5_000))
    source = (
        f"def other(): pass\n\n\ndef own(): return {'(lambda: ' * depth}[{names}]{')' * depth}\n"
    )
    assert (cut_apart(source, ["own"], [["other"]]) != source) == is_cut


@pytest.mark.parametrize(("length", "is_cut"), [(40, True), (62_000, False)])
def test_class_of_a_long_name_with_many_private_names_stays_whole(
    length: int, is_cut: bool
) -> None:
    """Python writes the class's name before each: 122 KB of source took 2.3 GiB."""
    names = ";".join(f"__{number:x}" for number in range(10_000))
    source = f"def other(): pass\n\n\nclass {'A' * length}:\n def own(self):\n  {names}\n"
    assert (cut_apart(source, ["A" * length], [["other"]]) != source) == is_cut
