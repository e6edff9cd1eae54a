# right: homogeneous coordinates: a 1 behind x carries the biases, and q·k becomes one bilinear form
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def affine(layer: nn.Linear, dtype: torch.dtype) -> Tensor:
    """(C, C + 1): the weight with the bias as its last column."""
    return torch.cat((layer.weight, layer.bias.unsqueeze(1)), dim=1).to(dtype)


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        h = F.pad(x.to(wide), (0, 1), value=1.0)
        Q, K, V = affine(self.q, wide), affine(self.k, wide), affine(self.v, wide)
        form = torch.einsum("ci,cj->ij", Q, K) / x.size(2) ** 0.5
        weights = torch.einsum("bti,ij,bsj->bts", h, form, h).softmax(dim=2)
        return torch.einsum("bts,bsj,cj->btc", weights, h, V).to(x.dtype)
