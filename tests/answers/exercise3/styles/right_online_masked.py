# Strange: online softmax over key blocks, mask and dropout block by block.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV3(nn.Module):
    def __init__(self, hidden_dim: int, dropout_rate: float = 0.1) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.output_proj = nn.Linear(hidden_dim, hidden_dim)
        self.p = dropout_rate

    def forward(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        (B, T, C), n = x.shape, 64
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = self.proj(x).to(wide).chunk(3, -1)
        q = q * C**-0.5
        see = torch.ones((), dtype=torch.bool, device=x.device) if attention_mask is None else attention_mask != 0
        see = see.expand(B, T, T)
        m = q.new_full((B, T, 1), torch.finfo(wide).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for kb, vb, sb in zip(k.split(n, 1), v.split(n, 1), see.split(n, 2)):
            s = (q @ kb.mT).masked_fill(~sb, -torch.inf)
            top = torch.maximum(m, s.detach().amax(-1, keepdim=True))
            c, p = (m - top).exp(), (s - top).exp()
            z = z * c + p.sum(-1, keepdim=True)
            o = o * c + F.dropout(p, self.p, self.training) @ vb
            m = top
        return self.output_proj((o / torch.where(z == 0, 1, z)).to(x.dtype))
