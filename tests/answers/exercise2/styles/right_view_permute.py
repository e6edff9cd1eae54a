# Strange: the last axis is viewed as (3, C), permuted to the front and unpacked.
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(in_features=hidden_dim, out_features=hidden_dim * 3)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.proj(x).reshape(B, T, 3, C).permute(2, 0, 1, 3)
        return q.matmul(k.permute(0, 2, 1)).div(C**0.5).softmax(dim=-1).matmul(v)
