# Strange: an additive mask of 0 and -inf, made by torch.where; dropout as a module in a local ModuleDict-like attribute.
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.parts = nn.ModuleDict({"softmax": nn.Softmax(dim=-1), "dropout": nn.Dropout(dropout_rate)})

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        s = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        if attention_mask is not None:
            s = s + torch.where(attention_mask != 0, 0.0, -torch.inf).to(s.dtype)
        for part in self.parts.values():
            s = part(s)
        return self.output_proj(s @ v)
