# unusual: the authors' recursive code for slopes, a loop over heads, slopes as Python numbers
import math

import torch
from torch import nn


def get_slopes(n):
    def get_slopes_power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        ratio = start
        return [start * ratio**i for i in range(n)]

    if math.log2(n).is_integer():
        return get_slopes_power_of_2(n)
    closest_power_of_2 = 2 ** math.floor(math.log2(n))
    more = get_slopes(2 * closest_power_of_2)[0::2][: n - closest_power_of_2]
    return get_slopes_power_of_2(closest_power_of_2) + more


def alibi_slopes(num_heads):
    return torch.tensor(get_slopes(num_heads), dtype=torch.float32)


class AlibiSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim %d, num_heads %d" % (embed_dim, num_heads))
        self.slopes = get_slopes(num_heads)
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        length = x.shape[1]
        steps = torch.arange(length, device=x.device)
        distance = steps.view(-1, 1) - steps.view(1, -1)
        queries = self.q_proj(x).split(self.head_dim, dim=-1)
        keys = self.k_proj(x).split(self.head_dim, dim=-1)
        values = self.v_proj(x).split(self.head_dim, dim=-1)
        heads = []
        for slope, q, k, v in zip(self.slopes, queries, keys, values):
            scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(self.head_dim)
            scores = scores.float() if x.dtype == torch.bfloat16 else scores
            scores = scores - slope * distance
            scores = scores.masked_fill(distance < 0, -math.inf)
            heads.append(torch.softmax(scores, dim=-1).to(v.dtype) @ v)
        return self.o_proj(torch.cat(heads, dim=-1))
