# unusual: written for one query, vmapped over queries and over sequences
import torch
from torch import Tensor, nn
from torch.func import vmap


def attend_one(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.softmax((k @ q) / q.shape[0] ** 0.5, dim=0)
    return weights @ v


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = torch.split(self.proj(x), x.shape[-1], dim=-1)
        return vmap(vmap(attend_one, in_dims=(0, None, None)))(q, k, v)
