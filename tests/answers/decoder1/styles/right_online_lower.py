# Strange: online softmax over blocks of keys; each block touches only the queries at or after its beginning.
import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads, self.max_len = num_heads, max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"T = {T} is more than max_len = {self.max_len}")
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (
            m(x).to(wide).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        q = q / q.size(-1) ** 0.5
        at = torch.arange(T, device=x.device)
        m = torch.full_like(q[..., :1], torch.finfo(wide).min)
        z, o = torch.zeros_like(m), torch.zeros_like(q)
        for a in range(0, T, 64):
            b = min(a + 64, T)
            s = (q[:, :, a:] @ k[:, :, a:b].mT).masked_fill(at[a:b] > at[a:, None], -torch.inf)
            top = torch.maximum(m[:, :, a:], s.detach().amax(-1, keepdim=True))
            c, p = (m[:, :, a:] - top).exp(), (s - top).exp()
            z = torch.cat([z[:, :, :a], z[:, :, a:] * c + p.sum(-1, keepdim=True)], 2)
            o = torch.cat([o[:, :, :a], o[:, :, a:] * c + p @ v[:, :, a:b]], 2)
            m = torch.cat([m[:, :, :a], top], 2)
        return self.o_proj((o / z).to(x.dtype).transpose(1, 2).flatten(2))
