# unusual: the weight is cut into three instead of the output
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        w_q, w_k, w_v = self.proj.weight.split(self.hidden_dim, dim=0)
        b_q, b_k, b_v = self.proj.bias.split(self.hidden_dim)
        q, k, v = F.linear(x, w_q, b_q), F.linear(x, w_k, b_k), F.linear(x, w_v, b_v)
        scores = q @ k.transpose(-2, -1) / self.hidden_dim**0.5
        return F.softmax(scores, dim=-1) @ v
