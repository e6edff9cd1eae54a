# right: diagonal by diagonal: scores by distance d = 0, 1, ..., padded with -inf, no T × T mask, no matrix product
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, max_len):
        super().__init__()
        if embed_dim % num_heads > 0:
            raise ValueError("num_heads=%r does not divide embed_dim=%r" % (num_heads, embed_dim))
        self.num_heads = num_heads
        self.max_len = max_len
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x):
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError("%d > %d" % (T, self.max_len))
        q, k, v = (p(x).view(B, T, self.num_heads, -1) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = []
        for d in range(T):
            s = (q[:, d:] * k[:, : T - d]).sum(-1) / q.size(-1) ** 0.5  # (B, T - d, H)
            s = s.clamp(*(torch.finfo(s.dtype).min, torch.finfo(s.dtype).max)).nan_to_num()
            scores.append(F.pad(s, (0, 0, d, 0), value=-torch.inf))
        weights = torch.stack(scores).softmax(dim=0)
        mix = torch.zeros_like(v)
        for d, w in enumerate(weights.unbind(0)):
            mix = mix + F.pad(w[:, d:, :, None] * v[:, : T - d], (0, 0, 0, 0, d, 0))
        return self.o_proj(mix.flatten(2))
