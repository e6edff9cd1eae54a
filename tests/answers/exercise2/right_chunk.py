# unusual: chunk, einsum and the scale in q
import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, hidden_dim * 3)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        q = q * q.shape[-1] ** -0.5
        return torch.einsum("bij,bjc->bic", torch.einsum("bic,bjc->bij", q, k).softmax(-1), v)
