# unusual: torch.bmm and permute, the scale multiplied into the keys
import torch
import torch.nn as nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int):
        super(SelfAttentionV1, self).__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = self.k(x).permute(0, 2, 1) * self.hidden_dim**-0.5
        return torch.bmm(torch.softmax(torch.bmm(self.q(x), keys), dim=2), self.v(x))
