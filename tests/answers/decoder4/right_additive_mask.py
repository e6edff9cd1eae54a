# unusual: one additive mask of -inf and biases, made by triu and cumsum; biases cast to x's dtype
import torch
import torch.nn.functional as F
from torch import nn


def alibi_slopes(num_heads: int) -> torch.Tensor:
    log = num_heads.bit_length() - 1
    low, high = 2**log, 2 ** (log + 1)
    of = lambda n: torch.pow(2.0, -8.0 / n * torch.arange(1.0, n + 1))  # noqa: E731
    return torch.cat([of(low), of(high)[::2]])[:num_heads]


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"got embed_dim={embed_dim} with num_heads={num_heads}")
        self.shape = (num_heads, head_dim)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def mask(self, x: torch.Tensor) -> torch.Tensor:
        T = x.shape[1]
        ones = torch.ones(T, T, device=x.device).tril(-1)
        distance = ones.flip(-1).cumsum(-1).flip(-1)  # how many keys lie between, and one
        bias = -alibi_slopes(self.shape[0]).to(x.device).view(-1, 1, 1) * distance
        future = torch.full((T, T), float("-inf"), device=x.device).triu(1)
        return (bias + future).to(x.dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.q_proj(x).unflatten(-1, self.shape).transpose(1, 2)
        k = self.k_proj(x).unflatten(-1, self.shape).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, self.shape).transpose(1, 2)
        scores = (q * self.shape[1] ** -0.5) @ k.transpose(-1, -2)
        weights = F.softmax(scores + self.mask(x), dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(-2))
