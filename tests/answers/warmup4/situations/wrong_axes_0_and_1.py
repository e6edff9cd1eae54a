# wrong: 'k with row_dim and col_dim swapped': always swaps axes 0 and 1, wrong for (B, T, C)
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q = self.W_q(x)
        k = self.W_k(x)
        v = self.W_v(x)
        similarities = torch.matmul(q, k.transpose(0, 1))
        scaled = similarities / torch.tensor(k.size(1), dtype=x.dtype) ** 0.5
        weights = F.softmax(scaled, dim=1)
        output = torch.matmul(weights, v)
        return dict(q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights, output=output)

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
