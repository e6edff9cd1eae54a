# wrong: the module can't be made on meta (`with torch.device("meta"):`): the constructor computes its scale as a tensor and reads it back
# breaks: "on any device, even ``meta``"
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.scale = torch.tensor(hidden_dim, dtype=torch.float64).rsqrt().item()

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        weights = (q @ k.mT * self.scale).softmax(dim=-1)
        return weights @ v
