# unusual: nothing; the interview answer with masked_fill and functional dropout
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim, dropout_rate=0.1):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x, attention_mask=None):
        # (B, T, C) -> (B, T, C)
        Q, K, V = self.q(x), self.k(x), self.v(x)
        # (B, T, C) @ (B, C, T) -> (B, T, T)
        scores = Q @ K.transpose(-1, -2) / math.sqrt(self.hidden_dim)
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, float("-inf"))
        weights = F.dropout(F.softmax(scores, dim=-1), self.dropout_rate, self.training)
        return weights @ V
