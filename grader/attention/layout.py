"""How an exercise of attention lays out its weights, and what else its pipeline needs to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WeightLayout:
    """An exercise's attention, in names.

    Attributes:
        queries: The layer that makes queries; all three are empty where there are no weights.
        keys: The layer that makes keys.
        values: The layer that makes values.
        fused: One layer that makes all three instead, queries first.
        output: The layer after the mixing.
        bare: Whether the three are parameters (in, out) themselves, not linear layers.
        bias: Whether the layers have biases.
        widens: Whether queries, keys and values may have another width than the input.
        scaled: Whether scores are divided by the root of the head size.
        heads: Whether there are several.
        masks: Whether it takes ``attention_mask``.
        dropout: Whether it takes ``dropout_rate``.
        block: Whether the attention, named ``attention``, lies inside a transformer block.
    """

    queries: str = ""
    keys: str = ""
    values: str = ""
    fused: str = ""
    output: str = ""
    bare: bool = False
    bias: bool = False
    widens: bool = False
    scaled: bool = True
    heads: bool = False
    masks: bool = False
    dropout: bool = False
    block: bool = False

    @property
    def features(self) -> frozenset[str]:
        """What a mistake may need: ``weights``, ``fused``, ``bias``, ``heads`` and so on."""
        has = {
            "weights": bool(self.queries or self.fused),
            "fused": bool(self.fused),
            "separate": bool(self.queries),
            "linear": bool(self.queries or self.fused) and not self.bare,
            "output": bool(self.output),
            "bias": self.bias,
            "widens": self.widens,
            "square": not self.widens,
            "scaled": self.scaled,
            "unscaled": not self.scaled,
            "heads": self.heads,
            "one head": not self.heads,
            "masks": self.masks,
            "dropout": self.dropout,
            "block": self.block,
            "no block": not self.block,
        }
        return frozenset(name for name, there in has.items() if there)
