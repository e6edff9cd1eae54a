# wrong: 'similarities: q.k'; scaled: those / sqrt(...)': the query is scaled already, only the output is right
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        k, v = self.W_k(x), self.W_v(x)
        q = self.W_q(x) * k.size(self.col_dim) ** -0.5
        scaled = q @ k.transpose(self.row_dim, self.col_dim)
        similarities = scaled * k.size(self.col_dim) ** 0.5
        weights = torch.softmax(scaled, dim=self.col_dim)
        return {"q": q, "k": k, "v": v, "similarities": similarities, "scaled": scaled, "weights": weights, "output": weights @ v}

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
