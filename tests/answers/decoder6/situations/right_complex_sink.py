# right: complex rotation; a sink key (score 0 for padding, else -inf; value 0); a loop over groups
import torch
import torch.nn.functional as F
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(
        self, embed_dim: int, num_heads: int, num_groups: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        D, rest = divmod(embed_dim, num_heads)
        if rest or D % 2:
            raise ValueError(f"embed_dim = {embed_dim}, num_heads = {num_heads}: D is {embed_dim / num_heads}")
        if num_heads % num_groups:
            raise ValueError(f"num_heads = {num_heads}, num_groups = {num_groups}")
        self.num_heads, self.num_groups, self.base = num_heads, num_groups, base
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.v_proj = nn.Linear(embed_dim, num_groups * D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def spin(self, t: Tensor, positions: Tensor) -> Tensor:
        """(B, h, T, D), each token turned."""
        D = t.size(-1)
        wide = torch.promote_types(t.dtype, torch.float32)
        speeds = [self.base ** (-2 * i / D) for i in range(D // 2)]
        angle = positions.to(wide).unsqueeze(-1) * torch.tensor(speeds, dtype=wide, device=t.device)
        unit = torch.complex(torch.cos(angle), torch.sin(angle)).unsqueeze(1)
        pairs = t.to(wide).unflatten(-1, (2, D // 2)).transpose(-1, -2).contiguous()
        spun = torch.view_as_real(torch.view_as_complex(pairs) * unit)
        return spun.transpose(-1, -2).flatten(-2).to(t.dtype)

    def forward(
        self, x: Tensor, positions: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        cut = lambda t, n: torch.stack(t.chunk(n, dim=-1), dim=1)  # noqa: E731
        q = self.spin(cut(self.q_proj(x), self.num_heads), positions)
        k = self.spin(cut(self.k_proj(x), self.num_groups), positions)
        v = cut(self.v_proj(x), self.num_groups)
        p = positions.clone()
        if cache is not None:
            k, v, p = (torch.cat(two, dim=-1 if two[0].ndim == 2 else -2) for two in zip(cache, (k, v, p)))
        hidden = (p[:, None, :] < 0) | (p[:, None, :] > positions[:, :, None])  # (B, T, S)
        padding = positions[:, None, :, None] < 0
        out = []
        for g, group in enumerate(q.chunk(self.num_groups, dim=1)):
            scores = torch.einsum("brtd,bsd->brts", group, k[:, g]) * q.size(-1) ** -0.5
            scores = scores.masked_fill(hidden[:, None], -torch.inf)
            sink = torch.zeros_like(scores[..., :1]).masked_fill(~padding, -torch.inf)
            weights = torch.cat((sink, scores), dim=-1).softmax(dim=-1)
            out.append(torch.einsum("brts,bsd->btrd", weights, F.pad(v[:, g], (0, 0, 1, 0))).flatten(2))
        return self.o_proj(torch.cat(out, dim=2)), (k, v, p)
