"""The contract of an exercise in attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.attention.layout import WeightLayout
from grader.attention.maps import attention_maps, maps_of
from grader.attention.observe import observe
from grader.attention.situations import ATTENTION_SITUATIONS
from grader.records import AttentionMap
from grader.suite.contract import Contract, Input
from grader.suite.draw import Draw
from grader.suite.oracle import Weights
from grader.suite.situations.places import SituationKind
from grader.suite.sizes import Sizes

REVEALING_T = 5  # so few vectors of many features are nearly orthogonal
MIN_REVEALING_D = 53


def _visible_and_hidden(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Draw a mask in which each query sees some but not all keys, and each key is seen by a query.

    A key hidden from all queries would give NaN in a softmax over the queries, so whether that
    mistake gives NaN would depend on chance.
    """
    while not (mask := draw.mask(*shape)).any(-2).all():
        pass
    return mask


X = Input("B T C")
"""The input of an attention: B sequences of T tokens, each of C features.

Example:
    >>> X.shape
    'B T C'
"""
MASK = Input("B T T", _visible_and_hidden, optional=True, differentiable=False)
"""A mask that a call may leave out, of queries before keys; nonzero = may attend.

Example:
    >>> inputs = {"x": X, "attention_mask": MASK}
    >>> [name for name, given in inputs.items() if given.optional]
    ['attention_mask']
"""
NO_DROPOUT: Mapping[str, Any] = {"dropout_rate": 0.0}
"""What a contract with dropout has as ``deterministic``: with it nothing is random.

Example:
    >>> contract = AttentionContract(
    ...     entry="Attention", oracle=lambda weights, sizes, x: x, deterministic=NO_DROPOUT
    ... )
    >>> contract.dropout
    True
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionContract(Contract):
    """The contract of an exercise in attention.

    The input is named ``x``, and a mask that hides keys ``attention_mask``, nonzero = may attend.

    Attributes:
        scale: Function from sizes to the factor that right scores multiply q·k by.
        biases: Function from sizes to what is then added to the scores, (H, T, T); None for
            nothing.
        value_vectors: Function from weights, sizes and x to the vectors that the attention weights
            mix, (B, H·T, E), and what is added to the mixture. None where no such vectors exist.
        zero_queries: Function that changes weights so that every query attends to all keys alike;
            None where there are no such weights.
        shift_keys: Function that changes weights so that a vector (C,) is added to every key, which
            adds the same number to all scores of a query. None where keys have no bias.
        default_rate: Dropout rate where the constructor is given none.
        methods: Functions from weights, sizes and x to the right results, a dict of Tensors, of
            each method besides ``forward``, by its name.
        layout: Layout of the weights, for the diagnosis; None where there is none.
        inner: Contract of the attention inside, which the submission defines as well.

    Example:
        >>> plain = AttentionContract(
        ...     entry="Attention",
        ...     sizes=(Sizes(B=3, T=5, C=7),),
        ...     oracle=lambda weights, sizes, x: attention_map(x, x, sizes.C**-0.5) @ x,
        ...     scale=lambda sizes: sizes.C**-0.5,
        ... )
        >>> plain.masks, plain.dropout
        (False, False)
    """

    scale: Callable[[Sizes], float] = field(default=lambda sizes: 1.0)
    biases: Callable[[Sizes], Tensor] | None = None
    value_vectors: Callable[[Weights, Sizes, Tensor], tuple[Tensor, Tensor | float]] | None = None
    zero_queries: Callable[[Weights], Weights] | None = None
    shift_keys: Callable[[Weights, Tensor], Weights] | None = None
    default_rate: float = 0.1
    methods: Mapping[str, Callable[[Weights, Sizes, Tensor], dict[str, Tensor]]] = field(
        default_factory=dict
    )
    layout: WeightLayout | None = None
    inner: AttentionContract | None = None

    @property
    def masks(self) -> bool:
        """Whether the submission takes ``attention_mask``."""
        return "attention_mask" in self.inputs

    @property
    def dropout(self) -> bool:
        """Whether the constructor takes ``dropout_rate``."""
        return "dropout_rate" in self.deterministic

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The constructor's default arguments, with the dropout rate among them."""
        rate = {"dropout_rate": self.default_rate} if self.dropout else {}
        return {**super().defaults, **rate}

    @property
    def every_argument(self) -> Mapping[str, Any]:
        """All arguments that the constructor may take, by name, those of variants among them."""
        found = dict(super().every_argument)
        for variant in self.variants.values():
            found |= variant.arguments(variant.sizes[0])
        return found

    def revealing(self, sizes: Sizes) -> Sizes:
        """Return sizes at which an output reveals the attention weights behind it.

        Few vectors of many features are nearly orthogonal, so recovering the weights does not
        amplify rounding.
        """
        letter, heads = self.out_shape.split()[-1], sizes.get("H", 1)
        width = max(sizes[letter] // heads, MIN_REVEALING_D) * heads
        wide = {letter: width} if letter == "C" else {letter: width, "C": width - 12}
        return self.fit(sizes.replace(B=max(sizes.B, 2), T=REVEALING_T, **wide))

    def plain_weights(self, weights: Weights) -> Weights:
        """Return weights that make all queries 0, if possible: the scores' factor has no effect."""
        return weights if self.zero_queries is None else self.zero_queries(weights)

    @property
    def situation_kind(self) -> SituationKind | None:
        """Situations that also vary masks and dropout; None where the contract has other inputs."""
        return ATTENTION_SITUATIONS if set(self.inputs) <= {"x", "attention_mask"} else None

    def observe(self, harness: Any) -> list[Any]:
        """Return what the submission computes in calls for a diagnosis; none without a layout."""
        return [] if self.layout is None else observe(harness)

    def maps_of(self, call: Any) -> list[AttentionMap]:
        """Return the submission's attention weights per head in a call, beside the right ones."""
        return maps_of(call)

    def maps(self, harness: Any) -> list[AttentionMap]:
        """Return each head's attention weights for random inputs, beside the right ones."""
        return attention_maps(harness)


def causal_mask(sizes: Sizes) -> Tensor:
    """Return a (T, T) mask by which each position may attend to itself and to earlier ones.

    Example:
        >>> causal_mask(Sizes(T=2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return torch.ones(sizes.T, sizes.T).tril()
