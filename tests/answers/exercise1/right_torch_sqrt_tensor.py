# unusual: the scale is a float32 buffer that follows .to(), made by torch.sqrt(torch.tensor(float(d)))
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.register_buffer("scale", torch.sqrt(torch.tensor(float(hidden_dim))))

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) / self.scale
        return torch.matmul(torch.softmax(scores, dim=-1), self.v(x))
