"""The start of ``grade batch``: where options that it had once are now, and weak isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.cli.saying import complain
from grader.errors import GradeError

if TYPE_CHECKING:
    from grader.hiring.tasks import Capabilities

LEVELS_FOR_STRANGERS = ("full", "landlock")
KEYS_IN_RECORD = ("seed", "seeds", "timeout", "memory", "device")
MOVED_OPTIONS = {
    **{
        f"--{key}": f"`{key}` in the take-home's record, which `grade pack` writes, says it"
        for key in KEYS_IN_RECORD
    },
    "--memory-all": "a batch takes most of what is free; --jobs says how many processes",
    "--feedback": "--also feedback writes the pages, to `feedback` in the folder of results",
    "--bom": "--also excel writes a gradebook for Excel",
}


def refuse_weak_isolation(wanted: str, capabilities: Capabilities) -> None:
    """Refuse an isolation level too weak for strangers' files, unless the user asked for it.

    Each stronger level that this machine lacks is named on standard error, with the reason.
    """
    for level, reason in capabilities.refused.items():
        complain(f"isolation `{level}` is not available here: {reason}")
    if wanted == "auto" and capabilities.isolation not in LEVELS_FOR_STRANGERS:
        raise GradeError(
            "this machine offers no more isolation than a process, and strangers' files need "
            "more; `grade doctor` says what is missing, --isolation process grades all the same"
        )
