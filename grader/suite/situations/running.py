"""Run the situations of a contract; one that ends the worker does not cost the others."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from grader.records.progress import Progress
from grader.sandbox.budget import LIMIT_DIVISOR_AFTER_TIMEOUT
from grader.sandbox.channel import Exchange
from grader.sandbox.errors import SubmissionError
from grader.sandbox.pace import MARGIN, Work
from grader.sandbox.workers import NotTried, WorkerEnded, WorkerTimeout
from grader.suite.harness import Harness
from grader.suite.situations.agenda import Agenda
from grader.suite.situations.outcomes import Aspect, SituationOutcome
from grader.suite.situations.places import Place, Places, kind_of
from grader.suite.situations.situation import Situation
from grader.suite.situations.trying import SituationRun

SITUATIONS_TIME_SHARE = 0.75  # of the time left, for all situations
BATCH_TIMEOUT_DIVISOR = 10  # of a check's limit, for a request of several situations
SLOW_TIMEOUT_FACTOR = 4  # for a request with a single situation of a slow submission
MIN_TIMEOUT_S = 0.1  # of a situation, however many were stopped before
GIVE_UP_AFTER = 16  # situations that ended the worker, if none, or none so long, was answered


class _Planned(NamedTuple):
    place: Place
    situation: Situation
    run: SituationRun


class SituationRunner:
    """Runs all situations, a few per request; meanwhile, others are planned and judged.

    Once a request has ended the worker, each situation gets a request of its own, so that one which
    ends the worker does not cost the others.

    Args:
        harness: Plans the requests and sends them.
        every_nth: One of this many situations is tried; 1 for all.
        is_one_enough: Whether no other request is sent after one with a wrong situation.
    """

    def __init__(self, harness: Harness, every_nth: int = 1, is_one_enough: bool = False) -> None:
        self._harness, self._session = harness, harness.session
        self._kind, self._is_one_enough = kind_of(harness.contract), is_one_enough
        session = harness.session
        # For what comes after the situations.
        reserved_s = session.budget.left * (1 - SITUATIONS_TIME_SHARE)
        # Seconds of processor time that are left for situations. It holds no runner, so that what
        # came is freed at once.
        self._time_left_s = lambda: session.budget.left - reserved_s
        self._agenda = Agenda(Places(harness, every_nth), session.pace, self._time_left_s)
        self._count = self._agenda.count
        self._unjudged: list[_Planned] = []
        # The request that tried ``_unjudged``, and its reply.
        self._exchange: Exchange | None = None
        self._outcomes: list[SituationOutcome] = []
        self._is_fresh = False  # whether the worker has tried nothing yet
        self._ended = self._stopped = 0  # situations that ended the worker; of these, by a timeout

    def run(self) -> list[SituationOutcome]:
        """Try the situations and return their outcomes."""
        contract = self._harness.contract
        for one in (contract, *contract.variants.values()):
            with self._session.timed(self._session.budget.timeout):
                # This asks the worker, which is busy once situations run.
                _ = self._harness.of(one).deviations
        planned = self._plan()
        while planned and not self._has_enough:
            planned = self._try(planned) or self._plan()
        self._judge()
        return self._outcomes

    @property
    def _has_enough(self) -> bool:
        return self._is_one_enough and any(one.aspect is not None for one in self._outcomes)

    @property
    def too_slow(self) -> str:
        """Why none of the longest situations was tried, in words; empty if one was."""
        tried = [one for one in self._outcomes if one.aspect is not Aspect.UNTRIED]
        return self._agenda.too_slow([one.situation.sizes for one in tried])

    def _plan(self) -> list[_Planned]:
        """Load the submission again if its worker ended, and plan the next request; [] for none."""
        try:
            with self._session.timed(self._session.budget.timeout):
                self._is_fresh |= self._session.revive()
            if self._time_left_s() < MIN_TIMEOUT_S or self._session.budget.is_late:
                raise NotTried("was not tried: other situations took all the time there is")
        except (WorkerEnded, SubmissionError) as error:
            return self._give_up(error)
        return self._next()

    def _next(self) -> list[_Planned]:
        chosen = self._agenda.next()
        return [
            _Planned(place, one, self._kind.new_run(self._harness, one)) for place, one in chosen
        ]

    def _give_up(self, error: Exception) -> list[_Planned]:
        """Record all remaining situations as not tried, because of ``error``; plan no more."""
        rest, self._agenda.rest[:] = [*self._agenda.rest], []
        self._outcomes += [SituationOutcome(one, Aspect.UNTRIED, error) for _, one in rest]
        return []

    def _try(self, sent: list[_Planned]) -> list[_Planned]:
        """Send the planned situations; return those that were planned while the worker was busy.

        If the request ends the worker, return none, and put all of them back, to be tried later. A
        situation that was sent alone is not put back: it is what ended the worker.
        """
        ahead: list[_Planned] = []
        try:
            with self._session.timed(self._limit(sent)) as clock:
                self._harness.ask(partial(self._go_on, sent, ahead))
        except WorkerEnded as error:
            self._judge()
            self._agenda.put_back([one[:2] for one in ahead])
            if len(sent) > 1:
                self._agenda.put_back([one[:2] for one in sent], one_per_request=True)
            else:
                self._note_end(sent[0].situation, error, clock.seconds)
            return []
        self._unjudged, self._exchange = sent, self._session.exchanges[-1]
        if not self._is_fresh:  # a worker's first request includes one-time work
            longest = max(one.situation.sizes.length for one in sent)
            self._session.pace.measure(_work(sent), longest, clock.taken)
        self._is_fresh = False
        return ahead

    def _go_on(self, sent: list[_Planned], ahead: list[_Planned]) -> None:
        """Judge the last request, plan the next, compute right answers: the worker is busy."""
        self._judge()
        if self._agenda.is_plain:
            ahead += self._next()
        for one in sent:
            one.run.prepare()
        self._harness.batch.pack()

    def _judge(self) -> None:
        outcomes = [one.run.outcome() for one in self._unjudged]
        if self._exchange is not None:
            self._exchange.fine = [one.aspect is None for one in outcomes]
        for one in outcomes:
            pace, length = self._session.pace, one.situation.sizes.length
            (pace.note_end if one.aspect is Aspect.RAISES else pace.note_answer)(length)
        self._outcomes += outcomes
        self._unjudged, self._exchange = [], None
        self._tell()

    def _tell(self) -> None:
        """Tell how many situations were tried, and what is wrong in the first that is not right."""
        if self._harness.progress is not None:
            wrong = next((str(one.reason) for one in self._outcomes if one.reason), "")
            how = len(self._outcomes), self._count, wrong.partition("\n")[0]
            self._harness.progress(Progress("situations", *how))

    def _limit(self, sent: list[_Planned]) -> float:
        """Return the time limit of a request, in seconds: less once others took too long."""
        takes = MARGIN * self._session.pace.seconds_for(_work(sent))
        if self._session.pace.is_slow and len(sent) == 1:
            takes *= SLOW_TIMEOUT_FACTOR  # for the submission may skip some scores, say
        timeout = self._session.budget.timeout
        # Several are tried once more.
        usual = timeout if len(sent) == 1 else timeout / BATCH_TIMEOUT_DIVISOR
        if self._stopped:
            usual = max(timeout / (LIMIT_DIVISOR_AFTER_TIMEOUT * self._stopped**2), MIN_TIMEOUT_S)
        return min(max(usual, takes), max(self._time_left_s(), MIN_TIMEOUT_S))

    def _note_end(self, situation: Situation, error: WorkerEnded, limit: float) -> None:
        """Record that a situation ended the worker, and put others at least as long last.

        One that took too long counts for nothing if the submission is known to be slow for each
        weight, and so many weights would take it longer; others with as many are not tried.
        """
        weights = situation.work.weights
        if isinstance(error, WorkerTimeout) and self._session.pace.needs_long(weights, limit):
            self._agenda.drop_as_wide(weights)
            return
        self._ended += 1
        aspect = Aspect.ENDED
        if isinstance(error, WorkerTimeout):
            self._stopped += 1
            self._session.budget.shorten()
            aspect = Aspect.STOPPED
            had = f"it had {limit:.3g} s"
            error = WorkerTimeout(f"{error}{self._session.look_where()}: {had}")
        self._outcomes.append(SituationOutcome(situation, aspect, error))
        self._tell()
        length = situation.sizes.length
        self._agenda.put_last(length)
        self._session.pace.note_end(length)
        if self._ended >= GIVE_UP_AFTER:
            if self._ended == len(self._outcomes):
                self._give_up(error)
            elif all(
                self._session.pace.is_too_long(one.sizes.length) for _, one in self._agenda.rest
            ):
                self._agenda.rest.clear()  # as many as are needed to say so were tried


def _work(sent: list[_Planned]) -> Work:
    """Return the amount of computation of all planned situations together."""
    return sum((one.situation.work for one in sent), Work())
