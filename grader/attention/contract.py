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
from grader.attention.situations import AttentionSituations
from grader.records import AttentionMap
from grader.suite.contract import Contract, Input, Sizes
from grader.suite.draw import Draw
from grader.suite.oracle import Weights

FEW = 5  # vectors: of many features they are nearly orthogonal
WIDE = 53  # features


def _visible_and_hidden(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Each query sees some keys and not all, and no key is hidden from all queries.

    What a softmax over the queries makes of one that is, NaN, would be a matter of chance.
    """
    while not (mask := draw.mask(*shape)).any(-2).all():
        pass
    return mask


X = Input("B T C")
MASK = Input("B T T", _visible_and_hidden, optional=True, differentiable=False)
NO_DROPOUT: Mapping[str, Any] = {"dropout_rate": 0.0}


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionContract(Contract):
    """The contract of an exercise in attention.

    Its input is ``x``; one that hides keys is ``attention_mask``, nonzero = may attend.

    Attributes:
        scale: What the right scores are multiplied by, by sizes.
        biases: What is then added to them, by sizes, (H, T, T); None for nothing.
        value_vectors: From weights, sizes and x: the vectors that the attention weights mix,
            (B, H·T, E), and what is added to the mixture. None where no such thing exists.
        zero_queries: The same weights, changed so that every query attends to all keys alike.
        shift_keys: The same weights with a vector (C,) added to every key, which adds the same
            to all scores of a query. None where keys have no bias.
        default_rate: Of dropout, where the constructor is given none.
        methods: What other methods than ``forward`` give, from weights, sizes and x, by name: each
            a dict of Tensors.
        layout: How the weights lie, for the diagnosis; None where there is none.
        inner: The attention inside, which the submission defines as well.
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
        """Whether it takes ``attention_mask``."""
        return "attention_mask" in self.inputs

    @property
    def dropout(self) -> bool:
        """Whether it takes ``dropout_rate``."""
        return "dropout_rate" in self.deterministic

    @property
    def defaults(self) -> Mapping[str, Any]:
        """With the rate of dropout."""
        rate = {"dropout_rate": self.default_rate} if self.dropout else {}
        return {**super().defaults, **rate}

    @property
    def every_argument(self) -> Mapping[str, Any]:
        """Those of the variants as well."""
        found = dict(super().every_argument)
        for variant in self.variants.values():
            found |= variant.arguments(variant.sizes[0])
        return found

    @property
    def output_letter(self) -> str:
        """The size of the output's features: C, or another letter."""
        letters = next(iter(self.outputs.values()))
        assert letters is not None
        return letters.split()[-1]

    def revealing(self, sizes: Sizes) -> Sizes:
        """Sizes at which an output reveals its weights.

        Few vectors of many features are nearly orthogonal, so that rounding is not amplified
        when the weights are recovered.
        """
        letter, heads = self.output_letter, sizes.get("H", 1)
        width = max(sizes[letter] // heads, WIDE) * heads
        wide = {letter: width} if letter == "C" else {letter: width, "C": width - 12}
        return self.fit(sizes.replace(B=max(sizes.B, 2), T=FEW, **wide))

    def plain_weights(self, weights: Weights) -> Weights:
        """With all queries at zero, no scale has an effect."""
        return weights if self.zero_queries is None else self.zero_queries(weights)

    @property
    def kind(self) -> AttentionSituations | None:
        """Masks and dropout are factors too; None where there are inputs of other kinds."""
        return AttentionSituations() if set(self.inputs) <= {"x", "attention_mask"} else None

    def observe(self, harness: Any) -> list[Any]:
        """What the submission does, for a diagnosis; nothing where no layout is known."""
        return [] if self.layout is None else observe(harness)

    def maps_of(self, call: Any) -> list[AttentionMap]:
        """What the submission attends to in a call."""
        return maps_of(call)

    def maps(self, harness: Any) -> list[AttentionMap]:
        """What the submission attends to."""
        return attention_maps(harness)


def causal_mask(sizes: Sizes) -> Tensor:
    """Each position may attend to itself and to what came before, (T, T)."""
    return torch.ones(sizes.T, sizes.T).tril()
