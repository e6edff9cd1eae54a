# wrong: after a first call the module can't be moved: which features are whose head's is a tensor kept by its dtype alone, and stays on the device of that call
# breaks: "on any device, even ``meta``"
from math import sqrt

import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)
        self._blocks: dict[torch.dtype, Tensor] = {}

    def _heads_of(self, x: Tensor) -> Tensor:
        """(H, 1, C) of ones and zeros: which features are whose; made once for each dtype."""
        if x.dtype not in self._blocks:
            C, H = x.size(-1), self.num_heads
            with torch.inference_mode(False):
                owner = torch.arange(C, device=x.device) // (C // H)
                mine = owner == torch.arange(H, device=x.device)[:, None, None]
                self._blocks[x.dtype] = mine.to(x.dtype)
        return self._blocks[x.dtype]

    def forward(self, x: Tensor) -> Tensor:
        mine = self._heads_of(x)
        q, k, v = self.to_queries(x), self.to_keys(x), self.to_values(x)
        scores = (q[:, None] * mine) @ k[:, None].mT / sqrt(x.size(-1) // self.num_heads)
        mixed = scores.softmax(dim=-1) @ v[:, None]  # (B, H, T, C), of all features
        return self.unify_heads((mixed * mine).sum(1))
