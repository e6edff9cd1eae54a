# right: a head is a function of its own weights; torch.vmap runs it over the heads
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim %d / num_heads %d" % (embed_dim, num_heads))
        super().__init__()
        self.C, self.H = embed_dim, num_heads
        make = lambda: nn.Linear(embed_dim, embed_dim, bias=False)  # noqa: E731
        self.to_queries, self.to_keys, self.to_values, self.unify_heads = make(), make(), make(), make()

    def forward(self, x: Tensor) -> Tensor:
        def head(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
            q, k, v = x @ Q.T, x @ K.T, x @ V.T
            return torch.softmax(q @ k.transpose(-2, -1) / Q.shape[0] ** 0.5, dim=-1) @ v

        per_head = (
            layer.weight.unflatten(0, (self.H, -1))
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        heads = torch.vmap(head, out_dims=-2)(*per_head)  # (B, T, H, D)
        return self.unify_heads(heads.flatten(-2))
