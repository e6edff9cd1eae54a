# wrong: the sequence is padded to a multiple of 8 and the padding takes part as keys (T not divisible by 8)
# breaks: "Let each position attend to every position of its own sequence."

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        x = F.pad(x, (0, 0, 0, -length % 8))  # products are faster at multiples of 8
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.hidden_dim)
        out = torch.bmm(torch.softmax(scores, dim=-1), v)
        return out[:, :length]
