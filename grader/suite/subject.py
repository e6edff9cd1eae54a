"""What a suite grades: the contract of an exercise, in figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from grader.diagnosis.form import Form
from grader.suite.oracle import Weights


@dataclass(frozen=True)
class Sizes:
    """The sizes of one try: distinct primes where they are free, so that a swapped axis shows.

    Attributes:
        B: Sequences in a batch; 0 for a single sequence without a batch dimension.
        T: Positions.
        C: Features of the input.
        E: Features of the output; C where 0.
        H: Heads.
    """

    B: int
    T: int
    C: int
    E: int = 0
    H: int = 1

    @property
    def out(self) -> int:
        """Features of the output."""
        return self.E or self.C

    def revealing(self) -> Sizes:
        """Sizes at which an output reveals its weights.

        Few vectors of many features are nearly orthogonal, so that rounding is not amplified
        when the weights are recovered.
        """
        D = max(self.out // self.H, 53)
        width = D * self.H
        B = max(self.B, 2)
        return Sizes(B, 5, width - 12, width) if self.E else Sizes(B, 5, width, H=self.H)

    def shape(self, features: int) -> tuple[int, ...]:
        """``(B, T, features)``, or ``(T, features)`` without a batch."""
        return (self.B, self.T, features) if self.B else (self.T, features)


@dataclass(frozen=True)
class Subject:
    """The contract of an exercise, as its suite's claims need it.

    Attributes:
        name: The entry point.
        sizes: To be tried; the first is used where one will do.
        parameters: Names and shapes of all parameters, by sizes; None for a function.
        arguments: Of the constructor, by sizes.
        oracle: The right output in float64, from weights, x, a mask or None, and sizes.
        scale: What the right scores are multiplied by, by sizes.
        mix: From weights, x and sizes: the vectors that the attention weights mix,
            (B, H·T, E), and what is added to the mixture. None where no such thing exists.
        level_queries: The same weights, changed so that every query attends to all keys alike.
        shift_keys: The same weights with a vector (C,) added to every key, which adds the same
            to all scores of a query. None where keys have no bias.
        masks: Whether it takes ``attention_mask``.
        dropout: Whether it takes ``dropout_rate``.
        default_rate: Of dropout, where the constructor is given none.
        kinks: From weights, x and sizes: numbers at whose zero a right gradient jumps, such as
            what goes into a ReLU. None where all is smooth.
        form: How the weights lie, for the diagnosis; None where there is none.
        inner: The attention inside, which the submission defines as well.
    """

    name: str
    sizes: tuple[Sizes, ...]
    oracle: Callable[[Weights, Tensor, Tensor | None, Sizes], Tensor]
    parameters: Callable[[Sizes], dict[str, tuple[int, ...]]] | None = None
    arguments: Callable[[Sizes], dict[str, Any]] = field(default=lambda sizes: {})
    scale: Callable[[Sizes], float] = field(default=lambda sizes: 1.0)
    mix: Callable[[Weights, Tensor, Sizes], tuple[Tensor, Tensor | float]] | None = None
    level_queries: Callable[[Weights], Weights] = field(default=lambda weights: weights)
    shift_keys: Callable[[Weights, Tensor], Weights] | None = None
    masks: bool = False
    dropout: bool = False
    default_rate: float = 0.1
    kinks: Callable[[Weights, Tensor, Sizes], Tensor] | None = None
    form: Form | None = None
    inner: Subject | None = None
