"""The layout of an attention exercise's weights, and what else its pipeline needs to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WeightLayout:
    """The names of the layers in an exercise's attention, and what else this attention has.

    Attributes:
        queries: Name of the layer that makes queries; this and the next two are empty where one
            fused layer makes all three, or where there are no weights.
        keys: Name of the layer that makes keys.
        values: Name of the layer that makes values.
        fused: Name of the one layer that makes all three instead, queries first.
        output: Name of the layer after the mixing.
        bare: Whether these names are those of parameters (in, out), not of linear layers.
        bias: Whether the layers have biases.
        widens: Whether queries, keys and values may have another width than the input.
        scaled: Whether scores are divided by the root of the head size.
        heads: Whether there are several heads.
        masks: Whether the module takes ``attention_mask``.
        dropout: Whether the constructor takes ``dropout_rate``.
        block: Whether the attention, named ``attention``, lies inside a transformer block.

    Example:
        >>> layout = WeightLayout("q_proj", "k_proj", "v_proj", output="o_proj", heads=True)
        >>> "heads" in layout.features, "masks" in layout.features
        (True, False)
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
        """What the exercise has of what mistakes may need: ``weights``, ``bias``, ``heads`` etc."""
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
            "no masks": not self.masks,
            "dropout": self.dropout,
            "block": self.block,
            "no block": not self.block,
        }
        return frozenset(name for name, there in has.items() if there)
