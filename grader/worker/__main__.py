"""Start a zygote, ``python -P -m grader.worker DESCRIPTOR CONFINEMENT``; see ``zygote``."""

from __future__ import annotations

import contextlib
import sys

from grader.wire.imports import uncollected

if __name__ == "__main__":
    with uncollected():
        from grader.worker.zygote import main

    with contextlib.suppress(ConnectionError):  # the trusted side has left
        main(sys.argv[1:])
