"""Reads a worker's answers without trusting them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from grader.kit.static_checks import forbidden_use
from grader.sandbox.errors import SubmissionRefused, read_fault
from grader.submission import SourceProblem
from grader.wire import messages, packing, responses, values
from grader.wire.frames import BadFrame, Buffer
from grader.wire.plain import one_line

MAX_NAME_CHARS = 500  # of a name, or of a sentence for the learner, which may be forged
NOTHING_LOADED = messages.Load("", "")
MAX_SIDE_EFFECTS = 20  # sentences on what a call changed: a parameter, say

_A = TypeVar("_A", bound=responses.Answer)


class StepAnswer(NamedTuple):
    """The answer to one step, and its tensors."""

    answer: responses.Answer
    tensors: list[Tensor]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a newly constructed module.

    Attributes:
        value: The value that the constructor left, where it was asked for.
        same_as: The first name under which the module holds this parameter.
    """

    shape: tuple[int, ...]
    value: Tensor | None
    same_as: str
    requires_grad: bool


@dataclass(frozen=True)
class CallResults:
    """The results of calls.

    Attributes:
        trees: The result of each call, as ``values.decode`` takes it.
        outputs: The tensors in the results.
        devices: The worker's name for the device of each output; here all are on the CPU.
        grads: Whether each output requires a gradient.
        changed: Indices of the inputs that the calls changed, if asked for.
        side_effects: What else the calls left changed, in words, if asked for.
        on_other_device: Whether each output lies on another device, if the inputs were put on one.
        copied: How many different numbers one tensor held many times each, if asked for.
        storage_nbytes: The bytes of memory behind each output, if asked for; 0 where an earlier
            output has the same memory.
        made: How many numbers the operations made, if asked for.
        saved: How many tensors were kept for a backward, if asked for.
    """

    trees: list[Any]
    outputs: list[Tensor]
    devices: list[str]
    grads: list[bool]
    changed: list[int]
    side_effects: list[str]
    on_other_device: list[bool]
    copied: int
    storage_nbytes: list[int]
    made: int
    saved: int


def read_reply(
    reply: responses.Reply,
    body: Buffer,
    groups: Sequence[int],
    loaded: messages.Load = NOTHING_LOADED,
) -> list[StepAnswer | Exception]:
    """Return the answers to groups of steps; an exception for a failed step and those after it.

    Args:
        reply: The reply.
        body: The bytes of its answers.
        groups: How many steps each group has.
        loaded: The source that the worker runs, and its rules.

    Raises:
        BadFrame: The reply is malformed, or has too few or too many answers.
    """
    ends = list(itertools.accumulate(answer.size for answer in reply.answers))
    if (ends[-1] if ends else 0) != len(body):
        raise BadFrame("its answers do not share out its bytes")
    if len(reply.answers) == 1 and isinstance(reply.answers[0], responses.Refused):
        # A worker whose answers are too large to send refuses once, in place of all of them.
        return [_read(reply.answers[0], b"", loaded)] * sum(groups)
    places = zip(reply.answers, [0, *ends], ends, strict=False)
    whole = memoryview(body)
    answers = (_read(answer, whole[start:end], loaded) for answer, start, end in places)
    found: list[StepAnswer | Exception] = []
    for count in groups:
        group = _read_group(answers, count)
        found += group + group[-1:] * (count - len(group))
    if next(answers, None) is not None:
        raise BadFrame("it answers more than was asked, or goes on after a step that failed")
    return found


def _read_group(
    answers: Iterator[StepAnswer | Exception], count: int
) -> list[StepAnswer | Exception]:
    """Return the answers to one group, up to the first step that failed."""
    found: list[StepAnswer | Exception] = []
    for answer in itertools.islice(answers, count):
        found.append(answer)
        if isinstance(answer, Exception):
            return found
    if len(found) < count:
        raise BadFrame("it does not answer all steps")
    return found


def _read(
    answer: responses.Answer, data: Buffer | memoryview, loaded: messages.Load
) -> StepAnswer | Exception:
    match answer:
        case responses.Refused(text=text):
            return SubmissionRefused(one_line(text, MAX_NAME_CHARS))
        case responses.Raised(fault=fault):
            return read_fault(fault)
        case responses.Forbidden():
            return _read_broken_rule(answer, loaded)
        case responses.Called() | responses.Gradients():
            answer.side_effects = [
                one_line(text, MAX_NAME_CHARS) for text in answer.side_effects[:MAX_SIDE_EFFECTS]
            ]
    return StepAnswer(answer, packing.load_tensors(answer.tensors, data))


def _read_broken_rule(answer: responses.Forbidden, loaded: messages.Load) -> SourceProblem:
    """Return the problem to report, in no words but torch's and the rules': a worker may lie."""
    rules = loaded.rules
    of_operations = [one for one in rules.operations if fnmatchcase(answer.name.lower(), one)]
    ours = {*rules.forbidden, *(_operations() if of_operations else ())}
    known = [*ours.intersection([answer.name]), *(one.strip("*") for one in of_operations)]
    if not known or answer.line > len(loaded.source.split("\n")):
        raise BadFrame("what it says is forbidden is not")
    return forbidden_use(known[0], answer.line)


def _operations() -> Iterator[str]:
    """Yield the names of torch's operations, without their namespaces and overloads."""
    for name in torch._C._dispatch_get_all_op_names():
        yield name.partition("::")[2].partition(".")[0]


def _expected(answered: StepAnswer, kind: type[_A]) -> tuple[_A, list[Tensor]]:
    if not isinstance(answered.answer, kind):
        raise ValueError(f"it answers with {type(answered.answer).__name__}")
    return answered.answer, answered.tensors


def read_parameters(answered: StepAnswer) -> dict[str, Parameter]:
    """Return the parameters of a new module; any exception means that the answer is malformed."""
    created, sent = _expected(answered, responses.Created)
    names = [name for p in created.parameters for name in (p.name, p.same_as)]
    if not all(name.isprintable() and len(name) <= MAX_NAME_CHARS for name in names):
        raise ValueError("a parameter has a name of no sensible length, or not on one line")
    found = {
        p.name: Parameter(
            p.shape, _tensor(values.decode(p.value, sent)), p.same_as, p.requires_grad
        )
        for p in created.parameters
    }
    given = [(p.value, p.shape) for p in found.values() if p.value is not None]
    if any(tuple(value.shape) != shape for value, shape in given):
        raise ValueError("a parameter has not the shape that it is said to have")
    if len({id(value) for value, _ in given}) < len(given):  # a short answer would fill much memory
        raise ValueError("one tensor is the value of several parameters")
    return found


def _tensor(value: Any) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    raise ValueError("a value is no tensor")


def read_results(
    answered: StepAnswer, call: messages.Call, inputs: Sequence[Tensor]
) -> CallResults:
    """Return the results of calls; any exception means that the answer is malformed."""
    called, sent = _expected(answered, responses.Called)
    if len(called.results) != len(call.calls):
        raise ValueError("results and calls do not agree")
    if not all(0 <= place < len(inputs) for place in called.changed):
        raise ValueError("what is said to be changed is no input")
    outputs = sent[: len(called.grads)]
    for tree in called.results:
        values.decode(tree, outputs)  # raises on a wrong form, before anybody relies on it
    if len(outputs) < len(called.grads):
        raise ValueError("outputs and gradients do not agree")
    pairs = zip(outputs, called.grads, strict=True)
    if any(grad and not out.is_floating_point() for out, grad in pairs):
        raise ValueError("outputs and gradients do not agree")
    changed = set(called.changed)
    if call.detect_inplace:  # the worker's own word is not enough
        after = zip(inputs, called.inputs, strict=True)
        changed |= {place for place, (x, now) in enumerate(after) if packing.digest(x) != now}
    _expect_asked(called, call, len(outputs))
    devices = [spec.device[:MAX_NAME_CHARS] for spec in called.tensors[: len(outputs)]]
    return CallResults(
        *(called.results, outputs, devices, called.grads, sorted(changed), called.side_effects),
        called.on_other_device,
        *(called.copied, called.storage_nbytes, called.made, called.saved),
    )


def _expect_asked(called: responses.Called, call: messages.Call, outputs: int) -> None:
    """Raise ``ValueError`` if what the worker tells beside the outputs is not what was asked."""
    if len(called.on_other_device) != (outputs if call.use_other_device else 0):
        raise ValueError("outputs and their devices do not agree")
    if called.copied and not (call.copies and call.copies.least <= called.copied):
        raise ValueError("copies are told that were not asked for")
    if (called.made or called.saved) and not call.report_counts:
        raise ValueError("counts are told that were not asked for")
    if len(called.storage_nbytes) != (outputs if call.report_storage else 0):
        raise ValueError("outputs and their memory do not agree")


def read_changes(before: StepAnswer, after: StepAnswer) -> list[int]:
    """Return the indices of the inputs that a backward changed after the calls.

    ``read_results`` holds the digests of these to what was sent. As in the other readers, any
    exception means that an answer is malformed.
    """
    called, _ = _expected(before, responses.Called)
    answer, _ = _expected(after, responses.Gradients)
    pairs = enumerate(zip(called.inputs, answer.inputs, strict=answer.result is not None))
    return [place for place, (digest, now) in pairs if digest != now]


def read_gradients(
    answered: StepAnswer, forms: list[tuple[torch.Size, torch.device]]
) -> list[Tensor | None]:
    """Return the gradients, each with the shape and device of its input.

    As in the other readers, any exception means that the answer is malformed.
    """
    answer, sent = _expected(answered, responses.Gradients)
    found = values.decode(answer.result, sent)
    if found is None:
        return [None] * len(forms)
    if not isinstance(found, list) or len(found) != len(forms):
        raise ValueError("gradients are not those of the inputs")
    grads = [_tensor(grad) for grad in found]
    for grad, form in zip(grads, forms, strict=True):
        if grad is None:
            continue
        if (grad.shape, grad.device) != form or not grad.is_floating_point():
            raise ValueError("a gradient has not the form of its input")
    return grads
