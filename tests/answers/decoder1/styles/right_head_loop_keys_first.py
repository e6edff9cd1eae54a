# Strange: a list comprehension over heads on weight chunks; scores (S, T) with the mask by tril of a transposed order.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads, self.max_len = num_heads, max_len
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in "qkvo"
        )

    def _head(self, x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor) -> Tensor:
        T = x.size(1)
        s = F.linear(x, wk) @ F.linear(x, wq / wq.size(0) ** 0.5).mT
        never = torch.ones(T, T, dtype=torch.bool, device=x.device).tril(-1)
        return s.masked_fill(never, -torch.inf).softmax(1).mT @ F.linear(x, wv)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) > self.max_len:
            raise ValueError(f"max_len = {self.max_len}, but T = {x.size(1)}")
        chunks = (m.weight.chunk(self.num_heads) for m in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(torch.cat([self._head(x, *w) for w in zip(*chunks)], -1))

if __name__ == "__main__":
    attention = CausalSelfAttention(8, 2, 9).double()
    sample = torch.randn(2, 5, 8, dtype=torch.float64)
    heads = (m(sample).unflatten(2, (2, 4)).transpose(1, 2) for m in (attention.q_proj, attention.k_proj, attention.v_proj))
    other = F.scaled_dot_product_attention(*heads, is_causal=True)
    print(torch.allclose(attention(sample), attention.o_proj(other.transpose(1, 2).flatten(2))))
