"""Every message between the trusted side, a zygote and a worker. No torch here.

A request is a list of steps, carried out in their order, in each group up to the first that
fails; a reply has an answer for each step that was tried. The tensors of a step or an answer are
described in it and lie, one after the other, in the frame's body.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Tree = Any  # a value as ``values.encode`` makes it
Count = Annotated[int, msgspec.Meta(ge=0)]
# How gradients are asked for: of the outputs as they are; of the sum of the first with something of
# the same shape; of the transposed outputs; added to those of a step before; a second time.
Way = Literal["plain", "residual", "transposed", "accumulated", "again"]
MAX_DIMS = 16
MAX_ELEMENTS = 1 << 40  # of a tensor; those of one on ``meta`` take no memory
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_ELEMENTS)]
# Bounded as they are read: nobody multiplies half a million numbers to find that they are many.
Shape = Annotated[list[Size], msgspec.Meta(max_length=MAX_DIMS)]
Stride = Annotated[list[int], msgspec.Meta(max_length=MAX_DIMS)]


class TensorSpec(msgspec.Struct, omit_defaults=True):
    """How a tensor is to be built on the other side.

    Attributes:
        stride: Given where it is not the contiguous one; in elements.
        offset: Where it begins in its storage, which has as much behind it; in elements.
    """

    dtype: str
    shape: Shape
    device: str = "cpu"
    stride: Stride | None = None
    offset: Count = 0
    requires_grad: bool = False


class _Operation(msgspec.Struct, tag_field="do"):
    pass


class Rules(msgspec.Struct, omit_defaults=True, frozen=True):
    """What an exercise forbids.

    Attributes:
        forbidden: Names of torch that a submission may not call.
        operations: Patterns of operations in torch's dispatcher that nobody may carry out.
    """

    forbidden: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()


NO_RULES = Rules()


class Load(_Operation, tag="load", omit_defaults=True):
    """Run a submission's source as a module of its own, by these rules.

    Attributes:
        device: Where all is to lie that comes from the trusted side, which has it on the CPU.
    """

    source: str
    filename: str
    rules: Rules = NO_RULES
    device: str = "cpu"


class Ping(_Operation, tag="ping"):
    """Answer, so that the other side knows that somebody does."""


class Create(_Operation, tag="create"):
    """Construct a module.

    Attributes:
        handle: What later steps call it by.
        name: Its class.
        with_values: Whether the values of its parameters are wanted.
    """

    handle: int
    name: str
    args: Tree
    kwargs: Tree
    with_values: bool = False


class Move(_Operation, tag="move"):
    """Move a module to a dtype and a device; None leaves it where it is."""

    handle: int
    dtype: str | None = None
    device: str | None = None


class Renew(_Operation, tag="renew"):
    """Put a module in the place of another: made anew, and given its state."""

    handle: int


class Arguments(msgspec.Struct):
    """Of one call; each has tensors of its own, so that what it does to them no other sees."""

    args: Tree
    kwargs: Tree


class Copies(msgspec.Struct, frozen=True):
    """Numbers that a tensor may hold many times over.

    Attributes:
        times: So many times, each of them, or more.
        least: How many different ones there are at least.
        most: How many at most: more of them are copies of something else.
    """

    times: Annotated[int, msgspec.Meta(ge=1)]
    least: Count
    most: Count


class Call(_Operation, tag="call", omit_defaults=True):
    """Call a module, a method of it, or a function, once for each of several arguments.

    Attributes:
        target: A module's handle, or a function's name.
        method: Of the module; empty for the module itself.
        weights: New values of parameters, as indices of tensors; set before the first call.
        lent: Whether the weights are the module's during the calls alone, by ``functional_call``.
        mode: Whether the module is in training; None where the worker knows.
        keep: The handle by which later steps call what the calls give; None where none will.
        gradients: Whether these may be asked for: of the inputs that require one, and of the
            parameters in ``grad_parameters``.
        frozen: Names of parameters that are not to learn.
        inference: Whether in inference mode.
        through: Whether inputs that require a gradient come out of an operation, as out of a layer.
        detect_inplace: Whether to tell which inputs the calls change, and what else they leave.
        overwrites: Whether what a call gave is told only after the last, which may have written
            over it.
        refills: Whether all calls are given the tensors of the first, filled anew.
        elsewhere: Whether inputs are to lie on another device, which ``meta`` stands for, and what
            comes is told with its values.
        copies: What is looked for in each tensor that is made on the way; None for nothing.
        weighs: Whether to tell how much memory lies behind what the calls gave.
        counted: Whether to tell how much is made on the way, and is kept for a backward.
        stops_at_nan: Whether to raise where an operation makes NaN of numbers that are none.
    """

    target: int | str
    calls: list[Arguments]
    method: str = ""
    weights: dict[str, int] = {}
    lent: bool = False
    mode: bool | None = None
    keep: int | None = None
    gradients: bool = False
    grad_parameters: list[str] = []
    frozen: list[str] = []
    inference: bool = False
    through: bool = False
    detect_inplace: bool = False
    overwrites: bool = False
    refills: bool = False
    elsewhere: bool = False
    copies: Copies | None = None
    weighs: bool = False
    counted: bool = False
    stops_at_nan: bool = False


class Backward(_Operation, tag="backward"):
    """Ask for gradients behind calls that were kept, given those of some of their outputs.

    Attributes:
        handle: Of the calls.
        outputs: Where each output is: the place of its call, then indices and keys.
        way: How they are asked for.
    """

    handle: int
    outputs: list[list[int | str]]
    way: Way = "plain"


Operation = Load | Ping | Create | Move | Renew | Call | Backward


class Step(msgspec.Struct, omit_defaults=True):
    """One operation.

    Attributes:
        size: Of its tensors in the body, in bytes.
        seed: Of the random numbers, set before it.
    """

    operation: Operation
    tensors: list[TensorSpec] = []
    size: Count = 0
    seed: int | None = None


class Request(msgspec.Struct):
    """What a worker is asked.

    Attributes:
        groups: How many steps belong together, group by group; all of them where it is empty.
        number: That the reply has to bear.
        release: Handles of what nobody will ask for any more.
        seconds: That it has; shortly before they are over by the wall, it writes down where it is.
            0 for no limit.
    """

    steps: list[Step]
    release: list[int] = []
    number: int = 0
    groups: list[Count] = []
    seconds: float = 0.0


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
    """An exception as a worker tells it: to be believed in form alone."""

    type: str
    kinds: list[str]
    message: str
    frames: list[FaultFrame]
    tensors: list[FaultTensor]
    raised_here: bool


class ParameterSpec(msgspec.Struct):
    """A parameter of a module that was made.

    Attributes:
        value: Where it was asked for.
        same_as: The first name that it goes by.
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
    """It is done, and nothing came of it."""


class Created(_Answer, tag="created"):
    """A module was made."""

    parameters: list[ParameterSpec]


class Called(_Answer, tag="called"):
    """What calls gave.

    Attributes:
        results: Of each call.
        grads: Whether each tensor in them carries a gradient.
        changed: Places of the tensors that were sent and that the calls changed, if asked for.
        left: What else they left changed, in words, if asked for.
        inputs: A digest of each tensor that was sent, after the calls, if asked for.
        elsewhere: Whether each tensor in them lies on the other device, where inputs were to.
        copied: How many different numbers some tensor held so many times, if asked for.
        behind: The bytes of memory that lie behind each tensor in them, if asked for; none where it
            is the memory of one before.
        made: How many numbers operations made, if asked for.
        saved: How many tensors were kept for a backward, if asked for.
    """

    results: list[Tree]
    grads: list[bool]
    changed: list[int]
    left: list[str] = []
    inputs: list[str] = []
    elsewhere: list[bool] = []
    copied: Count = 0
    behind: list[Count] = []
    made: Count = 0
    saved: Count = 0


class Gradients(_Answer, tag="gradients"):
    """Gradients of the inputs and parameters of calls; None where there is no graph."""

    result: Tree


class Refused(_Answer, tag="refused"):
    """The submission's own shape makes it impossible; the text is for the learner."""

    text: str


class Raised(_Answer, tag="raised"):
    """The submission raised an exception."""

    fault: RaisedFault


class Forbidden(_Answer, tag="forbidden"):
    """The submission called what its exercise forbids.

    Attributes:
        line: Of the submission; 0 where it is not known.
    """

    name: str
    line: Count


Answer = Done | Created | Called | Gradients | Refused | Raised | Forbidden


class Reply(msgspec.Struct):
    """The answers to a request, in each group up to the first that failed.

    Attributes:
        spent: Whether the worker is of no more use.
    """

    number: int
    answers: list[Answer]
    spent: bool = False


class PackedReply(msgspec.Struct):
    """A reply whose answers are JSON already: one that cannot be told harms no other."""

    number: int
    answers: list[msgspec.Raw]
    spent: bool = False


class Greeting(msgspec.Struct):
    """A worker's first words, said before it has seen a line of the submission.

    Attributes:
        refused: Why it could not confine itself; empty where it did.
        taken: Processor time that it took until then, in seconds.
    """

    level: str
    refused: str = ""
    taken: float = 0.0


class Offer(msgspec.Struct):
    """A zygote's first words.

    Attributes:
        level: The strongest level of confinement that it can put up; empty where there is none.
        refused: Why each stronger one is not available.
        tasks: How many processes and threads a worker may have; 0 where only memory bounds them.
    """

    level: str
    refused: dict[str, str]
    tasks: int = 0


class Forked(msgspec.Struct):
    """A zygote's answer to ``fork``.

    Attributes:
        refused: Why there is no worker; empty where there is one.
    """

    pid: int = 0
    refused: str = ""


class Ended(msgspec.Struct):
    """A zygote's answer to ``end``: how the process ended, as a wait status."""

    status: int
