# unusual: long names, prints, a check per number of heads, permute by numbers
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadSelfAttention(nn.Module):
    """Multi head self attention (like nn.MultiheadAttention but by hand)."""

    def __init__(self, embed_dim, num_heads):
        super(MultiHeadSelfAttention, self).__init__()
        if num_heads < 1:
            raise ValueError("num_heads has to be at least 1, got " + str(num_heads))
        if embed_dim % num_heads:
            message = "The embedding dimension " + str(embed_dim)
            message = message + " can not be divided by the number of heads " + str(num_heads)
            raise ValueError(message)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = int(embed_dim / num_heads)

        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        batch, tokens, width = x.shape
        print("forward", batch, tokens, width)

        queries = self.to_queries(x).reshape(batch, tokens, self.num_heads, self.head_dim)
        keys = self.to_keys(x).reshape(batch, tokens, self.num_heads, self.head_dim)
        values = self.to_values(x).reshape(batch, tokens, self.num_heads, self.head_dim)

        queries = queries.permute(0, 2, 1, 3)
        keys = keys.permute(0, 2, 3, 1)
        values = values.permute(0, 2, 1, 3)

        scores = queries @ keys
        scores = scores / math.sqrt(self.head_dim)
        weights = F.softmax(scores, dim=3)
        for i in range(self.num_heads):
            print("head", i, "weights", weights[:, i])

        heads = weights @ values
        heads = heads.permute(0, 2, 1, 3)
        heads = heads.reshape(batch, tokens, self.embed_dim)
        return self.unify_heads(heads)
