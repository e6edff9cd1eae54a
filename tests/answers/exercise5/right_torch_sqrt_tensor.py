# unusual: the root as a float32 tensor made in forward; own softmax; numpy-like names
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        try:
            assert embed_dim % num_heads == 0
        except AssertionError as error:
            raise ValueError("%d is not a multiple of %d" % (embed_dim, num_heads)) from error
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def split_heads(self, t):
        B, T, C = t.shape
        return t.reshape(B, T, self.num_heads, C // self.num_heads).swapaxes(1, 2)

    def softmax(self, s):
        e = torch.exp(s - torch.max(s, axis=-1, keepdims=True)[0])
        return e / torch.sum(e, axis=-1, keepdims=True)

    def forward(self, x):
        Q = self.split_heads(self.to_queries(x))
        K = self.split_heads(self.to_keys(x))
        V = self.split_heads(self.to_values(x))
        d_k = torch.tensor(float(Q.shape[-1]))
        scores = torch.matmul(Q, K.swapaxes(-1, -2)) / torch.sqrt(d_k)
        Z = torch.matmul(self.softmax(scores), V)
        Z = Z.swapaxes(1, 2).reshape(x.shape)
        return self.unify_heads(Z)
