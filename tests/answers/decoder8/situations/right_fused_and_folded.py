# right: fused F.linear over concatenated weights, RMSNorm by vector_norm, everything wide until the very end of each part
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def wide(t: Tensor) -> Tensor:
    return t.to(torch.promote_types(t.dtype, torch.float32))


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim).fill_(1.0))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        h = wide(x)
        mean_square = torch.einsum("...c,...c->...", h, h).unsqueeze(-1) / x.size(-1)
        return (h / (mean_square + self.eps).sqrt() * wide(self.weight)).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(dim, hidden_dim, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        both = F.linear(x, torch.cat((self.up_proj.weight, self.gate_proj.weight)))
        up, gate = both.tensor_split(2, dim=-1)
        return F.linear(up * F.silu(gate), self.down_proj.weight)


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.D, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"num_heads {num_heads}, embed_dim {embed_dim}, rest {rest}")
        for letter in "qkvo":
            self.add_module(f"{letter}_proj", nn.Linear(embed_dim, embed_dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.cat((self.q_proj.weight, self.k_proj.weight, self.v_proj.weight))
        qkv = F.linear(x, weight).unflatten(-1, (3, -1, self.D))
        q, k, v = qkv.unbind(2)
        T = x.size(1)
        s = torch.einsum("bthd,bshd->btsh", q, k) / self.D**0.5
        lower = torch.tril_indices(T, T, device=x.device)
        bias = torch.full((T, T), -torch.inf, dtype=x.dtype, device=x.device)
        bias = bias.index_put((lower[0], lower[1]), torch.zeros((), dtype=x.dtype, device=x.device))
        w = (s + bias.unsqueeze(-1)).softmax(2)
        return self.o_proj(torch.einsum("btsh,bshd->bthd", w, v).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.ffn = SwiGLU(embed_dim, hidden_dim)
        self.ffn_norm = RMSNorm(embed_dim, eps=eps)
        self.attention = CausalSelfAttention(embed_dim, num_heads)
        self.attention_norm = RMSNorm(embed_dim, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.add(x, self.attention(self.attention_norm(x)))
        return torch.add(h, self.ffn(self.ffn_norm(h)))
