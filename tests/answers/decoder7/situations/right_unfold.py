# right: keys and values unfolded into windows (as for a convolution), in front of them nothing but hidden places
import torch
import torch.nn.functional as F
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor]


class SlidingWindowAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, window: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if window < 1:
            raise ValueError(f"a window of {window}")
        self.num_heads, self.window = num_heads, window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        q, k, v = (
            p(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        T, N = q.size(2), k.size(2)
        W = min(self.window, N)
        # W - 1 places in front, and then the last T windows
        ks = F.pad(k, (0, 0, W - 1, 0)).unfold(2, W, 1)[:, :, N - T :]  # (B, H, T, D, W)
        vs = F.pad(v, (0, 0, W - 1, 0)).unfold(2, W, 1)[:, :, N - T :]
        place = torch.arange(N - T, N, device=x.device)[:, None] + torch.arange(1 - W, 1, device=x.device)
        scores = (q.unsqueeze(-1) * ks).sum(-2) / q.size(-1) ** 0.5
        scores = torch.nan_to_num(scores).masked_fill(place < 0, float("-inf"))
        mixed = (scores.softmax(-1).unsqueeze(-2) * vs).sum(-1)
        kept = tuple(t[:, :, N - W :].clone(memory_format=torch.contiguous_format) for t in (k, v))
        return self.o_proj(mixed.transpose(1, 2).flatten(2)), kept
