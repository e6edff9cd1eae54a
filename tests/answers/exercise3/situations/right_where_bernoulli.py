# right: softmax by hand with torch.where, zeros in empty rows, dropout by hand with bernoulli
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.keep_rate = 1.0 - dropout_rate

    def dropout(self, weights: Tensor) -> Tensor:
        if not self.training:
            return weights
        chance = torch.full(weights.shape, self.keep_rate, dtype=torch.float32, device=weights.device)
        return weights * torch.bernoulli(chance).to(weights.dtype) / self.keep_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        B, T, C = x.shape
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.proj(x).view(B, T, 3, C).to(wide).unbind(dim=2)
        scores = torch.einsum("btc,bsc->bts", q, k) / C**0.5
        seen = torch.ones((), dtype=torch.bool, device=x.device) if attention_mask is None else attention_mask != 0
        seen = seen.broadcast_to(B, T, T)
        nothing = torch.full_like(scores, float("-inf"))
        top = torch.where(seen, scores, nothing).amax(dim=-1, keepdim=True)
        top = torch.where(top > float("-inf"), top, torch.zeros_like(top)).detach()
        powers = torch.where(seen, scores - top, nothing).exp()
        total = powers.sum(dim=-1, keepdim=True)
        weights = powers / torch.where(total > 0, total, torch.ones_like(total))
        return self.output_proj(torch.einsum("bts,bsc->btc", self.dropout(weights), v).to(x.dtype))
