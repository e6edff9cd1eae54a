"""A session with nobody: requests are planned, so that what is right is known, and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Exchange
from grader.sandbox.clock import Clock
from grader.sandbox.pace import Pace

EVER = 1e9  # seconds


class NullSession:
    """In a session's place, and its channel's, where nothing is sent and no clock runs.

    Attributes:
        exchanges: None.
        pace: Of nobody.
    """

    device = "cpu"
    left = timeout = EVER
    is_late = False

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.pace = Pace()

    @property
    def channel(self) -> Any:
        """To nobody."""
        return self

    def batch(self) -> RequestBatch:
        """What is planned, and dropped."""
        return RequestBatch(self.channel)

    def new_handle(self) -> int:
        """For an object that is never made."""
        return 0

    def release_after(self, owner: object, handle: int) -> None:
        """There is nothing to release."""

    @contextmanager
    def beside(self, seed: int) -> Iterator[None]:
        """A phase is as any other time."""
        yield

    @contextmanager
    def timed(self, limit: float) -> Iterator[Clock]:
        """A clock that stands still."""
        yield Clock(limit)

    def revive(self) -> bool:
        """Nobody has ended."""
        return False
