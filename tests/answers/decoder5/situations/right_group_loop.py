# right: a loop over groups on weight slices and over heads inside; prefix blocks instead of a big mask; o_proj column by column
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    BLOCK = 64

    def __init__(self, embed_dim, num_heads, num_groups):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim=%d, num_heads=%d" % (embed_dim, num_heads))
        if num_heads % num_groups != 0:
            raise ValueError("num_heads=%d, num_groups=%d" % (num_heads, num_groups))
        self.head_dim = embed_dim // num_heads
        self.per_group = num_heads // num_groups
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def head(self, q, k, v):
        T, out = q.size(1), []
        for start in range(0, T, self.BLOCK):
            stop = min(start + self.BLOCK, T)
            s = q[:, start:stop] @ k[:, :stop].mT / self.head_dim**0.5
            ones = torch.ones(s.shape[1:], dtype=torch.bool, device=s.device)
            s = s.masked_fill(ones.tril(start).logical_not(), float("-inf"))
            out.append(s.softmax(-1) @ v[:, :stop])
        return torch.cat(out, 1)

    def forward(self, x):
        D, out, h = self.head_dim, torch.zeros_like(x), 0
        for K, V in zip(self.k_proj.weight.split(D), self.v_proj.weight.split(D)):
            k, v = F.linear(x, K), F.linear(x, V)
            for _ in range(self.per_group):
                part = slice(h * D, (h + 1) * D)
                mixed = self.head(F.linear(x, self.q_proj.weight[part]), k, v)
                out = out + F.linear(mixed, self.o_proj.weight[:, part])
                h += 1
        return out
