# unusual: fills an empty (B, T, C) tensor head by head, with orthogonal first values
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)
        for layer in self.children():
            nn.init.orthogonal_(layer.weight)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.to_queries(x), self.to_keys(x), self.to_values(x)
        united = torch.empty_like(q)
        for start in range(0, x.shape[-1], self.head_dim):
            end = start + self.head_dim
            scores = q[:, :, start:end].matmul(k[:, :, start:end].permute(0, 2, 1))
            united[:, :, start:end] = torch.softmax(scores / self.head_dim**0.5, 2).matmul(v[:, :, start:end])
        return self.unify_heads(united)
