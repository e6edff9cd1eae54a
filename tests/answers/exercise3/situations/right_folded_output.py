# right: the output projection is folded into the values: weights·(v·Wᵀ) + b; numerator and denominator apart
import torch
from torch import Tensor, nn


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.coin = nn.Dropout(p=dropout_rate)

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        C = x.size(-1)
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = torch.tensor_split(self.proj(x).to(wide), 3, dim=-1)
        logits = torch.baddbmm(q.new_zeros(()), q, k.mT, beta=1, alpha=C**-0.5)
        if attention_mask is not None:
            logits = torch.where(attention_mask.ne(0), logits, logits.new_tensor(-1.0) * torch.inf)
            # a row with nothing in it: all logits are -inf, the maximum is put to 0, the sum to 1
        top = logits.detach().amax(-1, keepdim=True).clamp_min(torch.finfo(wide).min)
        powers = torch.exp(logits - top)
        total = powers.sum(-1, keepdim=True).clamp_min(0.5)  # at least 1, but where nothing is seen
        flips = self.coin(torch.ones_like(powers))  # 0 or 1/(1 - rate)
        folded = v @ self.output_proj.weight.to(wide).T
        return ((flips * powers) @ folded / total + self.output_proj.bias.to(wide)).to(x.dtype)
