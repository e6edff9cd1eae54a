# unusual: the root is a tensor, made in the dtype and on the device of x
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_in, d_out) * 0.02)
        self.key = nn.Parameter(torch.randn(d_in, d_out) * 0.02)
        self.value = nn.Parameter(torch.randn(d_in, d_out) * 0.02)

    def forward(self, x):
        q = torch.matmul(x, self.query)
        k = torch.matmul(x, self.key)
        v = torch.matmul(x, self.value)
        d_k = torch.tensor(float(k.shape[-1]), dtype=x.dtype, device=x.device)
        scores = torch.matmul(q, k.transpose(-1, -2)) / torch.sqrt(d_k)
        return torch.matmul(nn.functional.softmax(scores, dim=-1), v)
