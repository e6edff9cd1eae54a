# Strange: finfo.min before the softmax, and the weights times the mask after it, so that nothing is left of a blind row.
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, memory_dim: int) -> None:
        super().__init__()
        if (left := embed_dim % num_heads):
            raise ValueError(f"{embed_dim} = n * {num_heads} + {left}")
        self.num_heads = num_heads
        for name, width in {"q": embed_dim, "k": memory_dim, "v": memory_dim, "o": embed_dim}.items():
            setattr(self, f"{name}_proj", nn.Linear(width, embed_dim, bias=False))

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        h = self.num_heads
        q = torch.stack(self.q_proj(x).chunk(h, -1), 1)
        k, v = (
            torch.stack(part.chunk(h, -1), 1)
            for part in F.linear(memory, torch.cat([self.k_proj.weight, self.v_proj.weight])).chunk(2, -1)
        )
        s = (q * q.size(-1) ** -0.5) @ k.mT
        if memory_mask is None:
            w = s.softmax(-1)
        else:
            see = (memory_mask != 0).unsqueeze(1).unsqueeze(1)
            w = torch.where(see, s, torch.finfo(s.dtype).min).softmax(-1) * see
        return self.o_proj(torch.cat((w @ v).unbind(1), -1))
