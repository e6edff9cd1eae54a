"""One line in the terminal that says how far a grading is, while it takes long."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from grader.languages import say
from grader.outputs.phrases import describe_progress
from grader.records.progress import OnProgress, Progress

DELAY_S = 1.0  # most gradings have ended by then
INTERVAL_S = 0.5
CLEAR_LINE = "\r\x1b[2K"


@contextmanager
def live_line(name: str) -> Iterator[OnProgress | None]:
    """Say on standard error how far the grading of ``name`` is; None if that is no terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    words, ended, start_s = [say("grading")], threading.Event(), time.monotonic()

    def note(progress: Progress) -> None:
        words[:] = [describe_progress(progress)]

    def write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def show() -> None:
        is_over = ended.wait(DELAY_S)
        while not is_over:
            line = f"{name}: {words[0]} … {time.monotonic() - start_s:.0f} s"
            write(CLEAR_LINE + line[: shutil.get_terminal_size().columns - 1])
            if is_over := ended.wait(INTERVAL_S):
                write(CLEAR_LINE)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield note
    finally:
        ended.set()
        thread.join()
