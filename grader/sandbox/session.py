"""The trusted side's view of a submission in a worker: loading, the clock, the time budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

from grader.sandbox.batch import RequestBatch
from grader.sandbox.budget import TimeBudget
from grader.sandbox.channel import Channel, Exchange, ExchangeMemory, OutgoingStep, Workers
from grader.sandbox.clock import Clock
from grader.sandbox.errors import SubmissionError
from grader.sandbox.pace import MARGIN, Pace, Work
from grader.sandbox.whereabouts import Whereabouts, take_whereabouts
from grader.sandbox.workers import NotTried, WorkerEnded, WorkerTimeout
from grader.submission import SourceProblem, Submission
from grader.wire.messages import NO_RULES, Load, Rules


class Session:
    """A submission loaded in a worker, a sandboxed process; after a timeout or a crash, a new one.

    The submission works on copies of its inputs, so it never changes what a check holds.

    Args:
        workers: Gives out the workers.
        submission: The submission that is loaded into them.
        timeout: Limit of one check, loading included, in seconds of the worker's processor time;
            checks after one that took longer have a tenth of it, plus the time of loading.
        budget: Limit of all checks together, in the same seconds.
        rules: What the exercise forbids; the worker makes it unusable for the submission.
        clock: A clock that all checks share; None to time each check with one of its own.
        device: The device of all tensors in the worker; in this process, they lie on the CPU.
        patience: Time after which ``is_late`` holds and no further check is tried, in the same
            seconds; the caller may put the grading off until later.

    Attributes:
        submission: The submission.
        budget: The time that is left for checks, and for judging them.
        exchanges_by_check: For each check, the requests to the worker, with its answers.
        clock: The clock of the current check.
        pace: The speed of the submission, as far as it was measured.
        device: The device on which the worker has everything.
    """

    def __init__(
        self,
        workers: Workers,
        submission: Submission,
        timeout: float,
        budget: float,
        rules: Rules = NO_RULES,
        clock: Clock | None = None,
        device: str = "cpu",
        patience: float = inf,
    ) -> None:
        self._workers = workers
        self._rules = rules
        self.device = device
        self._broken: list[SourceProblem] = []  # rules that the submission broke as it ran
        self._memory = ExchangeMemory()
        self.submission = submission
        self.budget = TimeBudget(timeout, budget, patience)
        self._shared = clock
        self.clock = clock or self.budget.new_clock(self.budget.limit)
        self._channel: Channel | None = None
        self._loading = False
        self._load_error: Exception | None = None
        self._whereabouts: Whereabouts | None = None
        self._said = ""  # output of workers that have ended
        self._seed = 0  # of the current check
        self.phase_s = 0.0  # taken by separate phases since the current check began
        self.pace = Pace()
        self.exchanges_by_check: list[list[Exchange]] = []
        self.said_on_load: str | None = None  # None until the source has run for the first time

    def start(self) -> None:
        """Ask for a worker and send it the source; ``load`` waits for the answer."""
        if self._channel is not None:
            self._said += self._channel.worker.take_output()
        worker = self._workers.worker()  # the first call waits until the zygote is up
        self._channel = Channel(worker, self.clock, self._broken, self.device, self._memory)
        self._loading = True
        load = Load(self.submission.source, self.name, self._rules, self.device)
        self._channel.post([OutgoingStep(load)])

    @property
    def source(self) -> str:
        """The submission's source text."""
        return self.submission.source

    def rewritten(self, source: str) -> Session:
        """Return a session for the same file name with another source, on the current clock.

        The caller has to close it.
        """
        text = Submission(self.submission.path, source)
        settings = self.budget.timeout, self.budget.left, self._rules, self.clock, self.device
        other = Session(self._workers, text, *settings)
        other.budget = self.budget.renewed()
        other._broken, other._memory = self._broken, self._memory
        return other

    def refuse(self, reason: Exception) -> None:
        """Try no check of this submission: from now on, each raises ``reason``."""
        self._load_error = reason

    @property
    def load_error(self) -> Exception | None:
        """Why no check can be tried; None where checks can be.

        It is the reason given to ``refuse``, how the source failed, or a rule that was broken.
        """
        return self._load_error or self.broken_rule

    @property
    def broken_rule(self) -> SourceProblem | None:
        """The first rule that the submission was seen to break, after which no check is tried."""
        return self._broken[0] if self._broken else None

    @property
    def name(self) -> str:
        """The submission's file name in tracebacks."""
        return self.submission.name

    def load(self) -> None:
        """Wait until the source has run; a source that failed the first time is not run again.

        Raises:
            SourceProblem: The source breaks a rule of its exercise.
            SubmissionError: The source raised an exception.
            WorkerEnded: The worker crashed, exited or took too long.
        """
        if self.load_error is not None:
            raise self.load_error.with_traceback(None)  # each raise would lengthen the traceback
        if self._channel is None or not self._channel.worker.alive:
            self.start()
        if self._loading:
            self._loading, before = False, self.clock.taken
            try:
                (answer,) = self.channel.collect([1])
                if isinstance(answer, Exception):
                    raise answer
                self.budget.loading = self.clock.taken - before
            except (SubmissionError, WorkerEnded) as error:
                if self.said_on_load is None:  # else the source has run before
                    self._load_error = error
                    self.said_on_load = self.take_output()
                raise
            if self.said_on_load is None:
                self.said_on_load = self.take_output()

    def begin_check(self, seed: int) -> None:
        """Start the clock of a check, with a living worker whose random numbers are seeded.

        Raises:
            SubmissionError: The source raised an exception when it was loaded.
            WorkerEnded: The worker crashed, exited or took too long, or no time is left for this
                check.
        """
        self.exchanges_by_check.append([])
        self.phase_s = 0.0
        self.clock = self._shared or self.budget.new_clock(self.budget.limit)
        if self._load_error is None:
            self._whereabouts = None
        if self.budget.judging_is_over:
            raise NotTried("was not tried: judging what came before took all the time there is")
        if self.budget.left <= 0:
            raise NotTried("was not tried: earlier checks took all the time there is")
        if self.clock.seconds_left <= 0:
            raise WorkerTimeout("took too long and was stopped")
        self._set_clock(self.clock)
        self.load()
        self._seed = seed
        self.channel.begin(seed, self.exchanges_by_check[-1])

    @contextmanager
    def separate_phase(self, seed: int) -> Iterator[None]:
        """Interrupt the check for a separate phase, whose random numbers are seeded by ``seed``.

        Each request of the phase is made under ``timed``; the clock of the check stands still.
        """
        own, self._seed, began = self._seed, seed, monotonic()
        self.channel.begin(seed, self.exchanges)
        try:
            yield
        finally:
            self._seed = own
            self.phase_s += monotonic() - began
        with self.timed(self.budget.timeout):
            self.load()
        self.channel.begin(own, self.exchanges)

    @contextmanager
    def timed(self, limit: float) -> Iterator[Clock]:
        """Time requests in this context by a clock of its own, with a limit in seconds.

        The clock of the check stands still meanwhile, but the time comes off the budget.
        """
        outer, clock = self.clock, self.budget.new_clock(limit)
        self._set_clock(clock)
        try:
            yield clock
        finally:
            self.budget.left -= clock.taken
            self._set_clock(outer)

    def revive(self) -> bool:
        """Load the submission into another worker if the last has ended; return whether it had."""
        if self._channel is not None and self._channel.worker.alive:
            return False
        self.load()
        self._seed += 1  # a new seed: what happened by chance need not happen again
        self.channel.begin(self._seed, self.exchanges)
        return True

    def _set_clock(self, clock: Clock) -> None:
        self.clock = clock
        if self._channel is not None:
            self._channel.clock = clock

    def allow(self, work: Work) -> None:
        """Allow the current check ``MARGIN`` times the time that the work is expected to take."""
        seconds = MARGIN * self.pace.seconds_for(work)
        self.clock.allow(min(seconds, self.budget.left, self.budget.in_time))

    def end_check(self) -> str:
        """Stop the clock of a check; return what the submission printed during the check."""
        self.budget.left -= self.clock.taken
        if self.clock.seconds_left <= 0:
            self.budget.shorten()
        return self.take_output()

    def give_up_check(self) -> None:
        """Forget a check that is to be tried again, and give its time back to the budget."""
        self.exchanges_by_check.pop()
        self.budget.left += self.clock.taken

    def take_output(self) -> str:
        """Return what the submission printed since the last call."""
        output, self._said = self._said, ""
        output += self._channel.worker.take_output() if self._channel else ""
        output, found = take_whereabouts(output, self.name)
        self._whereabouts = found or self._whereabouts
        return output

    def look_where(self) -> str:
        """Return ``whereabouts`` before the check ends; output read for it is not lost."""
        self._said = self.take_output()
        return self.whereabouts

    @property
    def whereabouts(self) -> str:
        """Where the submission was when it was stopped, as the end of a sentence; may be empty."""
        if self._whereabouts is None:
            return ""
        line, function = self._whereabouts
        text = self.submission.text_of(line)
        at = f" at `{text}`" if text else ""
        numbered = "" if self.submission.cells else f", line {line}"
        return f"{at} in `{function}`{numbered}"

    def close(self) -> None:
        """End the worker, and free the exchanges of all checks."""
        if self._channel is not None:
            self._channel.worker.let_go()
        for exchanges in self.exchanges_by_check:
            for answer in (one for exchange in exchanges for one in exchange.answers):
                if isinstance(answer, Exception):
                    answer.with_traceback(None)  # its frames hold it, and all that was asked
            exchanges.clear()

    @property
    def channel(self) -> Channel:
        """The channel to the current worker."""
        assert self._channel is not None, "no check has begun"
        return self._channel

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges of the current check."""
        return self.exchanges_by_check[-1]

    def batch(self) -> RequestBatch:
        """Return a new batch of requests to the current worker."""
        return RequestBatch(self.channel, self.allow)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Make requests from other threads to the submission raise ``Stopped`` in this context."""
        self._workers.stop.set()
        try:
            yield
        finally:
            self._workers.stop.clear()
