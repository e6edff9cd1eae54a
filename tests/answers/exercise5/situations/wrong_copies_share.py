# wrong: 'The parameters are those named' - a deepcopy computes with the layers of the module that it was copied from
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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
        layers = self.to_queries, self.to_keys, self.to_values, self.unify_heads

        def attend(x: Tensor) -> Tensor:
            q, k, v = (f(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for f in layers[:3])
            weights = (q @ k.mT / sqrt(q.size(-1))).softmax(-1)
            return layers[3]((weights @ v).transpose(1, 2).flatten(2))

        self.attend = attend

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(x)
