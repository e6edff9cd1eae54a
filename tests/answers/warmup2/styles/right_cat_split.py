# Strange: the three matrices are joined on every call, one product, then narrow() takes q, k and v.
import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        for name in ("query", "key", "value"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_in, d_out)))
        for p in self.parameters():
            nn.init.xavier_uniform_(p)

    def forward(self, x: Tensor) -> Tensor:
        d = self.query.shape[1]
        fused = torch.matmul(x, torch.cat([self.query, self.key, self.value], dim=1))
        q, k, v = (fused.narrow(-1, i * d, d) for i in range(3))
        return torch.softmax((q * d**-0.5).matmul(k.transpose(-1, -2)), dim=-1).matmul(v)
