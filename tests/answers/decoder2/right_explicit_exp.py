"""Exponentials and their sum by hand; a sum of 0 is replaced by 1."""

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
        B, T, C = x.shape
        S, H = memory.shape[1], self.num_heads
        D = C // H
        q = self.q_proj(x).reshape(B, T, H, D).movedim(2, 1) * D**-0.5
        k = self.k_proj(memory).reshape(B, S, H, D).movedim(2, 1)
        v = self.v_proj(memory).reshape(B, S, H, D).movedim(2, 1)
        scores = q @ k.transpose(-2, -1)
        if memory_mask is not None:
            padding = (memory_mask == 0).reshape(B, 1, 1, S)
            # a row of padding alone has the maximum 0, and its exponentials are all 0
            highest = scores.masked_fill(padding, float("-inf")).amax(-1, keepdim=True).detach()
            highest = highest.masked_fill(highest == float("-inf"), 0.0)
            powers = (scores - highest).masked_fill(padding, float("-inf")).exp()
        else:
            powers = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        total = powers.sum(-1, keepdim=True)
        total = total + (total == 0)
        mixed = powers @ v / total
        return self.o_proj(mixed.movedim(1, 2).reshape(B, T, C))
