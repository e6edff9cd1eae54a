# Strange: a (T, T) tensor of -inf cut by triu_(1) is added; q, k and v by one F.linear on the cat of weights.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        self.num_heads, self.max_len = num_heads, max_len
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens are more than max_len = {self.max_len}")
        fused = F.linear(x, torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight]))
        q, k, v = fused.unflatten(2, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        future = torch.full((T, T), -torch.inf, dtype=x.dtype, device=x.device).triu_(1)
        w = (q @ k.mT / k.size(-1) ** 0.5 + future).softmax(-1)
        return self.o_proj((w @ v).transpose(1, 2).flatten(2))
