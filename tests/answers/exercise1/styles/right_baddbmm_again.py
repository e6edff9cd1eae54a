# Strange: baddbmm with beta=0 and alpha=1/sqrt(C) makes the scores, and a second one the mix.
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(hidden_dim, hidden_dim) for _ in "qkv")

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        nothing = q.new_zeros(1, 1, 1)
        s = torch.baddbmm(nothing, q, k.transpose(1, 2), beta=0, alpha=k.size(2) ** -0.5)
        return torch.baddbmm(nothing, s.softmax(2), v, beta=0)
