# unusual: values go through the output projection before they are mixed; the bias is added last
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.attn_drop = nn.Dropout(dropout_rate)
        self.scale = hidden_dim**-0.5

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) * self.scale
        if attention_mask is not None:
            scores.masked_fill_(~attention_mask.to(torch.bool), float("-inf"))
        weights = self.attn_drop(scores.softmax(dim=-1))
        return weights @ F.linear(v, self.output_proj.weight) + self.output_proj.bias
