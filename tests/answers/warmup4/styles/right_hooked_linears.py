# Strange: q, k and v come of one F.linear on the row-wise cat of the weights, split by unflatten and unbind.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim, self.col_dim = row_dim, col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        out = F.linear(x, torch.vstack([self.W_q.weight, self.W_k.weight, self.W_v.weight]))
        q, k, v = out.unflatten(-1, (3, -1)).unbind(-2)
        similarities = q @ torch.transpose(k, self.row_dim, self.col_dim)
        scaled = similarities * k.shape[self.col_dim] ** -0.5
        weights = torch.softmax(scaled, self.col_dim)
        output = weights @ v
        return dict(q=q, k=k, v=v, similarities=similarities, scaled=scaled, weights=weights, output=output)

    def forward(self, x: Tensor) -> Tensor:
        *_, output = self.intermediates(x).values()
        return output
