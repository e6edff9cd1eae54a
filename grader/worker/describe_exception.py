"""Describes an exception of the submission as plain data: its own frames, and local tensors."""

from __future__ import annotations

import builtins
import dis
import linecache
import traceback
from types import FrameType, TracebackType

import torch

from grader.wire.responses import FaultFrame, FaultTensor, RaisedFault

MAX_MESSAGE_CHARS = 2000
MAX_FRAMES = 10
MAX_LOCAL_TENSORS = 12
BUILT_IN = dict(vars(builtins))  # as they are before a submission can replace any


def describe(error: BaseException, filename: str) -> RaisedFault:
    """Return the description of an exception that the trusted side, the grader, receives.

    Args:
        error: An exception raised while a submission's code ran, or by its code.
        filename: The submission's file name, as it was compiled.
    """
    steps = list(traceback.walk_tb(error.__traceback__))
    own = [(frame, line) for frame, line in steps if frame.f_code.co_filename == filename]
    frames = [_frame(filename, line, frame.f_code.co_name) for frame, line in own[-MAX_FRAMES:]]
    if isinstance(error, SyntaxError) and error.filename == filename:
        frames.append(_frame(filename, error.lineno or 0, "<module>"))
    return RaisedFault(
        type=type(error).__qualname__[:200],
        kinds=_kinds(type(error)),
        message=_text(error),
        frames=frames,
        tensors=_tensors(own[-1][0]) if own else [],
        raised_here=_is_raised_in(filename, error.__traceback__),
    )


def _kinds(kind: type[BaseException]) -> list[str]:
    """Return the names of a type and its bases, without any that imitates one of Python's own."""
    return [one.__name__ for one in kind.__mro__[:20] if BUILT_IN.get(one.__name__, one) is one]


def _is_raised_in(filename: str, trace: TracebackType | None) -> bool:
    """Whether a `raise` or `assert` of this file raised the exception, rather than C code.

    C code leaves no frame, so the last frame is in this file in either case.
    """
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename != filename:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def forget(trace: TracebackType | None) -> None:
    """Clear the frames of a traceback, which keep a submission's tensors alive."""
    if trace is not None:
        traceback.clear_frames(trace)


def _frame(file: str, line: int, function: str) -> FaultFrame:
    return FaultFrame(file, line, function[:200], linecache.getline(file, line).strip()[:200])


def _text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)[:MAX_MESSAGE_CHARS]
    try:
        return str(error)[:MAX_MESSAGE_CHARS]
    except BaseException as second:
        return f"(its text is not available: {type(second).__qualname__})"


def _tensors(frame: FrameType) -> list[FaultTensor]:
    each = [(n, v) for n, v in frame.f_locals.items() if issubclass(type(v), torch.Tensor)]
    found = [(name, value) for name, value in each if not value.is_nested]  # those have no shape
    return [
        FaultTensor(
            name=name[:100],
            shape=tuple(value.shape),
            dtype=str(value.dtype).removeprefix("torch."),
            device=str(value.device),
        )
        for name, value in found[:MAX_LOCAL_TENSORS]
    ]
