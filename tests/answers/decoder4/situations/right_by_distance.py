# right: by distance: for each d the scores of all queries d behind, minus slope·d, in an online softmax; recursive slopes
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    """Bits only: P is num_heads with all but its highest bit cleared."""
    P = 1 << (num_heads.bit_length() - 1)
    first = [-8 * (i + 1) / P for i in range(P)]
    then = [-8 * (2 * i + 1) / (2 * P) for i in range(num_heads - P)]
    return torch.exp2(torch.tensor(first + then, dtype=torch.float64)).to(torch.float32)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(num_heads, "heads do not fit into", embed_dim)
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k, v = (
            layer(x).to(wide).reshape(B, T, self.num_heads, -1)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q = q / q.size(-1) ** 0.5
        slopes = alibi_slopes(self.num_heads).to(device=x.device, dtype=wide)
        own = (q * k).sum(-1, keepdim=True)  # distance 0
        top = own.detach()
        total = torch.exp(own - top)  # 1, but with a derivative
        mix = total * v
        for d in range(1, T):
            s = (q[:, d:] * k[:, :-d]).sum(-1, keepdim=True) - slopes[:, None] * d
            s = F.pad(s, (0, 0, 0, 0, d, 0), value=-torch.inf)
            new = torch.maximum(top, s).detach()
            old, e = torch.exp(top - new), torch.exp(s - new)
            total = total * old + e
            mix = mix * old + e * F.pad(v[:, :-d], (0, 0, 0, 0, d, 0))
            top = new
        return self.o_proj((mix / total).flatten(2).to(x.dtype))
