# right: online softmax over blocks of 29 keys, hidden ones by comparison of places
import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} cannot be shared among {num_heads} heads")
        self.heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.max_len = max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        q, k, v = (
            layer(x).reshape(B, T, self.heads, self.head_dim).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        places = torch.arange(T, device=x.device)
        top = q.new_full((B, self.heads, T, 1), torch.finfo(x.dtype).min)
        total = q.new_zeros(B, self.heads, T, 1)
        mixed = torch.zeros_like(q)
        for start in range(0, T, 29):
            block = slice(start, start + 29)
            scores = q @ k[:, :, block].mT / self.head_dim**0.5
            scores = scores.masked_fill(places[block] > places[:, None], float("-inf"))
            new = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()
            shrink, powers = (top - new).exp(), (scores - new).exp()
            total = total * shrink + powers.sum(-1, keepdim=True)
            mixed = mixed * shrink + powers @ v[:, :, block]
            top = new
        return self.o_proj((mixed / total).transpose(1, 2).reshape(B, T, C))
