"""The time that a submission may take: each check, all checks together, and judging them."""

from __future__ import annotations

import time
from math import inf

from grader.sandbox.clock import MAX_JUDGING_CPU_S, MAX_WALL_S_PER_LIMIT_S, Clock

# Of later checks; none of our own solutions takes half of the shorter limit.
LIMIT_DIVISOR_AFTER_TIMEOUT = 10


class TimeBudget:
    """What is left of the time for a submission's checks; all times are in seconds.

    Args:
        timeout: Limit of one check, loading included, in processor time of the worker; checks after
            one that took longer have a tenth of it, plus the time of loading.
        total: Limit of all checks together, in the same time.
        patience: Time after which ``is_late`` holds and no further check is tried, in the same
            time; the caller may put the grading off until later.

    Attributes:
        timeout: As given.
        left: What is left for all checks together.
        loading: What loading the source took.
    """

    def __init__(self, timeout: float, total: float, patience: float = inf) -> None:
        self.timeout = timeout
        self.left = total
        self.loading = 0.0
        self._shorter = timeout  # limit of the checks to come; lower once one has taken too long
        self._late_from = total - patience  # with no more than this left, it is late
        self._judging_since = time.process_time()

    def renewed(self) -> TimeBudget:
        """Return a budget with what is left, for another source; its judging counts with this."""
        other = TimeBudget(self.timeout, self.left)
        other._judging_since = self._judging_since
        return other

    def new_clock(self, limit: float) -> Clock:
        """Return a clock with this limit, or with what is left until it is late if that is less."""
        return Clock(min(limit, self.in_time), MAX_WALL_S_PER_LIMIT_S * self.timeout)

    @property
    def limit(self) -> float:
        """The limit of the next check."""
        return min(self._shorter, self.left)

    @property
    def in_time(self) -> float:
        """What is left until it is late; infinity without ``patience``."""
        return self.left - self._late_from

    @property
    def is_late(self) -> bool:
        """Whether the checks have taken longer than ``patience``."""
        return self.left <= self._late_from

    def be_patient(self) -> None:
        """Lift the limit that ``patience`` set from here on, as all checks are done."""
        self._late_from = -inf

    def shorten(self) -> None:
        """Lower the limit of the checks to come: one took too long, so others might."""
        self._shorter = self.timeout / LIMIT_DIVISOR_AFTER_TIMEOUT + self.loading

    @property
    def judging_is_over(self) -> bool:
        """Whether judging has used up the processor time that it may take in this process.

        Every step of judging is bounded by itself; this bounds their sum, and is read between them.
        """
        return time.process_time() - self._judging_since > MAX_JUDGING_CPU_S
