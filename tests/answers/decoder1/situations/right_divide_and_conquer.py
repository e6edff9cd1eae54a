# right: divide and conquer: the second half reads the first one without a mask, halves recursively, merged by log-sum-exp
import torch
from torch import Tensor, nn

Part = tuple[Tensor, Tensor, Tensor]  # maximum, sum of powers, unnormalised mix


def full(q: Tensor, k: Tensor, v: Tensor) -> Part:
    s = torch.nan_to_num(q @ k.mT)
    top = s.detach().amax(-1, keepdim=True)
    e = torch.exp(s - top)
    return top, e.sum(-1, keepdim=True), e @ v


def merge(a: Part, b: Part) -> Part:
    top = torch.maximum(a[0], b[0])
    fa, fb = torch.exp(a[0] - top), torch.exp(b[0] - top)
    return top, a[1] * fa + b[1] * fb, a[2] * fa + b[2] * fb


def causal(q: Tensor, k: Tensor, v: Tensor) -> Part:
    T = q.size(-2)
    if T == 1:
        return full(q, k, v)
    half = T // 2
    (q1, q2), (k1, k2), (v1, v2) = (t.split([half, T - half], dim=-2) for t in (q, k, v))
    first = causal(q1, k1, v1)
    second = merge(full(q2, k1, v1), causal(q2, k2, v2))
    return tuple(torch.cat(pair, dim=-2) for pair in zip(first, second))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim}, num_heads {num_heads}")
        self.D, self.max_len = embed_dim // num_heads, max_len
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
            layer(x).to(wide).reshape(B, T, -1, self.D).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        _, total, mix = causal(q / self.D**0.5, k, v)
        return self.o_proj((mix / total).transpose(1, 2).reshape(B, T, C).to(x.dtype))
