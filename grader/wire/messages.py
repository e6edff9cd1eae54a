"""Messages to a worker: a request and its operations; replies are in ``responses``. No torch here.

A request is a list of steps, carried out in order. In each group of steps, those after the first
that fails are not tried; a reply has an answer for each step that was tried. A step or an answer
describes its tensors, whose bytes follow one another in the frame's body.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Tree = Any  # a value as ``values.encode`` makes it
Count = Annotated[int, msgspec.Meta(ge=0)]
# How gradients are asked for: of the outputs as they are; of the sum of the first output with the
# first input; of the transposed outputs; added to those of an earlier step; a second time.
BackwardVariant = Literal["plain", "residual", "transposed", "accumulated", "again"]
MAX_DIMS = 16
MAX_ELEMENTS = 1 << 40  # of a tensor; on ``meta``, they take no memory
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_ELEMENTS)]
# Bounded while they are decoded, so that nobody multiplies half a million sizes to count elements.
Shape = Annotated[list[Size], msgspec.Meta(max_length=MAX_DIMS)]
Stride = Annotated[list[int], msgspec.Meta(max_length=MAX_DIMS)]


class TensorSpec(msgspec.Struct, omit_defaults=True):
    """A description from which the other side builds a tensor.

    Attributes:
        stride: The strides, in elements; None for a contiguous tensor.
        offset: Where the tensor begins in its storage, which has as much space after the tensor;
            in elements.
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
        operations: Patterns of operations in torch's dispatcher that may not be carried out.
    """

    forbidden: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()


NO_RULES = Rules()


class Load(_Operation, tag="load", omit_defaults=True):
    """Run a submission's source as a module of its own, under these rules.

    Attributes:
        device: The device to which the worker moves all that the trusted side sends from the CPU.
    """

    source: str
    filename: str
    rules: Rules = NO_RULES
    device: str = "cpu"


class Ping(_Operation, tag="ping"):
    """Do nothing but answer, which shows that the worker is alive."""


class Create(_Operation, tag="create"):
    """Construct a module.

    Attributes:
        handle: The number by which later steps refer to the module.
        name: The name of the module's class.
        with_values: Whether the answer is to have the values of the parameters.
    """

    handle: int
    name: str
    args: Tree
    kwargs: Tree
    with_values: bool = False


class Move(_Operation, tag="move"):
    """Move a module to a dtype and a device; None leaves either as it is."""

    handle: int
    dtype: str | None = None
    device: str | None = None


class Renew(_Operation, tag="renew"):
    """Replace a module by one that is constructed anew and given the state of the old one."""

    handle: int


class Arguments(msgspec.Struct):
    """The arguments of one call, with tensors of its own, so that no other call sees changes."""

    args: Tree
    kwargs: Tree


class CopyCriteria(msgspec.Struct, frozen=True):
    """Which repeated numbers in a tensor count as a copy.

    Attributes:
        times: How many times, at least, the tensor holds each of the numbers.
        least: How many different numbers there are at least.
        most: How many different numbers there are at most: more are copies of something else.
    """

    times: Annotated[int, msgspec.Meta(ge=1)]
    least: Count
    most: Count


class Call(_Operation, tag="call", omit_defaults=True):
    """Call a module, a method of it, or a function, once for each set of arguments.

    Attributes:
        target: A module's handle, or a function's name.
        method: The name of the module's method; empty for the module itself.
        weights: New values of parameters, as indices of tensors; set before the first call.
        functional_weights: Whether the module has the weights during the calls only, by
            ``functional_call``.
        mode: Whether to switch the module to training; None leaves it as it is.
        results_handle: The handle by which later steps refer to the results; None if none will.
        gradients: Whether gradients may be asked for later: of the inputs that require one, and of
            the parameters in ``grad_parameters``.
        frozen: Names of parameters that must not learn.
        inference: Whether to make the calls in inference mode.
        nonleaf_inputs: Whether inputs that require a gradient are passed as results of an
            operation, as of an earlier layer, not as leaves.
        detect_inplace: Whether to report which inputs the calls change, and what else they leave
            changed.
        overwrites: Whether to encode a result only after the last call, which may have overwritten
            it.
        refill_inputs: Whether all calls get the tensors of the first, filled with other values.
        use_other_device: Whether to put the inputs on another device, which ``meta`` stands for,
            and to answer with the values of results there.
        copies: Which repeated numbers to look for in each tensor that operations of the calls take
            or return; None for no search.
        report_storage: Whether to report how much memory lies behind the results.
        report_counts: Whether to report how many numbers operations make, and how many tensors
            are kept for a backward.
        stops_at_nan: Whether to raise where an operation makes NaN from tensors that hold none.
    """

    target: int | str
    calls: list[Arguments]
    method: str = ""
    weights: dict[str, int] = {}
    functional_weights: bool = False
    mode: bool | None = None
    results_handle: int | None = None
    gradients: bool = False
    grad_parameters: list[str] = []
    frozen: list[str] = []
    inference: bool = False
    nonleaf_inputs: bool = False
    detect_inplace: bool = False
    overwrites: bool = False
    refill_inputs: bool = False
    use_other_device: bool = False
    copies: CopyCriteria | None = None
    report_storage: bool = False
    report_counts: bool = False
    stops_at_nan: bool = False


class Backward(_Operation, tag="backward"):
    """Compute gradients of calls that were kept, given the gradients of some of their outputs.

    Attributes:
        handle: The handle of the calls.
        outputs: The path to each output: the index of its call, then indices and keys.
        way: How the gradients are asked for.
    """

    handle: int
    outputs: list[list[int | str]]
    way: BackwardVariant = "plain"


Operation = Load | Ping | Create | Move | Renew | Call | Backward


class Step(msgspec.Struct, omit_defaults=True):
    """One operation of a request.

    Attributes:
        size: The size of the step's tensors in the body, in bytes.
        seed: The seed that the random numbers get before the operation; None for no new seed.
    """

    operation: Operation
    tensors: list[TensorSpec] = []
    size: Count = 0
    seed: int | None = None


class Request(msgspec.Struct):
    """The steps that a worker is asked to carry out.

    Attributes:
        groups: The number of steps in each group; if it is empty, all steps are one group. After a
            step that fails, the rest of its group is not tried.
        number: The number that the reply must repeat.
        release: Handles of objects that no later step will refer to.
        seconds: The wall-clock time that the worker has; shortly before the end, it prints which
            line it is running. 0 for no limit.
    """

    steps: list[Step]
    release: list[int] = []
    number: int = 0
    groups: list[Count] = []
    seconds: float = 0.0
