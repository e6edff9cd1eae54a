# Strange: one head of one sequence as a function, vmapped over heads and over the batch; torch.where with finfo.min.
import torch
from torch import Tensor, nn


def _one(q: Tensor, k: Tensor, v: Tensor, past: Tensor) -> Tensor:
    s = torch.einsum("td,sd->ts", q, k) * k.size(-1) ** -0.5
    return torch.where(past, s, torch.finfo(s.dtype).min).softmax(1) @ v


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features, {num_heads} heads")
        self.split = nn.Unflatten(2, (num_heads, embed_dim // num_heads))
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        t = x.shape[1]
        if t > self.max_len:
            raise ValueError(f"sequence of {t}, at most {self.max_len}")
        past = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        over_heads = torch.vmap(_one, in_dims=(1, 1, 1, None), out_dims=1)
        over_batch = torch.vmap(over_heads, in_dims=(0, 0, 0, None))
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        return self.o_proj(over_batch(q, k, v, past).flatten(2))
