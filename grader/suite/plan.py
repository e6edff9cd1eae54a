"""What a check wants of a submission, planned step by step and asked in one request.

An exchange with a worker takes longer than the small computation that it asks for. So a module is
made, and called, only when the first result of any planned call is looked at: in the order in
which all was planned.
"""

from __future__ import annotations

from functools import cached_property

from grader.sandbox.answers import Answer, Results, read_results
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.requests import Request


class Step:
    """A planned request."""

    def __init__(self, plan: Plan, request: Request) -> None:
        self.request = request
        self.answered: Answer | BaseException | None = None
        self._plan = plan

    @property
    def answer(self) -> Answer:
        """What came; the first to be looked at asks for all that is planned.

        Raises:
            SubmissionError: The submission raised an exception, in this step or in an earlier one.
            SubmissionRefused: It is not of the shape that the step needs.
            WorkerEnded: It crashed, exited or took too long.
        """
        if self.answered is None:
            self._plan.settle()
        if isinstance(self.answered, BaseException):
            raise self.answered.with_traceback(None)  # each raise adds to it
        assert self.answered is not None
        return self.answered

    @cached_property
    def parameters(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Of a module that was made: the shape of each, and the first name that it goes by."""
        told, _ = self.answer
        return self._plan.submission.believe(
            lambda: {
                str(p["name"]): (tuple(map(int, p["shape"])), str(p["same_as"]))
                for p in told["parameters"]
            }
        )

    @cached_property
    def results(self) -> Results:
        """What calls gave."""
        answer = self.answer
        return self._plan.submission.believe(lambda: read_results(answer, self.request))


class Plan:
    """The steps of one check.

    Args:
        submission: What is asked.
    """

    def __init__(self, submission: RemoteSubmission) -> None:
        self.submission = submission
        self._waiting: list[tuple[Step, object]] = []

    def add(self, request: Request, needs: object) -> Step:
        """Plan a request; what it needs is held until then."""
        step = Step(self, request)
        self._waiting.append((step, needs))
        return step

    def settle(self) -> None:
        """Ask for all that waits. After a step that failed the others are not tried."""
        waiting, self._waiting = self._waiting, []
        steps = [step for step, _ in waiting]
        answers: list[Answer | BaseException] = []
        try:
            answers += self.submission.several([step.request for step in steps])
        except BaseException as error:
            answers.append(error)
            raise
        finally:
            answers += answers[-1:] * (len(steps) - len(answers))
            for step, answer in zip(steps, answers, strict=True):
                step.answered = answer
