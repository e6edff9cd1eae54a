"""The contract of an exercise: names, shapes, sizes and the oracle that its suite grades by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader.records import AttentionMap
from grader.suite.draw import Draw
from grader.suite.oracle import Weights
from grader.suite.sizes import Sizes

Oracle = Callable[..., Tensor | Mapping[str, Tensor]]


def draw_normal(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Draw normally distributed numbers with mean 0 and standard deviation 1."""
    return draw.normal(*shape)


@dataclass(frozen=True)
class Input:
    """One input of a function or module.

    Attributes:
        shape: Shape in letters, such as ``B T C``.
        draw: Draws values of a given shape at given sizes.
        optional: Whether a call may leave the input out.
        differentiable: Whether gradients of the input are requested.
        by_keyword: Whether the input is always passed by name.
        handed_on: Whether the input is never drawn, but always an output of an earlier call.
        kinds: Other ways to draw the input, by name; the names are the levels of a factor.
        forms: Ways to represent what was drawn, such as dtypes of a mask, by name: another factor.
        length: Letter of a size that is 0 where the input is left out; empty if there is none.
        confined: Whether the input is only ever tried as drawn, since not all numbers are allowed
            (weights above 0, say). Otherwise it is also tried as zeros, as very large, and so on.

    Example:
        >>> labels = Input(
        ...     "B",
        ...     lambda draw, shape, sizes: draw.integers(0, sizes.K - 1, *shape),
        ...     differentiable=False,
        ... )
        >>> labels.draw(Draw(1), (4,), Sizes(B=4, K=2)).shape
        torch.Size([4])
    """

    shape: str
    draw: Callable[[Draw, tuple[int, ...], Sizes], Tensor] = draw_normal
    optional: bool = False
    differentiable: bool = True
    by_keyword: bool = False
    handed_on: bool = False
    kinds: Mapping[str, Callable[[Draw, tuple[int, ...], Sizes], Tensor]] = field(
        default_factory=dict
    )
    forms: Mapping[str, Callable[[Draw, Tensor], Tensor]] = field(default_factory=dict)
    length: str = ""
    confined: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Contract:
    """The contract of an exercise, in the form that the claims of its suite need.

    Attributes:
        entry: Name of the class or function to call, or of a part of one: ``Function.apply``.
        method: Name of the method to call; empty to call the module itself.
        sizes: Sizes to try; the first are used where one set is enough. In situations every letter
            of an input or of ``arguments`` varies: one known from attention, such as T, as suits
            its meaning; any other as a factor of its own, unless ``fit`` determines it.
        inputs: Inputs by name, in the order of the arguments.
        outputs: Shape of each output in letters, by name; None for one that is only handed on. A
            single output is returned as it is, several as a tuple in this order.
        tuples: Names of the parts of each argument or output that is a tuple, by its name. The
            parts stand in ``inputs`` or ``outputs``; a call leaves out all parts or none.
        integers: Names of outputs that are integers: exactly right, in integers of any width.
        oracle: Computes the right outputs in float64 from weights, sizes, and the inputs by name;
            returns a Tensor, or one for each compared output, by name.
        parameters: Returns names and shapes of all parameters at given sizes; None for a function.
        arguments: Returns the arguments of the constructor at given sizes; for a function, those
            that it takes beside its inputs, by name.
        around_one: Names of the parameters that are drawn around 1, such as a norm's gain.
        frozen: Names of the parameters that must have ``requires_grad=False``.
        deterministic: Constructor arguments that remove all randomness from training mode.
        kinks: Computes, from weights, sizes and the inputs, numbers at whose zeros a right gradient
            jumps, such as the input of a ReLU. None where everything is smooth.
        extra_tolerance: Computes from the inputs by how much, beyond rounding, a right answer may
            be off in any dtype, relative to the largest value (if angles are float32, say). None
            for 0.
        must_be_zero: Computes from the inputs, for outputs and gradients of inputs by name, where
            they have to be exactly 0: a bool Tensor that broadcasts to each. None for nowhere.
        is_exact: Returns whether no constant is rounded in any dtype at given sizes, so that in
            float64 a right answer is right to the last digits.
        fit: Returns drawn sizes, changed so that they fit one another: to an even D, say.
        derived: Returns sizes with those added that follow from the others in a call: how many
            tokens a cache holds afterwards, say.
        unbatched: Whether a single sequence without a batch dimension is accepted as well.
        variants: The same contract with other arguments, by a name that describes these. What is
            tried at every seed, beside the drawn situations, has the first: it has to be a usual
            one, as a window of one token, say, hides nearly everything.
        tried: Whether the claims have to hold in every situation.
        inner: Contract of a part inside this one that the submission defines as well.
        parts: Contracts of further such parts.
        default_arguments: Constructor arguments that may be left out, with their defaults.

    Example:
        >>> double = Contract(
        ...     entry="double",
        ...     sizes=(Sizes(B=3, T=5, C=7),),
        ...     oracle=lambda weights, sizes, x: 2 * x,
        ... )
        >>> double.right({}, double.sizes[0], {"x": torch.ones(2)})
        {'output': tensor([2., 2.])}
    """

    entry: str
    oracle: Oracle
    method: str = ""
    sizes: tuple[Sizes, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=lambda: {"x": Input("B T C")})
    outputs: Mapping[str, str | None] = field(default_factory=lambda: {"output": "B T C"})
    tuples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    integers: tuple[str, ...] = ()
    parameters: Callable[[Sizes], dict[str, tuple[int, ...]]] | None = None
    arguments: Callable[[Sizes], dict[str, Any]] = field(default=lambda sizes: {})
    around_one: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    deterministic: Mapping[str, Any] = field(default_factory=dict)
    kinks: Callable[..., Tensor] | None = None
    extra_tolerance: Callable[..., float] | None = None
    must_be_zero: Callable[..., Mapping[str, Tensor]] | None = None
    is_exact: Callable[[Sizes], bool] = field(default=lambda sizes: False)
    fit: Callable[[Sizes], Sizes] = field(default=lambda sizes: sizes)
    derived: Callable[[Sizes], Sizes] = field(default=lambda sizes: sizes)
    unbatched: bool = False
    variants: Mapping[str, Contract] = field(default_factory=dict)
    tried: bool = True
    inner: Contract | None = None
    parts: tuple[Contract, ...] = ()
    default_arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_situations(self) -> bool:
        """Whether the claims have to hold in every situation, at sizes of all kinds."""
        return self.tried and bool(self.sizes)

    @property
    def situation_kind(self) -> Any:
        """The ``SituationKind`` of this kind of contract; None for the one that suits any."""
        return None

    @property
    def part_contracts(self) -> tuple[Contract, ...]:
        """The contracts of all parts inside this one."""
        return (*((self.inner,) if self.inner else ()), *self.parts)

    @property
    def keeps_form(self) -> bool:
        """Whether the first compared output has the shape of the first differentiable input."""
        first = next(iter(self.differentiable), None)
        return first is not None and self.out_shape == self.inputs[first].shape

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Constructor arguments that may be left out, with their defaults."""
        return self.default_arguments

    @property
    def every_argument(self) -> Mapping[str, Any]:
        """All arguments that the constructor may be given, by name, as at the first sizes."""
        return self.arguments(self.sizes[0]) if self.sizes else {}

    @property
    def carried(self) -> list[str]:
        """Names of the outputs that a later call takes as inputs."""
        return [name for name in self.outputs if name in self.inputs]

    @property
    def differentiable(self) -> list[str]:
        """Names of the inputs whose gradients are requested."""
        return [name for name, given in self.inputs.items() if given.differentiable]

    @property
    def compared(self) -> list[str]:
        """Names of the outputs that are compared as floats."""
        return list(self.compared_shapes)

    @property
    def compared_shapes(self) -> dict[str, str]:
        """Shapes in letters of the outputs that are compared as floats, by name."""
        there = {name: letters for name, letters in self.outputs.items() if letters is not None}
        return {name: letters for name, letters in there.items() if name not in self.integers}

    @property
    def out_shape(self) -> str:
        """Shape in letters of the first compared output."""
        return self.compared_shapes[self.compared[0]]

    @property
    def optional(self) -> list[str]:
        """Names of the inputs that are drawn and that a call may leave out."""
        return [n for n, given in self.inputs.items() if given.optional and not given.handed_on]

    def whole_of(self, name: str) -> str:
        """Return the name of the tuple that an input or output is part of; its own name if none."""
        return next((whole for whole, parts in self.tuples.items() if name in parts), name)

    def wholes(self, names: Iterable[str]) -> list[str]:
        """Return the names of the arguments or outputs that these parts make up, each name once."""
        return list(dict.fromkeys(map(self.whole_of, names)))

    def parts_of(self, whole: str) -> tuple[str, ...]:
        """Return the names of an argument's or output's parts; its own name if it is no tuple."""
        return self.tuples.get(whole, (whole,))

    def extra_tolerance_at(self, inputs: Mapping[str, Tensor]) -> float:
        """Return by how much, beyond rounding, a right answer to these inputs may be off."""
        return self.extra_tolerance(**inputs) if self.extra_tolerance else 0.0

    def right(
        self, weights: Weights, sizes: Sizes, inputs: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Compute the right outputs by name, in float64."""
        found = self.oracle(weights, sizes, **inputs)
        return {self.compared[0]: found} if isinstance(found, Tensor) else dict(found)

    def plain_weights(self, weights: Weights) -> Weights:
        """Return these weights; a subclass may change them so that no rounded constant matters."""
        return weights

    def observe(self, harness: Any) -> list[Any]:
        """Return observations of the submission for a diagnosis to explain; none in this class."""
        return []

    def maps_of(self, call: Any) -> list[AttentionMap]:
        """Return the attention maps of a call; none in this class."""
        return []

    def maps(self, harness: Any) -> list[AttentionMap]:
        """Return the attention maps of the submission for drawn inputs; none in this class."""
        return []
