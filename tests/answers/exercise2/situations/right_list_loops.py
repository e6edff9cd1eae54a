# right: Python lists: a loop over the batch and a loop over queries, torch.inner and addmv
import torch
from torch import nn


def softmax(v):
    v = v - torch.max(v)
    e = torch.exp(v)
    return e / torch.sum(e)


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        nn.init.xavier_uniform_(self.proj.weight)
        nn.init.zeros_(self.proj.bias)

    def forward(self, x):
        B, T, C = x.size()
        result = []
        for sequence in x:
            q, k, v = self.proj(sequence).unflatten(-1, (3, C)).unbind(1)
            rows = [softmax(torch.inner(k, query) / C**0.5) for query in q]
            result.append(torch.vstack(rows).mm(v))
        return torch.stack(result, dim=0)
