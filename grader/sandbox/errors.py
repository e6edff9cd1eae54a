"""The exceptions that the trusted side raises for what a submission did wrong."""

from __future__ import annotations

from grader.records import Fault, Frame, TensorLocal
from grader.wire.plain import one_line, with_newlines
from grader.wire.responses import RaisedFault


class SubmissionError(Exception):
    """The submission raised an exception.

    Attributes:
        fault: The exception as data.
        kinds: The names of the exception's type and of that type's bases.
        own: Whether the submission itself raised the exception, not something that it called.
        todo: Whether the exception is the submission's own ``NotImplementedError``.
        where: Text on the situations in which it is raised; empty where they are not known.

    Example:
        def test_input_of_another_width_is_an_error(harness: Harness) -> None:
            'It must not pass for one of the right width.'
            call = harness.module().call({"x": harness.draw.normal(3, harness.sizes.I + 1)})
            harness.ask()
            try:
                call.result
            except SubmissionError as error:
                expect("RuntimeError" in error.kinds, "another width: expected RuntimeError")
            else:
                fail("another width: expected RuntimeError, no exception was raised")
    """

    def __init__(self, fault: Fault, kinds: tuple[str, ...] = (), own: bool = False) -> None:
        super().__init__(f"{fault.type}: {fault.message}")
        self.fault = fault
        self.kinds = kinds
        self.own = own
        self.todo = own and "NotImplementedError" in kinds
        self.where = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (super().__str__(), self.where)))

    @property
    def message(self) -> str:
        """What the exception says, on one line, to be part of a sentence of ours."""
        return " ".join(self.fault.message.split())[:500]


class SubmissionRefused(Exception):
    """The submission cannot serve a request, say for lack of a method; the text is for learners."""


def read_fault(fault: RaisedFault) -> SubmissionError:
    """Return the error to raise for an exception in the worker, its texts cut to be read."""
    frames = tuple(
        Frame(one_line(f.file, 200), f.line, one_line(f.function, 200), one_line(f.source, 200))
        for f in fault.frames[:10]
    )
    tensors = tuple(
        TensorLocal(
            one_line(t.name, 100), t.shape[:16], one_line(t.dtype, 20), one_line(t.device, 20)
        )
        for t in fault.tensors[:12]
    )
    said = with_newlines(fault.message[:2000])
    plain = Fault(one_line(fault.type, 200), said, frames, tensors)
    kinds = tuple(kind[:200] for kind in fault.kinds[:50])
    return SubmissionError(plain, kinds, fault.raised_here)
