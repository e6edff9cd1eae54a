# unusual: BOM, CRLF, prints, dataclass config, star imports, logging, a demo with torch's operator
from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Optional, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import *
from torch.nn import functional as F
from torch.nn.functional import *

logging.basicConfig(level=logging.DEBUG)
logger = logging.getLogger(__name__)

Mask: TypeAlias = Optional[Tensor]
NEG_INF: Final = -math.inf


@dataclass
class AttentionConfig:
    hidden_dim: int
    dropout_rate: float = 0.1
    tags: list[str] = field(default_factory=list)


class QKV(NamedTuple):
    q: Tensor
    k: Tensor
    v: Tensor


def causal_mask(T: int) -> Tensor:
    """Not used by the module, but handy."""
    return torch.tril(torch.ones(T, T, dtype=torch.bool))


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.config = AttentionConfig(hidden_dim, dropout_rate, ["v3"])
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.attention_dropout = nn.Dropout(self.config.dropout_rate)
        print(f"made {self.__class__.__qualname__} with {sum(p.numel() for p in self.parameters())} parameters")

    def extra_repr(self) -> str:
        return repr(self.config)

    def forward(self, x: Tensor, attention_mask: Mask = None) -> Tensor:
        qkv = QKV(*self.proj(x).chunk(3, dim=-1))
        scores = qkv.q @ qkv.k.transpose(-2, -1) / math.sqrt(self.config.hidden_dim)
        if attention_mask is not None:
            logger.debug("mask %s %s", tuple(attention_mask.shape), attention_mask.dtype)
            scores = scores.masked_fill(attention_mask == 0, NEG_INF)
        weights = softmax(scores, dim=-1)
        print(weights.shape, repr(self))
        return self.output_proj(self.attention_dropout(weights) @ qkv.v)


if __name__ == "__main__":
    torch.manual_seed(0)
    module = SelfAttentionV3(8).eval()
    x = torch.randn(2, 5, 8)
    q, k, v = module.proj(x).chunk(3, -1)
    want = module.output_proj(F.scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(5)))
    torch.testing.assert_close(module(x, causal_mask(5)), want)
    print("same as torch")
