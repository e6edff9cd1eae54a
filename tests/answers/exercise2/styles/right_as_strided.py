# Strange: q, k and v are as_strided windows on the contiguous output of the projection.
import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        (b, t, c), y = x.shape, self.proj(x).contiguous()
        q, k, v = (
            y.as_strided((b, t, c), (t * 3 * c, 3 * c, 1), y.storage_offset() + part * c)
            for part in range(3)
        )
        return torch.einsum("uvw,uwx->uvx", torch.einsum("uvx,uwx->uvw", q, k * c**-0.5).softmax(2), v)
