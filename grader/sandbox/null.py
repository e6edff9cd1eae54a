"""A session without a worker: requests are planned to compute what is right, but never sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grader.sandbox.batch import RequestBatch
from grader.sandbox.budget import TimeBudget
from grader.sandbox.channel import Exchange
from grader.sandbox.clock import Clock
from grader.sandbox.pace import Pace

UNLIMITED_S = 1e9  # in place of a limit


class NullSession:
    """A stand-in for a session and its channel that sends nothing and runs no clock.

    Attributes:
        exchanges: An empty list.
        pace: A pace that was never measured.
    """

    device = "cpu"
    budget = TimeBudget(UNLIMITED_S, UNLIMITED_S)

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.pace = Pace()

    @property
    def channel(self) -> Any:
        """This object itself, which leads to no worker."""
        return self

    def batch(self) -> RequestBatch:
        """Return a batch for requests that are planned and never sent."""
        return RequestBatch(self.channel)

    def new_handle(self) -> int:
        """Return a handle for an object that is never made."""
        return 0

    def release_after(self, owner: object, handle: int) -> None:
        """Do nothing: there is nothing to release."""

    @contextmanager
    def separate_phase(self, seed: int) -> Iterator[None]:
        """Do nothing around a phase: no random numbers are seeded and no clock stops."""
        yield

    @contextmanager
    def timed(self, limit: float) -> Iterator[Clock]:
        """Provide a clock that stands still."""
        yield Clock(limit)

    def revive(self) -> bool:
        """Return False: there is no worker that could have ended."""
        return False
