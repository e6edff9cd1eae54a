"""What a zygote and a new worker say of themselves, and of the processes that they make."""

from __future__ import annotations

import msgspec

MESSAGE_BYTES = 16  # of each request to a zygote, padded, so that no two are taken for one


class Greeting(msgspec.Struct):
    """A worker's first message, sent before it has seen a line of the submission.

    Attributes:
        level: The level of confinement that the worker is under; empty if it could not be set up.
        refused: Why the worker could not confine itself; empty if it did.
        cpu_seconds: Processor time that the worker used until then, in seconds.
    """

    level: str
    refused: str = ""
    cpu_seconds: float = 0.0


class Offer(msgspec.Struct):
    """The first message of a zygote, the process that forks workers.

    Attributes:
        level: The strongest level of confinement that it can set up; empty if there is none.
        refused: Why each stronger level is not available, by the level's name.
        tasks: How many processes and threads a worker may have; 0 where only memory bounds them.
    """

    level: str
    refused: dict[str, str]
    tasks: int = 0


class Forked(msgspec.Struct):
    """A zygote's answer to ``fork``, the request for a new worker.

    Attributes:
        pid: The worker's process ID; 0 if none was forked.
        refused: Why no worker was forked; empty if one was.
    """

    pid: int = 0
    refused: str = ""


class Ended(msgspec.Struct):
    """A zygote's answer to ``end``, the request to end a worker.

    Attributes:
        status: How the worker's process ended, as ``os.waitpid`` returns it.
    """

    status: int
