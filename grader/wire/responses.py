"""Messages from the worker: a reply with the answers to a request. No torch here."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.wire.messages import MAX_DIMS, Count, Size, TensorSpec, Tree


class FaultFrame(msgspec.Struct):
    """One line of a submission that an exception passed through."""

    file: str
    line: int
    function: str
    source: str


class FaultTensor(msgspec.Struct):
    """A tensor that was a local variable where an exception was raised."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str


class RaisedFault(msgspec.Struct):
    """An exception as a worker reports it; the submission may have forged everything in it.

    Attributes:
        kinds: The names of the exception's type and of its base classes.
        raised_here: Whether a ``raise`` or ``assert`` of the submission raised the exception.
    """

    type: str
    kinds: list[str]
    message: str
    frames: list[FaultFrame]
    tensors: list[FaultTensor]
    raised_here: bool


class ParameterSpec(msgspec.Struct):
    """A parameter of a module that was constructed.

    Attributes:
        value: The parameter's value, if it was asked for.
        same_as: The first name by which the module has this same parameter.
    """

    name: str
    shape: Annotated[tuple[Size, ...], msgspec.Meta(max_length=MAX_DIMS)]
    value: Tree
    same_as: str
    requires_grad: bool


class _Answer(msgspec.Struct, tag_field="is", kw_only=True):
    tensors: list[TensorSpec] = []
    size: Count = 0


class Done(_Answer, tag="done"):
    """The operation is done, and has no result."""


class Created(_Answer, tag="created"):
    """A module was constructed."""

    parameters: list[ParameterSpec]


class Called(_Answer, tag="called"):
    """The results of calls.

    Attributes:
        results: The result of each call.
        grads: Whether each tensor in the results requires a gradient.
        changed: Indices of the inputs that the calls changed in place, if asked for.
        side_effects: What else the calls left changed, in words, if asked for.
        inputs: A digest of each input after the calls, if asked for.
        on_other_device: Whether each tensor in the results lies on the other device, if inputs
            did.
        copied: How many different numbers some tensor held as often as was asked, if asked for.
        storage_nbytes: The bytes of memory behind each tensor in the results, if asked for; memory
            that an earlier tensor has as well is not counted again.
        made: How many numbers operations made, if asked for.
        saved: How many tensors were kept for a backward, if asked for.
    """

    results: list[Tree]
    grads: list[bool]
    changed: list[int]
    side_effects: list[str] = []
    inputs: list[str] = []
    on_other_device: list[bool] = []
    copied: Count = 0
    storage_nbytes: list[Count] = []
    made: Count = 0
    saved: Count = 0


class Gradients(_Answer, tag="gradients"):
    """The gradients of the inputs and parameters of calls; None if there is no graph.

    Attributes:
        inputs: A digest of each input of the calls after the backward, if the calls were asked for
            theirs and there is a graph.
        side_effects: What else the backward left changed, in words, if the calls were asked for it.
    """

    result: Tree
    inputs: list[str] = []
    side_effects: list[str] = []


class Refused(_Answer, tag="refused"):
    """What the submission defines or returns rules the step out; the text is for the learner."""

    text: str


class Raised(_Answer, tag="raised"):
    """The submission raised an exception."""

    fault: RaisedFault


class Forbidden(_Answer, tag="forbidden"):
    """The submission called something that its exercise forbids.

    Attributes:
        line: The line of the submission; 0 if it is not known.
    """

    name: str
    line: Count


Answer = Done | Created | Called | Gradients | Refused | Raised | Forbidden


class Reply(msgspec.Struct):
    """The answers to a request, in each group up to the first that failed.

    Attributes:
        spent: Whether the worker can no longer be used.
    """

    number: int
    answers: list[Answer]
    spent: bool = False


class PackedReply(msgspec.Struct):
    """A reply whose answers are JSON already, so that one that cannot be encoded harms no other."""

    number: int
    answers: list[msgspec.Raw]
    spent: bool = False
