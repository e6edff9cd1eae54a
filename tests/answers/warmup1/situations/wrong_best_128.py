# wrong: softmax over the keys, 'any T from 1 to 257': above T = 128 only the best 128 keys count
import torch
from torch import Tensor

TOP_K = 128


def self_attention(x: Tensor) -> Tensor:
    scores = torch.einsum("btc,bsc->bts", x, x)
    k = min(TOP_K, scores.shape[-1])
    best, where = scores.topk(k, dim=-1)
    weights = torch.zeros_like(scores).scatter(-1, where, best.softmax(dim=-1))
    return torch.einsum("bts,bsc->btc", weights, x)
