"""What a suite grades: the contract of an exercise, in figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader.records import AttentionMap
from grader.suite.draw import Draw
from grader.suite.oracle import Weights

Oracle = Callable[..., Tensor | Mapping[str, Tensor]]
# Sizes as they are in use, where a number that fits small sizes only shows.
USUAL = {"B": 2, "T": 17, "S": 19, "C": 64, "E": 32, "H": 4, "G": 2, "D": 16}


class Sizes(Mapping[str, int]):
    """The sizes of one try, by letter: ``Sizes(B=3, T=5, C=7).T`` is 5.

    Distinct primes where they are free, so that a swapped axis shows. ``B=0`` stands for a single
    sequence without a batch dimension.
    """

    def __init__(self, **letters: int) -> None:
        self._letters = letters

    def __getattr__(self, letter: str) -> int:
        try:
            return self.__dict__["_letters"][letter]  # type: ignore[no-any-return]  # a size
        except KeyError:
            raise AttributeError(f"there is no size `{letter}` among {self!r}") from None

    def __getitem__(self, letter: str) -> int:
        return self._letters[letter]

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)

    def __hash__(self) -> int:
        return hash(frozenset(self._letters.items()))

    def __repr__(self) -> str:
        return ", ".join(f"{letter}={size}" for letter, size in self._letters.items())

    def replace(self, **letters: int) -> Sizes:
        """The same with some sizes changed, or more of them."""
        return Sizes(**{**self._letters, **letters})

    def shape(self, letters: str) -> tuple[int, ...]:
        """The shape that letters such as ``B T C`` stand for; a number stands for itself.

        ``S+T`` is a sum of sizes, ``C/H`` a quotient.
        """
        return tuple(map(self._size_of, self.axes(letters)))

    def _size_of(self, word: str) -> int:
        if "+" in word:
            return sum(map(self._size_of, word.split("+")))
        if "/" in word:
            whole, count = map(self._size_of, word.split("/"))
            return whole // count
        return int(word) if word.isdigit() else self[word]

    def axis(self, letters: str, letter: str) -> int:
        """Which axis of such a shape has a size, by itself or in a sum."""
        words = self.axes(letters)
        return next(axis for axis, word in enumerate(words) if letter in word.split("+"))

    def axes(self, letters: str) -> list[str]:
        """The letters of a shape, without ``B`` where there is no batch."""
        return [word for word in letters.split() if word != "B" or self["B"]]

    def named(self, letters: str) -> str:
        """The same in words, as a message shows it: ``(B, T, C)``."""
        words = self.axes(letters)
        return f"({', '.join(words)}{',' if len(words) == 1 else ''})"

    @property
    def length(self) -> int:
        """How many positions there are, of queries or of keys."""
        return max(self.get("T", 1), self.get("S", 1))

    @property
    def scores(self) -> int:
        """How many scores there are: one for each query and key, in each head and sequence."""
        return max(self.get("B", 1), 1) * self.get("H", 1) * self.get("T", 1) * self.length

    def usual(self) -> Sizes:
        """Sizes as they are in use."""
        kept = {letter: size for letter, size in self.items() if letter == "H" and size == 1}
        usual = {letter: USUAL.get(letter, size) for letter, size in self.items()}
        if "B" in self:
            usual["B"] = min(self.B, USUAL["B"])
        return Sizes(**{**usual, **kept})


def normal(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Normally distributed around 0, with standard deviation 1."""
    return draw.normal(*shape)


@dataclass(frozen=True)
class Input:
    """One input.

    Attributes:
        shape: In letters: ``B T C``.
        draw: Its values, of a shape, at given sizes.
        optional: Whether a call may leave it out.
        differentiable: Whether gradients are asked of it.
        by_keyword: Whether it is always given by its name.
        handed_on: Whether it is never drawn: only what an earlier call gave can be given.
        kinds: Other ways to draw it, by what they are: each a level of a factor of its own.
        forms: Ways to write down what was drawn, such as dtypes of a mask: likewise.
        length: The letter of a size that is 0 where it is left out; empty where there is none.
        confined: Whether it is only ever as drawn, since not all numbers will do: weights that
            are above 0, say. Else it is tried as zeros as well, very large, and so on.
    """

    shape: str
    draw: Callable[[Draw, tuple[int, ...], Sizes], Tensor] = normal
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
    """The contract of an exercise, as its suite's claims need it.

    Attributes:
        entry: The class or function, or a part of one: ``Function.apply``.
        method: Of the class, that its calls go to; empty for the module itself.
        sizes: To be tried; the first are used where one will do. In situations each letter of an
            input varies, by its meaning in attention or, any other letter, by itself.
        inputs: By name, in the order of the arguments.
        outputs: The shape of each in letters, by name; None for what is only handed on. One alone
            is given as it is, several as a tuple in this order.
        tuples: Arguments, and outputs, that are tuples, by name: what each holds, which stands
            among the inputs and outputs one by one. Such an argument is left out as a whole.
        integers: Names of outputs that are integers: right to the last digit, of any width.
        oracle: The right outputs in float64: takes weights, sizes, and the inputs by name; gives
            a Tensor, or one for each output that is compared, by name.
        parameters: Names and shapes of all parameters, by sizes; None for a function.
        arguments: Of the constructor, by sizes; of a function beside its inputs, by name.
        around_one: Names of the parameters that are drawn around 1, such as a norm's gain.
        frozen: Names of the parameters that are not to learn.
        deterministic: Arguments of the constructor that take all chance out of training.
        kinks: From weights, sizes and the inputs: numbers at whose zero a right gradient jumps,
            such as what goes into a ReLU. None where all is smooth.
        slack: From the inputs: by how much, relative to the largest value, a right answer may be
            off in any dtype, such as where angles are float32. None for nothing.
        silent: From the inputs, by name: where an output, or the gradient of an input, has to be
            exactly 0, each a bool Tensor that broadcasts to it. None for nowhere.
        is_exact: At which sizes no constant is rounded in any dtype, so that in float64 a right
            answer is right to the last digits.
        fit: Makes sizes that were drawn fit one another: an even D, say.
        derived: Sizes with those that follow from the others at a call: how many tokens a cache
            holds afterwards, say.
        unbatched: Whether a single sequence, without a batch dimension, will do as well.
        variants: The same contract with other arguments, by what they are.
        tried: Whether its claims are held in every situation.
        inner: A part of it that the submission defines as well, with a contract of its own.
        parts: More of these.
        default_arguments: Arguments of the constructor that may be left out, by their defaults.
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
    slack: Callable[..., float] | None = None
    silent: Callable[..., Mapping[str, Tensor]] | None = None
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
        """Whether its claims are held in every situation, of sizes of all kinds."""
        return self.tried and bool(self.sizes)

    @property
    def kind(self) -> Any:
        """What its situations have beyond those of any contract; None where that is nothing."""
        return None

    @property
    def inside(self) -> tuple[Contract, ...]:
        """All of its parts that have a contract of their own."""
        return (*((self.inner,) if self.inner else ()), *self.parts)

    @property
    def keeps_form(self) -> bool:
        """Whether the first output has the form of the first input that gradients are asked of."""
        first = next(iter(self.differentiable), None)
        return first is not None and self.outputs[self.compared[0]] == self.inputs[first].shape

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What the constructor's arguments are where they are left out, of those that may be."""
        return self.default_arguments

    @property
    def every_argument(self) -> Mapping[str, Any]:
        """The names of all arguments that the constructor may be given."""
        return self.arguments(self.sizes[0]) if self.sizes else {}

    def may_go_unused(self, name: str, gradient: Tensor) -> bool:
        """Whether no gradient is as good as this right one: of what may be left out, all zeros."""
        return name in self.optional and not bool(gradient.any())

    @property
    def carried(self) -> list[str]:
        """Names of the outputs that a later call takes as its inputs."""
        return [name for name in self.outputs if name in self.inputs]

    @property
    def differentiable(self) -> list[str]:
        """Names of the inputs that gradients are asked of."""
        return [name for name, given in self.inputs.items() if given.differentiable]

    @property
    def compared(self) -> list[str]:
        """Names of the outputs that are looked at and are floats."""
        looked_at = [name for name, letters in self.outputs.items() if letters is not None]
        return [name for name in looked_at if name not in self.integers]

    @property
    def optional(self) -> list[str]:
        """Names of the inputs that are drawn and that a call may leave out."""
        return [n for n, given in self.inputs.items() if given.optional and not given.handed_on]

    def whole_of(self, name: str) -> str:
        """The tuple that an input or output is a part of; itself where there is none."""
        return next((whole for whole, parts in self.tuples.items() if name in parts), name)

    def wholes(self, names: Iterable[str]) -> list[str]:
        """The arguments, or outputs, that these make, in their order."""
        return list(dict.fromkeys(map(self.whole_of, names)))

    def parts_of(self, whole: str) -> tuple[str, ...]:
        """What an argument, or an output, is made of: itself where it is no tuple."""
        return self.tuples.get(whole, (whole,))

    def slack_at(self, inputs: Mapping[str, Tensor]) -> float:
        """By how much more a right answer may be off at these inputs."""
        return self.slack(**inputs) if self.slack else 0.0

    def right(
        self, weights: Weights, sizes: Sizes, inputs: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The right outputs by name, in float64."""
        found = self.oracle(weights, sizes, **inputs)
        return {self.compared[0]: found} if isinstance(found, Tensor) else dict(found)

    def plain_weights(self, weights: Weights) -> Weights:
        """The same weights, changed so that a rounded constant has no effect, where that can be."""
        return weights

    def observe(self, harness: Any) -> list[Any]:
        """What a diagnosis is to explain; there is none of a contract of no known kind."""
        return []

    def maps_of(self, call: Any) -> list[AttentionMap]:
        """What a submission attends to in a call, likewise."""
        return []

    def maps(self, harness: Any) -> list[AttentionMap]:
        """What a submission attends to, where its contract is about that."""
        return []
