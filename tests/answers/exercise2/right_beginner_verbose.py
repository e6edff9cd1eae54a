# unusual: asserts on every shape, long names, no type hints, a print per step
import torch
import torch.nn as nn
import math


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim):
        super(SelfAttentionV2, self).__init__()
        assert isinstance(hidden_dim, int) and hidden_dim > 0
        self.hidden_dim = hidden_dim
        self.number_of_projections = 3
        self.proj = nn.Linear(self.hidden_dim, self.number_of_projections * self.hidden_dim)
        self.soft_max = nn.Softmax(dim=-1)

    def forward(self, x):
        batch_size, sequence_length, hidden_dim = x.shape
        assert hidden_dim == self.hidden_dim, "wrong width"

        projected = self.proj(x)
        assert projected.shape == (batch_size, sequence_length, 3 * hidden_dim)
        query, key, value = torch.split(projected, self.hidden_dim, dim=-1)
        print("query", query.size())

        key_transposed = torch.transpose(key, 1, 2)
        scores = torch.bmm(query, key_transposed)
        assert scores.shape == (batch_size, sequence_length, sequence_length)
        scores = torch.div(scores, math.sqrt(hidden_dim))

        probabilities = self.soft_max(scores)
        output = torch.bmm(probabilities, value)
        print("output", output)
        return output
