"""A submission in a worker, as the trusted side sees it: loading, the clock, the budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from grader.sandbox.batch import RequestBatch
from grader.sandbox.channel import Channel, Exchange, Outgoing, Store
from grader.sandbox.clock import STARVED, Clock
from grader.sandbox.errors import SubmissionError
from grader.sandbox.pace import Pace, Work
from grader.sandbox.process import Sandbox
from grader.sandbox.whereabouts import Whereabouts, take_whereabouts
from grader.sandbox.workers import NotTried, WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem, Submission
from grader.wire.messages import NO_RULES, Load, Rules

OWN_SECONDS = 20.0  # of processor time that judging may take, where it usually takes less than 1
SHORTER = 10  # the part of its limit that checks have after one that took too long: of our own
# solutions, none takes half of that
MARGIN = 4  # times what it is expected to take may be what a step takes


class Session:
    """A submission in a worker: a fresh one after a time-out or a crash.

    What it does to its inputs happens to copies: nothing that a check holds is ever changed by it.

    Args:
        sandbox: Gives out the workers.
        submission: What is loaded into them.
        timeout: Limit of one check, loading included, in seconds of the worker's processor time;
            a tenth of it for the checks after one that took longer, and what loading took.
        budget: Limit of all checks together, likewise.
        rules: What its exercise forbids, for the worker to take away.
        clock: That all checks are under; each has one of its own where None.
        device: Where the worker is to have everything; here, all lies on the CPU.
        patience: What all checks together may take before ``is_late``, in the same seconds.

    Attributes:
        asked: What each check asked, and what came.
        clock: Of the check that has begun.
        pace: How long it takes for how much, as far as that was measured.
        device: Where the worker has everything.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        submission: Submission,
        timeout: float,
        budget: float,
        rules: Rules = NO_RULES,
        clock: Clock | None = None,
        device: str = "cpu",
        patience: float = inf,
    ) -> None:
        self._sandbox = sandbox
        self._rules = rules
        self.device = device
        self._broken: list[SourceProblem] = []  # rules, as was seen when it ran
        self._store = Store()
        self._submission = submission
        self._timeout = timeout
        self._limit = timeout  # of the checks to come: less, once one has taken too long
        self._left = budget
        self._until = budget - patience  # so much is left once it is late
        self._own_started = time.process_time()
        self._shared = clock
        self.clock = clock or self._new_clock(self.limit)
        self._channel: Channel | None = None
        self._loading = False
        self._load_seconds = 0.0  # that the source takes to run
        self._load_error: Exception | None = None
        self._whereabouts: Whereabouts | None = None
        self._said = ""  # by workers that are gone
        self._seed = 0  # of the check that has begun
        self.pace = Pace()
        self.asked: list[list[Exchange]] = []
        self.said_on_load: str | None = None  # None until the source has run for the first time

    def start(self) -> None:
        """Ask for a worker and send it the source; the answer is taken when it is needed."""
        if self._channel is not None:
            self._said += self._channel.worker.take_output()
        worker = self._sandbox.worker()  # the first waits until the zygote is up
        self._channel = Channel(worker, self.clock, self._broken, self.device, self._store)
        self._loading = True
        load = Load(self._submission.source, self.name, self._rules, self.device)
        self._channel.post([Outgoing(load)])

    @property
    def source(self) -> str:
        """The text that is loaded."""
        return self._submission.source

    def rewritten(self, source: str) -> Session:
        """A submission of the same name with another text, by the clock of the check that runs.

        Whoever asks for it closes it.
        """
        text = Submission(self._submission.path, source)
        settings = self._timeout, self._left, self._rules, self.clock, self.device
        other = Session(self._sandbox, text, *settings)
        other._broken, other._own_started = self._broken, self._own_started
        other._store = self._store
        return other

    def refuse(self, reason: Exception) -> None:
        """Try no check of this submission: each will raise ``reason``."""
        self._load_error = reason

    @property
    def load_error(self) -> Exception | None:
        """Why no check can be tried: what ``refuse`` was given, or how the source failed."""
        return self._load_error or self.broken_rule

    @property
    def broken_rule(self) -> SourceProblem | None:
        """The rule of its exercise that it was seen to break: from then on no check is tried."""
        return self._broken[0] if self._broken else None

    @property
    def name(self) -> str:
        """The file's name in tracebacks."""
        return self._submission.name

    def load(self) -> None:
        """Wait until the source has run; one that failed the first time is not tried again.

        Raises:
            SourceProblem: It breaks a rule of its exercise.
            SubmissionError: It raised an exception.
            WorkerEnded: It crashed, exited or took too long.
        """
        if self.load_error is not None:
            raise self.load_error.with_traceback(None)  # each raise adds to it
        if self._channel is None or not self._channel.worker.alive:
            self.start()
        if self._loading:
            self._loading, before = False, self.clock.taken
            try:
                (answer,) = self.channel.collect([1])
                if isinstance(answer, Exception):
                    raise answer
                self._load_seconds = self.clock.taken - before
            except (SubmissionError, WorkerEnded) as error:
                if self.said_on_load is None:  # else it has run before
                    self._load_error = error
                    self.said_on_load = self.take_output()
                raise
            if self.said_on_load is None:
                self.said_on_load = self.take_output()

    @property
    def own_time_is_up(self) -> bool:
        """Whether judging has taken this process all the time that it may.

        Every step is bounded by itself; this is for many of them, and is looked at between them.
        """
        return time.process_time() - self._own_started > OWN_SECONDS

    def begin_check(self, seed: int) -> None:
        """Start the clock of a check, with a living worker whose random numbers are seeded.

        Raises:
            SubmissionError: The source raised an exception when it was loaded.
            WorkerEnded: It crashed, exited or took too long, or no time is left for this check.
        """
        self.asked.append([])
        self.clock = self._shared or self._new_clock(self.limit)
        if self._load_error is None:
            self._whereabouts = None
        if self.own_time_is_up:
            raise NotTried("was not tried: judging what came before took all the time there is")
        if self._left <= 0:
            raise NotTried("was not tried: earlier checks took all the time there is")
        if self.clock.left <= 0:
            raise WorkerTimeout("took too long and was stopped")
        self._set_clock(self.clock)
        self.load()
        self._seed = seed
        self.channel.begin(seed, self.asked[-1])

    @contextmanager
    def beside(self, seed: int) -> Iterator[None]:
        """Meanwhile a phase of its own runs, whose random numbers are seeded by ``seed``.

        Each of its requests is made under ``timed``; the clock of the check stands still.
        """
        own, self._seed = self._seed, seed
        self.channel.begin(seed, self.exchanges)
        try:
            yield
        finally:
            self._seed = own
        with self.timed(self._timeout):
            self.load()
        self.channel.begin(own, self.exchanges)

    @contextmanager
    def timed(self, limit: float) -> Iterator[Clock]:
        """Meanwhile a clock of its own runs, for so many seconds; the budget pays what it takes."""
        outer, clock = self.clock, self._new_clock(limit)
        self._set_clock(clock)
        try:
            yield clock
        finally:
            self._left -= clock.taken
            self._set_clock(outer)

    def revive(self) -> bool:
        """Go on with another worker where the last one has ended, as ``load`` has it; if it has."""
        if self._channel is not None and self._channel.worker.alive:
            return False
        self.load()
        self._seed += 1  # what happens by chance need not happen again
        self.channel.begin(self._seed, self.exchanges)
        return True

    def _set_clock(self, clock: Clock) -> None:
        self.clock = clock
        if self._channel is not None:
            self._channel.clock = clock

    def allow(self, work: Work) -> None:
        """Allow the check that runs the time that so much is known to take, if it is."""
        seconds = MARGIN * self.pace.seconds_for(work)
        self.clock.allow(min(seconds, self._left, self._left - self._until))

    @property
    def left(self) -> float:
        """What is left for all that is still to come, in seconds of processor time."""
        return self._left

    @property
    def timeout(self) -> float:
        """What a check may take that none before has shortened, in the same seconds."""
        return self._timeout

    @property
    def limit(self) -> float:
        """What the check that runs may take, in seconds of processor time."""
        return min(self._limit, self._left)

    def _new_clock(self, limit: float) -> Clock:
        return Clock(min(limit, self._left - self._until), STARVED * self._timeout)

    @property
    def is_late(self) -> bool:
        """Whether the checks have taken longer than others are to wait for them."""
        return self._left <= self._until

    def be_patient(self) -> None:
        """Let it take all the time there is from here on: its checks are done."""
        self._until = -inf

    def end_check(self) -> str:
        """Stop the clock of a check; what the submission printed in it."""
        self._left -= self.clock.taken
        if self.clock.left <= 0:
            self.shorten()
        return self.take_output()

    def shorten(self) -> None:
        """Give the checks to come less time: one took too long, so others might."""
        self._limit = self._timeout / SHORTER + self._load_seconds

    def give_up_check(self) -> None:
        """Forget a check that is to be tried again, and what it took."""
        self.asked.pop()
        self._left += self.clock.taken

    def take_output(self) -> str:
        """What the submission printed since the last time."""
        output, self._said = self._said, ""
        output += self._channel.worker.take_output() if self._channel else ""
        output, found = take_whereabouts(output, self.name)
        self._whereabouts = found or self._whereabouts
        return output

    def look_where(self) -> str:
        """The same at once; what it printed is kept for the check that runs."""
        self._said = self.take_output()
        return self.whereabouts

    @property
    def whereabouts(self) -> str:
        """Where it was when it was stopped, as the end of a sentence; empty if nobody knows."""
        if self._whereabouts is None:
            return ""
        line, function = self._whereabouts
        text = self.text_of(line)
        at = f" at `{text}`" if text else ""
        numbered = f", line {line}" if self.is_file else ""
        return f"{at} in `{function}`{numbered}"

    def text_of(self, line: int) -> str:
        """A line of the source; empty where there is none."""
        return "".join(self.source.split("\n")[line - 1 : line]).strip()[:200]

    @property
    def is_file(self) -> bool:
        """Whether its lines are those of the file that a learner sees: cells of a notebook no."""
        return not self._submission.cells

    def close(self) -> None:
        """End the worker, and let what it was asked and answered go."""
        if self._channel is not None:
            self._channel.worker.kill()
        for exchanges in self.asked:
            exchanges.clear()

    @property
    def channel(self) -> Channel:
        """To the worker that is in use."""
        assert self._channel is not None, "no check has begun"
        return self._channel

    @property
    def exchanges(self) -> list[Exchange]:
        """What the check asked that has begun, and what came."""
        return self.asked[-1]

    def batch(self) -> RequestBatch:
        """A batch of requests to the worker that is in use."""
        return RequestBatch(self.channel, self.allow)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Meanwhile, whatever is asked of the submission in another thread raises ``Stopped``."""
        self._sandbox.stop.set()
        try:
            yield
        finally:
            self._sandbox.stop.clear()
