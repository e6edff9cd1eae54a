# right: the biases of one query are a vector, from which each query takes its part by index
import torch
from torch import Tensor, nn


def alibi_slopes(num_heads: int) -> Tensor:
    power = 1 << (num_heads.bit_length() - 1)
    exponents = [2 * (i + 1) for i in range(power)] + [2 * i + 1 for i in range(num_heads - power)]
    return 2.0 ** (torch.tensor(exponents, dtype=torch.float32) * (-4 / power))


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} / {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H = self.num_heads
        slopes = alibi_slopes(H).to(x.device)
        back = torch.arange(T - 1, -1, -1, device=x.device)
        never = torch.full((H, T), float("-inf"), device=x.device)
        vector = torch.cat([-slopes[:, None] * back, never], dim=1)  # (H, 2T)
        places = torch.arange(T, device=x.device) + torch.arange(T - 1, -1, -1, device=x.device)[:, None]
        biases = vector[:, places]  # (H, T, T)
        q, k, v = (
            torch.stack(layer(x).chunk(H, -1), 1) for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        weights = torch.softmax(q @ k.mT / (C // H) ** 0.5 + biases, -1).to(x.dtype)
        return self.o_proj(torch.cat((weights @ v).unbind(1), -1))
