# right: a Python deque of single keys and values, token by token; the window is the deque's maxlen
from collections import deque
from itertools import islice

import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim=} {num_heads=}")
        if not window >= 1:
            raise ValueError(f"{window=}")
        self.H, self.D, self.window = num_heads, embed_dim // num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k, v = (p(x).unflatten(-1, (self.H, self.D)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        past = 0
        if cache is not None:
            past = cache[0].size(2)
            k, v = (torch.cat(pair, 2) for pair in zip(cache, (k, v)))
        new = zip(k.unbind(2), v.unbind(2))
        # pairs of (B, H, D), made anew in each call: nothing is kept in the module
        known = deque(islice(new, past), maxlen=self.window)
        outputs = []
        for query, pair in zip(q.unbind(2), new):
            known.append(pair)
            keys, values = (torch.stack(side, 2) for side in zip(*known))
            scores = torch.einsum("bhd,bhsd->bhs", query, keys) / self.D**0.5
            weights = scores.nan_to_num().softmax(-1)
            outputs.append(torch.einsum("bhs,bhsd->bhd", weights, values))
        y = self.o_proj(torch.stack(outputs, 1).flatten(2))
        return y, (keys, values)
