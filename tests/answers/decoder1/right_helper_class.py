# a class for the mask and a method for each head; the rules are checked in functions of their own
from math import sqrt

import torch
from torch import Tensor, nn


class Past(nn.Module):
    def __init__(self, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.register_buffer("places", torch.arange(longest), persistent=False)

    def forward(self, scores: Tensor) -> Tensor:
        places = self.places[: scores.size(-1)]
        return torch.where(places <= places[:, None], scores, float("-inf"))


def refuse(one: int, other: int, why: str) -> None:
    raise ValueError(f"{one} and {other}: {why}")


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        if embed_dim % num_heads > 0:
            refuse(embed_dim, num_heads, "the heads do not divide the width")
        super().__init__()
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))
        self.past = Past(max_len)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > self.past.longest:
            refuse(x.shape[1], self.past.longest, "too many tokens")
        q, k, v = (p(x).chunk(self.num_heads, -1) for p in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(torch.cat([self._head(*one) for one in zip(q, k, v)], dim=-1))

    def _head(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.past(q @ k.mT / sqrt(q.size(-1))).softmax(-1) @ v
