"""Removes the folders that workers leave, in a separate process, so that nobody waits for long.

A submission can make folders faster than anybody removes them, and deeper than any path.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REMOVAL_TIMEOUT_S = 300  # of one folder; on a disk, 11,000 folders took 37 s
# First makes readable and writable again what a submission has closed.
SCRIPT = 'chmod -R u+rwX -- "$0"; exec rm -rf -- "$0"'
ABANDONED_AFTER_S = 24 * 3600  # without a change: in another container a process may have that ID
FOLDER_NAME = re.compile(r"grade-(\d{1,9})-\w+")  # of a worker's folder, with its maker's ID
MAX_REMOVE_WAIT_S = 0.5  # that a caller of `remove` waits for the removal


class Remover:
    """Removes folders, one after the other.

    Attributes:
        failed: Folders that could not be removed, or not in time.
    """

    def __init__(self) -> None:
        self.failed: list[str] = []
        self._waiting: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""  # the folder that the process removes

    @property
    def pid(self) -> int:
        """The ID of the process that removes; 0 where there is none."""
        return 0 if self._process is None else self._process.pid

    @property
    def left(self) -> list[str]:
        """The folders that are not removed yet."""
        under_way = [] if self._process is None else [self._folder]
        return [*self.failed, *under_way, *self._waiting]

    def remove(self, folder: str) -> None:
        """Remove a folder with its contents, at once or after the folders that wait already.

        Of a symbolic link, only the link itself is removed; an empty name is ignored.
        """
        waits = bool(folder) and not _removed_at_once(Path(folder))
        self._waiting += [folder] if waits else []
        self.go_on(MAX_REMOVE_WAIT_S if waits else 0.0)

    def go_on(self, seconds: float) -> None:
        """Remove the folders that wait, until all are removed or so many seconds have passed."""
        until = time.monotonic() + seconds
        while process := self._under_way():
            try:
                process.wait(max(until - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                return

    def _under_way(self) -> subprocess.Popen[bytes] | None:
        """Return the process that removes, started for the next folder if the last is done."""
        if self._process is not None and self._process.poll() is not None:
            if Path(self._folder).exists():
                self.failed.append(self._folder)
            self._process = None
        if self._process is None and self._waiting:
            self._folder = self._waiting.pop(0)
            words = ["timeout", str(REMOVAL_TIMEOUT_S), "sh", "-c", SCRIPT, self._folder]
            nothing = subprocess.DEVNULL
            self._process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)
        return self._process


def abandoned_folders() -> Iterator[str]:
    """Yield this user's folders of workers whose maker was killed before it could remove them."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            named = FOLDER_NAME.fullmatch(entry.name)
            if not named or not entry.is_dir(follow_symlinks=False):
                continue
            about = entry.stat(follow_symlinks=False)
            is_old = time.time() - about.st_mtime > ABANDONED_AFTER_S
            if is_old and about.st_uid == os.getuid() and not _lives(int(named[1])):
                yield entry.path


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _removed_at_once(path: Path) -> bool:
    """Remove a link or an empty folder, as most folders are; return whether it is gone."""
    try:
        path.unlink() if path.is_symlink() else path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
