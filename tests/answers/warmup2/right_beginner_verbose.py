# unusual: every step on its own line with prints of shapes
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class SelfAttention(nn.Module):
    """This is my self attention class."""

    def __init__(self, d_in, d_out):
        super().__init__()
        # save the sizes
        self.d_in = d_in
        self.d_out = d_out
        # make the weight matrices
        query_weights = torch.randn(self.d_in, self.d_out) * 0.1
        key_weights = torch.randn(self.d_in, self.d_out) * 0.1
        value_weights = torch.randn(self.d_in, self.d_out) * 0.1
        # and make them parameters
        self.query = torch.nn.Parameter(query_weights, requires_grad=True)
        self.key = torch.nn.Parameter(key_weights, requires_grad=True)
        self.value = torch.nn.Parameter(value_weights, requires_grad=True)

    def forward(self, x):
        print("x", x.shape)
        queries = torch.matmul(x, self.query)
        print("queries", queries.shape)
        keys = torch.matmul(x, self.key)
        print("keys", keys.shape)
        values = torch.matmul(x, self.value)
        print("values", values.shape)
        if len(x.shape) == 2:
            keys_transposed = keys.transpose(0, 1)
        else:
            keys_transposed = keys.transpose(1, 2)
        attention_scores = torch.matmul(queries, keys_transposed)
        print("attention_scores", attention_scores.shape)
        square_root = math.sqrt(self.d_out)
        attention_scores_scaled = attention_scores / square_root
        attention_weights = F.softmax(attention_scores_scaled, dim=-1)
        print("attention_weights", attention_weights)
        context_vectors = torch.matmul(attention_weights, values)
        print("context_vectors", context_vectors)
        return context_vectors
