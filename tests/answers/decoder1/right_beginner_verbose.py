# every step by itself, names as a tutorial has them, the mask a plain attribute that is moved by hand
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, max_len: int) -> None:
        super(CausalSelfAttention, self).__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.max_len = max_len
        if not embed_dim % num_heads == 0:
            raise ValueError("embed_dim=" + str(embed_dim) + " num_heads=" + str(num_heads))
        self.head_dim = int(embed_dim / num_heads)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.mask = torch.tril(torch.ones(max_len, max_len))

    def split_heads(self, tensor):
        batch_size, seq_len, _ = tensor.size()
        tensor = tensor.reshape(batch_size, seq_len, self.num_heads, self.head_dim)
        return tensor.permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch_size, seq_len, embed_dim = x.size()
        if seq_len > self.max_len:
            raise ValueError("seq_len=" + str(seq_len) + " max_len=" + str(self.max_len))
        queries = self.split_heads(self.q_proj(x))
        keys = self.split_heads(self.k_proj(x))
        values = self.split_heads(self.v_proj(x))
        scores = torch.matmul(queries, keys.transpose(-1, -2))
        scores = scores / (self.head_dim**0.5)
        mask = self.mask[:seq_len, :seq_len].to(x.device)
        scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        context = torch.matmul(weights, values)
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(batch_size, seq_len, embed_dim)
        return self.o_proj(context)
