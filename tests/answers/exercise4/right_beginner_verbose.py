# unusual: every step printed, the mask converted step by step, if/else on training
import torch
import torch.nn as nn
import numpy as np


class SelfAttentionV4(nn.Module):
    def __init__(self, hidden_dim, dropout_rate=0.1):
        super(SelfAttentionV4, self).__init__()
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout_rate
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(p=self.dropout_rate)

    def forward(self, x, attention_mask=None):
        print("input:", x.shape)
        query = self.q(x)
        key = self.k(x)
        value = self.v(x)
        key_t = key.transpose(1, 2)
        scores = torch.matmul(query, key_t)
        scores = scores / np.sqrt(self.hidden_dim)
        print("scores:", scores)
        if attention_mask is not None:
            print("mask:", attention_mask.shape, attention_mask.dtype)
            if attention_mask.dtype == torch.bool:
                can_see = attention_mask
            else:
                can_see = attention_mask != 0
            cannot_see = torch.logical_not(can_see)
            scores = torch.masked_fill(scores, cannot_see, -np.inf)
        attention = self.softmax(scores)
        if self.training == True:
            attention = self.dropout(attention)
        else:
            attention = attention
        output = torch.matmul(attention, value)
        print("output:", output)
        return output
