import torch
from torch import nn


class Grouped(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.H, self.G, self.D = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.D, bias=False)
        self.v = nn.Linear(width, groups * self.D, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cache=None):
        B, T, C = x.shape
        q = self.q(x).view(B, T, self.H, self.D).transpose(1, 2)
        k = self.k(x).view(B, T, self.G, self.D).transpose(1, 2)
        v = self.v(x).view(B, T, self.G, self.D).transpose(1, 2)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        S = k.size(2)
        past = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        each = self.H // self.G
        keys, values = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
        scores = (q @ keys.mT / self.D**0.5).masked_fill(~past, float("-inf"))
        mixed = (scores.softmax(-1) @ values).transpose(1, 2).reshape(B, T, C)
        return self.out(mixed), (k, v)
