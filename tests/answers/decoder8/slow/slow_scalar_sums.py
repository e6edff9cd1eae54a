"""Vector by vector in norm and feed-forward, scalar by scalar in attention, sum() over lists."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        C = x.shape[-1]
        rows = []
        for row in x.reshape(-1, C).to(wide).unbind(0):
            mean = sum([number * number for number in row.unbind(0)]) / C
            rows.append(row / torch.sqrt(mean + self.eps))
        return torch.stack(rows).reshape(x.shape).to(x.dtype) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        gate = self.gate_proj.weight.to(wide)
        up = self.up_proj.weight.to(wide)
        down = self.down_proj.weight.to(wide)
        rows = []
        for row in x.reshape(-1, x.shape[-1]).to(wide).unbind(0):
            z = gate @ row
            rows.append(down @ (z * torch.sigmoid(z) * (up @ row)))
        return torch.stack(rows).reshape(x.shape).to(x.dtype)


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim={embed_dim} cannot be cut into num_heads={num_heads}")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        B, T, _ = x.shape
        D = self.head_dim
        q, k, v = (p(x).to(wide) for p in (self.q_proj, self.k_proj, self.v_proj))
        batch = []
        for b in range(B):
            # lists of heads, of tokens, of vectors
            queries = [list(h) for h in (q[b, :, i : i + D] for i in range(0, x.shape[2], D))]
            keys = [list(h) for h in (k[b, :, i : i + D] for i in range(0, x.shape[2], D))]
            values = [list(h) for h in (v[b, :, i : i + D] for i in range(0, x.shape[2], D))]
            rows = []
            for t in range(T):
                heads = []
                for h in range(self.num_heads):
                    scores = [
                        torch.dot(queries[h][t], keys[h][s]) / D**0.5 for s in range(t + 1)
                    ]
                    top = scores[0].detach()
                    for score in scores:
                        top = torch.maximum(top, score.detach())
                    exps = [torch.exp(score - top) for score in scores]
                    mix = sum([exps[s] * values[h][s] for s in range(t + 1)])
                    heads.append(mix / sum(exps))
                rows.append(torch.cat(heads))
            batch.append(torch.stack(rows))
        return self.o_proj(torch.stack(batch).to(x.dtype))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        h = x + self.attention(self.attention_norm(x))
        return h + self.ffn(self.ffn_norm(h))
