# Strange: RMSNorm is a var_mean (mean square = variance + squared mean); vmap over heads; logsigmoid for SiLU.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim).fill_(1))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, -1, correction=0, keepdim=True)
        return torch.mul(wide.div((var + mean.square() + self.eps).sqrt()).to(x.dtype), self.weight)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        z = self.gate_proj(x).to(wide)
        return self.down_proj((z * F.logsigmoid(z).exp()).to(x.dtype) * self.up_proj(x))


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        at = torch.arange(x.size(1), device=x.device)
        late = at > at[:, None]

        def head(wq: Tensor, wk: Tensor, wv: Tensor) -> Tensor:
            s = (x @ wq.T) @ (x @ wk.T * wk.size(0) ** -0.5).mT
            return s.masked_fill(late, torch.finfo(s.dtype).min).softmax(-1) @ (x @ wv.T)

        weights = (m.weight.unflatten(0, (self.num_heads, -1)) for m in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(torch.vmap(head, out_dims=2)(*weights).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(embed_dim, eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.ffn_norm = RMSNorm(embed_dim, eps=eps)
        self.ffn = SwiGLU(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        for norm, layer in zip((self.attention_norm, self.ffn_norm), (self.attention, self.ffn)):
            x = torch.add(x, layer(norm(x)))
        return x
