# right: no mask: query t is multiplied with the prefix of t + 1 keys alone; overflowing scores are saturated
import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features, {num_heads} heads: that does not come out even")
        self.H, self.max_len = num_heads, max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        T = x.size(1)
        if T > self.max_len:
            raise ValueError(f"{T} tokens, but max_len is {self.max_len}")
        q, k, v = (
            layer(x).unflatten(2, (self.H, -1)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        out = []
        for t in range(T):
            past = slice(None, t + 1)
            scores = torch.einsum("bhd,bhsd->bhs", q[:, :, t], k[:, :, past]) * q.size(-1) ** -0.5
            weights = scores.nan_to_num().softmax(-1)
            out.append(torch.einsum("bhs,bhsd->bhd", weights, v[:, :, past]).flatten(1))
        return self.o_proj(torch.stack(out, dim=1))
