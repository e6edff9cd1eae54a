"""A real terminal for tests: a pseudo-terminal, and the screen that a person would see in it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Self

import pexpect
import pyte

COMMAND = ["-c", "from grader.cli import main; main()"]


class Terminal:
    """A command in a terminal of 100 columns; a context manager."""

    def __init__(self, folder: Path, *words: str, rows: int = 30, **environment: str) -> None:
        self.screen = pyte.Screen(100, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.child = pexpect.spawn(
            sys.executable,
            [*COMMAND, *words],
            cwd=folder,
            dimensions=(rows, 100),
            env={**os.environ, "TERM": "xterm", **environment},
            timeout=300,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.child.close(force=True)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def until(self, *wanted: str, seconds: float = 300) -> str:
        """Wait until all of these are on the screen at once; the screen."""
        deadline = time.monotonic() + seconds
        while not all(word in self.text for word in wanted):
            assert time.monotonic() < deadline, f"no {wanted} in:\n{self.text}"
            self._take()
        return self.text

    def press(self, keys: str) -> None:
        self.child.send(keys)

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def left(self) -> int | None:
        """Wait for the end of the command; its exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus

    def _take(self) -> None:
        try:
            self._stream.feed(self.child.read_nonblocking(1 << 16, timeout=0.1))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            raise AssertionError(f"it ended early:\n{self.text}") from None
