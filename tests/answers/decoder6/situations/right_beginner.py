# right: one sequence after another, softmax by hand
import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_groups, base=10000.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim " + str(embed_dim) + " num_heads " + str(num_heads))
        self.head_dim = embed_dim // num_heads
        if self.head_dim % 2 != 0:
            raise ValueError("odd head: " + str(embed_dim) + " / " + str(num_heads))
        if num_heads % num_groups != 0:
            raise ValueError("num_heads " + str(num_heads) + " num_groups " + str(num_groups))
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.base = base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * self.head_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def rotate(self, y, positions):
        # y: (B, T, heads, D)
        angle_dtype = torch.float64 if y.dtype == torch.float64 else torch.float32
        i = torch.arange(self.head_dim // 2, device=y.device, dtype=angle_dtype)
        theta = positions.to(angle_dtype).unsqueeze(2) / self.base ** (2 * i / self.head_dim)
        cos = torch.cos(theta).unsqueeze(2).to(y.dtype)
        sin = torch.sin(theta).unsqueeze(2).to(y.dtype)
        half = self.head_dim // 2
        y1 = y[..., :half]
        y2 = y[..., half:]
        return torch.cat((y1 * cos - y2 * sin, y2 * cos + y1 * sin), dim=-1)

    def forward(self, x, positions, cache=None):
        B, T, C = x.shape
        q = self.rotate(self.q_proj(x).reshape(B, T, self.num_heads, self.head_dim), positions)
        k = self.rotate(self.k_proj(x).reshape(B, T, self.num_groups, self.head_dim), positions)
        v = self.v_proj(x).reshape(B, T, self.num_groups, self.head_dim)
        k = k.permute(0, 2, 1, 3)
        v = v.permute(0, 2, 1, 3)
        if cache is None:
            keys, values, places = k, v, positions
        else:
            keys = torch.cat((cache[0], k), dim=2)
            values = torch.cat((cache[1], v), dim=2)
            places = torch.cat((cache[2], positions), dim=1)
        group_of = torch.arange(self.num_heads, device=x.device) // (
            self.num_heads // self.num_groups
        )
        rows = []
        for b in range(B):
            qb = q[b].permute(1, 0, 2)  # (H, T, D)
            kb = keys[b][group_of]  # (H, S, D)
            vb = values[b][group_of]
            score = torch.matmul(qb, kb.permute(0, 2, 1)) / self.head_dim**0.5  # (H, T, S)
            ok = (places[b] >= 0).unsqueeze(0) & (places[b].unsqueeze(0) <= positions[b].unsqueeze(1))
            score = torch.where(ok, score, torch.full_like(score, -float("inf")))
            top = score.max(dim=-1, keepdim=True).values.detach()
            top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
            e = torch.exp(score - top) * ok
            total = e.sum(dim=-1, keepdim=True)
            total = torch.where(total == 0, torch.ones_like(total), total)
            mixed = torch.matmul(e / total, vb)  # (H, T, D)
            rows.append(mixed.permute(1, 0, 2).reshape(T, C))
        return self.o_proj(torch.stack(rows, dim=0)), (keys, values, places)
