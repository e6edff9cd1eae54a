# right: an additive mask of 0 and -inf; a row with nothing to attend to gives NaN, which is left open
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.drop = nn.Dropout(dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, -1)
        scores = q @ k.mT / x.shape[-1] ** 0.5
        if attention_mask is not None:
            hidden = torch.logical_not(attention_mask)
            bias = torch.zeros(hidden.shape, dtype=x.dtype, device=x.device)
            scores = scores + bias.masked_fill(hidden, -torch.inf)
        return self.output_proj(self.drop(scores.softmax(-1)) @ v)
