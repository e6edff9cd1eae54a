# the softmax written out: the largest visible score is taken off, what is hidden is 0 by itself
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
            torch.stack(layer(x).split(self.head_dim, dim=-1), dim=1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        later = x.new_ones(T, T).triu(1) > 0
        scores = (q @ k.mT / self.head_dim**0.5).masked_fill(later, float("-inf"))
        shifted = scores - scores.amax(dim=-1, keepdim=True).detach()
        powers = shifted.exp()
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj(torch.cat((weights @ v).unbind(1), dim=-1))
