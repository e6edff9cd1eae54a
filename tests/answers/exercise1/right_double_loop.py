# unusual: a loop over the sequences and a loop over the queries, every score a vector of dot products
import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
        all_outputs = []
        for b in range(x.shape[0]):
            q = self.q(x[b])
            k = self.k(x[b])
            v = self.v(x[b])
            outputs = []
            for t in range(x.shape[1]):
                scores = k.mv(q[t]) / self.hidden_dim ** 0.5
                weights = torch.softmax(scores, 0)
                outputs.append(weights @ v)
            all_outputs.append(torch.stack(outputs))
        return torch.stack(all_outputs)
