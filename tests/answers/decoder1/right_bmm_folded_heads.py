# heads folded into the batch, bmm, the dtype's lowest number added where a key is hidden
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

    def _fold(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        return x.view(B, T, self.heads, self.head_dim).permute(0, 2, 1, 3).reshape(-1, T, self.head_dim)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} tokens, at most {self.max_len} are taken")
        q, k, v = self._fold(self.q_proj(x)), self._fold(self.k_proj(x)), self._fold(self.v_proj(x))
        scores = torch.bmm(q * self.head_dim**-0.5, k.transpose(1, 2))
        later = torch.arange(T, device=x.device)[None, :] > torch.arange(T, device=x.device)[:, None]
        scores = scores.masked_fill(later, torch.finfo(scores.dtype).min)
        out = torch.bmm(scores.softmax(-1), v).reshape(B, self.heads, T, self.head_dim)
        return self.o_proj(out.permute(0, 2, 1, 3).reshape(B, T, C))
