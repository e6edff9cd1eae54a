# Strange: the block is a reduce over (norm, layer) pairs, each checkpointed; the mean square is an einsum.
from functools import reduce

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.ones(dim)))
        self.eps = eps

    def extra_repr(self) -> str:
        return f"{self.weight.numel()}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        square = torch.einsum("...c,...c->...", wide, wide) / wide.size(-1)
        return torch.einsum("...c,...,c->...c", wide, (square + self.eps) ** -0.5, self.weight.to(wide.dtype)).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        for name in ("gate_proj", "up_proj"):
            self.add_module(name, nn.Linear(dim, hidden_dim, bias=False))
        self.add_module("down_proj", nn.Linear(hidden_dim, dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate_proj(x)
        return self.down_proj(gate.mul(gate.sigmoid()).mul(self.up_proj(x)))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if (rest := embed_dim % num_heads):
            raise ValueError(f"{embed_dim} features among {num_heads} heads leave {rest}")
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (torch.stack(m(x).chunk(self.num_heads, -1)).to(wide) for m in (self.q_proj, self.k_proj, self.v_proj))
        s = q @ k.mT / q.size(-1) ** 0.5
        s = s + s.new_full(s.shape[-2:], -torch.inf).triu(1)
        o = (s - s.logsumexp(-1, keepdim=True)).exp() @ v
        return self.o_proj(torch.cat(o.to(x.dtype).unbind(), -1))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        def step(y: Tensor, pair: tuple[nn.Module, nn.Module]) -> Tensor:
            norm, layer = pair
            return y + checkpoint(lambda z: layer(norm(z)), y, use_reentrant=False, preserve_rng_state=False)

        return reduce(step, ((self.attention_norm, self.attention), (self.ffn_norm, self.ffn)), x)
