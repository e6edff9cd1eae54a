"""One head after another, each with its rows of the weights."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, memory_dim):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} features cannot be shared among {num_heads} heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(memory_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, memory, memory_mask=None):
        outputs = []
        width = self.q_proj.weight.shape[0] // self.num_heads
        for h in range(self.num_heads):
            rows = slice(h * width, (h + 1) * width)
            q = F.linear(x, self.q_proj.weight[rows])
            k = F.linear(memory, self.k_proj.weight[rows])
            v = F.linear(memory, self.v_proj.weight[rows])
            scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(width)
            if memory_mask is not None:
                padding = memory_mask.eq(0).unsqueeze(1).expand_as(scores)
                scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
            weights = F.softmax(scores, dim=2)
            if memory_mask is not None:
                weights = weights.masked_fill(padding, 0)
            outputs.append(weights.bmm(v))
        return self.o_proj(torch.cat(outputs, dim=2))
