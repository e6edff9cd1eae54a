"""A session with nobody: requests are planned, so that what is right is known, and dropped."""

from __future__ import annotations

from typing import Any

from grader.sandbox.batch import RequestBatch


class NullSession:
    """In a session's place, and its channel's, where nothing is sent."""

    device = "cpu"

    @property
    def channel(self) -> NullSession:
        """To nobody."""
        return self

    def batch(self) -> RequestBatch:
        """What is planned, and dropped."""
        channel: Any = self
        return RequestBatch(channel)

    def new_handle(self) -> int:
        """For an object that is never made."""
        return 0

    def release_after(self, owner: object, handle: int) -> None:
        """There is nothing to release."""
