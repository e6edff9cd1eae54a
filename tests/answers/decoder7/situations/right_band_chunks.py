# right: chunks of queries, each with the slice of keys that its band can reach; cache by index_select
import torch
from torch import Tensor, nn


class SlidingWindowAttention(nn.Module):
    CHUNK = 48

    def __init__(self, embed_dim, num_heads, window):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim {} and num_heads {} do not go together".format(embed_dim, num_heads))
        if window <= 0:
            raise ValueError("window must be positive, not {}".format(window))
        self.num_heads = num_heads
        self.window = window
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def _heads(self, t):
        B, T, C = t.shape
        return t.reshape(B, T, self.num_heads, C // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, x, cache=None):
        q, k, v = map(self._heads, (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        past = 0
        if cache is not None:
            past = cache[0].shape[2]
            k = torch.cat([cache[0], k], dim=-2)
            v = torch.cat([cache[1], v], dim=-2)
        T, total = q.shape[2], k.shape[2]
        place = torch.arange(total, device=x.device)
        pieces = []
        for start in range(past, total, self.CHUNK):
            stop = min(start + self.CHUNK, total)
            first = max(0, start - self.window + 1)
            mine, theirs = place[start:stop, None], place[first:stop]
            visible = (theirs <= mine) & (theirs > mine - self.window)
            s = torch.matmul(q[:, :, start - past : stop - past], k[:, :, first:stop].transpose(2, 3))
            s = torch.where(visible, torch.nan_to_num(s * q.shape[-1] ** -0.5), -float("inf"))
            w = torch.log_softmax(s, dim=-1).exp()
            pieces.append(torch.matmul(w, v[:, :, first:stop]))
        y = torch.cat(pieces, dim=2).permute(0, 2, 1, 3).reshape(x.shape)
        last = place[max(0, total - self.window) :]
        return self.o_proj(y), (k.index_select(2, last), v.index_select(2, last))
