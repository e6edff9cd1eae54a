"""Read a terminal's keys as they are pressed, without waiting for the end of a line."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grader.errors import GradeError

KEY_SEQUENCES = {
    **{b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[C": "n", b"\x1b[D": "p"},
    **{b"\x1bOA": "up", b"\x1bOB": "down", b"\x1bOC": "n", b"\x1bOD": "p"},
    **{b"\x1b[5~": "page up", b"\x1b[6~": "page down"},
}
INPUT_PIECE = re.compile(rb"\x1b[\[O][0-9;]*[A-Za-z~]|\x1b|[^\x1b]+")


@contextmanager
def watch_keys(on_key: Callable[[str], None], redraw: Callable[[], None]) -> Iterator[None]:
    """Call back for each key, from a thread of its own, and for each resize of the terminal.

    The terminal's settings are restored at the end, and while Ctrl-Z suspends the process.

    A signal may come to any thread, and Python's handler of it runs once the main thread does
    something: so each is written to a pipe as well, and the thread that reads it calls ``redraw``.

    Args:
        on_key: Called with a character, or ``up``, ``down``, ``page up``, ``page down``; the right
            and left arrows come as ``n`` and ``p``, Enter as ``\\n``, an unknown key as "".
        redraw: Called when the window was resized, or the process resumes.
    """
    if sys.platform == "win32":
        raise GradeError("keys need Linux or macOS; on Windows, run this in WSL")
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def resume(*_: object) -> None:
        tty.setcbreak(terminal, termios.TCSADRAIN)

    def suspend(*_: object) -> None:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.kill(os.getpid(), signal.SIGSTOP)

    handlers = {
        signal.SIGWINCH: lambda *_: None,
        signal.SIGCONT: resume,
        signal.SIGTSTP: suspend,
    }
    saved = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signalled, signals = os.pipe()
    os.set_blocking(signals, False)
    woken_before = signal.set_wakeup_fd(signals, warn_on_full_buffer=False)
    tty.setcbreak(terminal)
    threading.Thread(target=_read_keys, args=(terminal, on_key), daemon=True).start()
    threading.Thread(target=_read_signals, args=(signalled, redraw), daemon=True).start()
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.set_wakeup_fd(woken_before)
        os.close(signals)  # ends the thread that reads them
        for number, handler in saved.items():
            signal.signal(number, handler)


def _read_signals(signalled: int, redraw: Callable[[], None]) -> None:
    while _read_bytes(signalled):
        redraw()
    os.close(signalled)


def _read_keys(terminal: int, on_key: Callable[[str], None]) -> None:
    while data := _read_bytes(terminal):
        for piece in INPUT_PIECE.findall(data):
            if piece.startswith(b"\x1b"):
                on_key(KEY_SEQUENCES.get(piece, ""))
            else:
                # Enter comes as "\r" in Python 3.12.0 and 3.12.1, whose setcbreak clears ICRNL.
                for character in piece.decode("utf-8", errors="ignore").replace("\r", "\n"):
                    on_key(character)
    on_key("q")  # quit, as the terminal was closed


def _read_bytes(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 64)
    except OSError:
        return b""
