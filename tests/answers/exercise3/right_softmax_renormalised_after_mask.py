# unusual: exp, times the mask, then renormalised; the maximum is taken over visible keys only
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.dropout = nn.Dropout(p=dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if attention_mask is None:
            attention_mask = torch.ones(1, dtype=torch.bool, device=x.device)
        visible = attention_mask.bool().expand_as(scores)
        lowest = torch.finfo(scores.dtype).min
        highest = torch.where(visible, scores, lowest).amax(dim=-1, keepdim=True).detach()
        # hidden scores may lie above the highest visible one: level them so that exp stays finite
        e = torch.exp(torch.where(visible, scores - highest, 0.0)) * visible
        weights = e / e.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
        return self.output_proj(self.dropout(weights) @ v)
