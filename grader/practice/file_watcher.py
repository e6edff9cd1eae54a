"""Files as they are saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfiles import watch

STEP = 5  # how long a burst of changes has to be quiet, in milliseconds
BURST = 50  # and how long one may last


@contextmanager
def watch_files(folder: Path, tell: Callable[[Path], None]) -> Iterator[None]:
    """Tell of each Python file and notebook in a folder that is saved, in a thread of its own.

    Args:
        folder: With all that is in it.
        tell: Is given the file, with no link in its path; it may be gone by then.
    """
    done = threading.Event()
    ready = threading.Event()
    arguments = (folder.resolve(), tell, done, ready)
    thread = threading.Thread(target=_follow, args=arguments, daemon=True)
    thread.start()
    ready.wait(timeout=60)  # a busy machine may take long; what is saved earlier is not seen
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=5)


def _follow(
    folder: Path, tell: Callable[[Path], None], done: threading.Event, ready: threading.Event
) -> None:
    rounds = watch(
        folder,
        watch_filter=lambda _, path: path.endswith((".py", ".ipynb")),
        debounce=BURST,
        step=STEP,
        rust_timeout=200,
        yield_on_timeout=True,  # the first round shows that the watch is on
        stop_event=done,
        raise_interrupt=False,
    )
    for changes in rounds:
        ready.set()
        for path in sorted({path for _, path in changes}):
            tell(Path(path))
