# wrong: every call fills and returns the same dict, so the steps of an earlier call change with the next one (after an earlier call)
# breaks: "``x`` is not changed in place; nothing is remembered from one call to the next."

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
        self.steps: dict[str, Tensor] = {}

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        self.forward(x)
        return self.steps

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / k.size(self.col_dim) ** 0.5
        weights = torch.softmax(scaled, dim=self.col_dim)
        output = weights @ v
        self.steps.update(
            q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights, output=output
        )
        return output
