import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return centred / (variance + 1e-5).sqrt() * self.weight + self.bias
