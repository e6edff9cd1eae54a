"""What a worker answered, read with no trust in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import torch
from torch import Tensor

from grader.sandbox.faults import SubmissionError, SubmissionRefused, ToldFault, read_fault
from grader.sandbox.requests import Request
from grader.sandbox.wire import values
from grader.sandbox.wire.frames import BadFrame

Answer = tuple[dict[str, Any], list[Tensor]]


@dataclass(frozen=True)
class Results:
    """What calls gave.

    Attributes:
        trees: Of each call, as ``values.decode`` takes it.
        outputs: The tensors in them.
        grads: Whether each of these carries a gradient.
        changed: Positions of the tensors that were sent and that the calls changed, if watched.
    """

    trees: list[Any]
    outputs: list[Tensor]
    grads: list[bool]
    changed: list[int]


def read_answer(header: dict[str, Any], body: bytes) -> Answer:
    """What came, and its tensors.

    Raises:
        SubmissionError: The submission raised an exception.
        SubmissionRefused: It is not of the shape that the request needs.
        BadFrame: It is no answer of ours.
    """
    if "refused" in header:
        raise SubmissionRefused(str(header["refused"])[:1000])
    if "fault" not in header:
        return header, values.load_tensors(header.pop("tensors", []), body)
    try:
        told = msgspec.convert(header["fault"], ToldFault)
    except msgspec.ValidationError as problem:
        raise BadFrame(str(problem)) from None
    raise read_fault(told)


def read_several(header: dict[str, Any], body: bytes, asked: int) -> list[Answer | Exception]:
    """The answers to several requests, up to the first that failed: for that one, its exception.

    Raises:
        SubmissionRefused: They are too large together.
        BadFrame: They are no answers of ours, or of another number.
    """
    if "several" not in header:
        read_answer(header, body)
        raise BadFrame("it answers one request, several were asked")
    found: list[Answer | Exception] = []
    for part, data in _parts(header["several"], body)[:asked]:
        try:
            found.append(read_answer(part, data))
        except (SubmissionError, SubmissionRefused) as error:
            found.append(error)
            break
    if len(found) < asked and not (found and isinstance(found[-1], Exception)):
        raise BadFrame("it does not answer all requests")
    return found


class _Sized(msgspec.Struct):
    size: Annotated[int, msgspec.Meta(ge=0)]


def _parts(several: Any, body: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """Each answer with its own bytes."""
    try:
        ends = list(itertools.accumulate(p.size for p in msgspec.convert(several, list[_Sized])))
    except msgspec.ValidationError as problem:
        raise BadFrame(str(problem)) from None
    if (ends[-1] if ends else 0) != len(body):
        raise BadFrame("its answers do not share out its bytes")
    starts = [0, *ends]
    return [(part, body[a:b]) for part, a, b in zip(several, starts, ends, strict=False)]


def read_results(answer: Answer, request: Request) -> Results:
    """What the calls of a request gave; raises anything where the answer is of another form."""
    header, sent = answer
    asked, given = request
    trees = list(header["results"])
    if len(trees) != len(asked["calls"]):
        raise ValueError("results and calls do not agree")
    changed = [int(position) for position in header["changed"]]
    if not all(0 <= position < len(given) - len(asked["parameters"]) for position in changed):
        raise ValueError("what is said to be changed is no input")
    grads = [bool(grad) for grad in header["grad"]]
    outputs = sent[: len(grads)]
    for tree in trees:
        values.decode(tree, outputs)  # its form, before anybody relies on it
    if len(outputs) < len(grads) or any(
        grad and not out.is_floating_point() for out, grad in zip(outputs, grads, strict=True)
    ):
        raise ValueError("outputs and gradients do not agree")
    return Results(trees, outputs, grads, changed)


def read_gradients(
    answer: Answer, forms: list[tuple[torch.Size, torch.device]]
) -> list[Tensor | None]:
    """Gradients as they came, each of the form of its input; raises as ``read_results`` does."""
    header, sent = answer
    grads = values.decode(header["result"], sent)
    if not isinstance(grads, list) or len(grads) != len(forms):
        raise ValueError("gradients are not those of the inputs")
    for grad, form in zip(grads, forms, strict=True):
        if grad is None:
            continue
        if (grad.shape, grad.device) != form or not grad.is_floating_point():
            raise ValueError("a gradient has not the form of its input")
    return grads
