"""Reads from a worker's output where a submission was when its time was up. No torch here."""

from __future__ import annotations

import re
from typing import NamedTuple

_STACK_DUMP = re.compile(
    r"Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!\n"
    r"(?:(?:Current t|T)hread 0x[^\n]*\n|  File [^\n]*\n|  \.\.\.\n|\n)*"
)
_FRAME = re.compile(r'^  File "([^"\n]{1,500})", line (\d{1,7}) in ([^\n]{1,200})$', re.MULTILINE)


class Whereabouts(NamedTuple):
    """A line of a submission, and the function that it is in."""

    line: int
    function: str


def take_whereabouts(output: str, file: str) -> tuple[str, Whereabouts | None]:
    """Remove the worker's stack dumps from the output; return the rest and the last one's place.

    On a busy machine a check leaves several, of requests that were answered all the same. A
    submission may print such a dump itself, which misleads only its author.

    Args:
        output: All that was printed.
        file: The submission's file name in tracebacks.
    """
    dumps = _STACK_DUMP.findall(output)
    if not dumps:
        return output, None
    *_, main = re.split(r"^(?:Current t|T)hread 0x.*$", dumps[-1], flags=re.MULTILINE)
    frames = (match.groups() for match in _FRAME.finditer(main))  # the innermost frame first
    own = (Whereabouts(int(line), function) for name, line, function in frames if name == file)
    return _STACK_DUMP.sub("", output), next(own, None)
