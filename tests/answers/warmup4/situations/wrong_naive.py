# wrong: the softmax by hand subtracts no maximum, so exp overflows (scaled scores beyond 88 in float32, 709 in float64)
# breaks: "B = 1, any T from 1 to 257, a non-contiguous ``x`` and large scores all give finite, right values, and gradients reach ``x`` and every parameter."

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / k.size(self.col_dim) ** 0.5
        exponentials = torch.exp(scaled)
        weights = exponentials / exponentials.sum(dim=self.col_dim, keepdim=True)
        return {
            "q": q,
            "k": k,
            "v": v,
            "similarities": similarities,
            "scaled": scaled,
            "weights": weights,
            "output": weights @ v,
        }

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
