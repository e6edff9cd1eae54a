"""Watch a learner's folder for files as they are saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfiles import watch

from grader.kit import Kit
from grader.kit.stubs import real_path

BURST_GAP_MS = 5  # without a change: ends a burst of changes
MAX_BURST_MS = 50


@contextmanager
def watch_files(kit: Kit, on_save: Callable[[Path], None]) -> Iterator[None]:
    """Call back for each Python file or notebook saved beside a stub, from a thread of its own.

    Subfolders are not watched: a link in a stranger's folder may lead to the whole machine.

    Args:
        kit: The kit whose stubs' folders are watched, as far as they lie in its own.
        on_save: Called with the path of the file, links resolved; the file may be gone by then.
    """
    done = threading.Event()
    ready = threading.Event()
    home = kit.home.resolve()
    beside = {real_path(exercise.file).parent for exercise in kit.exercises}
    folders = [one for one in beside if one.is_relative_to(home) and one.is_dir()]
    arguments = ([home, *folders], on_save, done, ready)
    thread = threading.Thread(target=_follow, args=arguments, daemon=True)
    thread.start()
    ready.wait(timeout=60)  # seconds: a busy machine is slow, and an earlier save goes unseen
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)


def _follow(
    folders: list[Path],
    on_save: Callable[[Path], None],
    done: threading.Event,
    ready: threading.Event,
) -> None:
    rounds = watch(
        *folders,
        recursive=False,
        watch_filter=lambda _, path: path.endswith((".py", ".ipynb")),
        debounce=MAX_BURST_MS,
        step=BURST_GAP_MS,
        rust_timeout=200,
        yield_on_timeout=True,  # the first round shows that the watch is on
        stop_event=done,
        raise_interrupt=False,
    )
    for changes in rounds:
        ready.set()
        for path in sorted({path for _, path in changes}):
            on_save(Path(path))
