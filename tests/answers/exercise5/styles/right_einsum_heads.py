# Strange: all in einsums with the weights viewed as (head, feature, C); no tensor is reshaped after that.
import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim={embed_dim} is no multiple of num_heads={num_heads}")
        self.heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def _project(self, layer: nn.Linear, x: Tensor) -> Tensor:
        return torch.einsum("xyz,hdz->hxyd", x, layer.weight.unflatten(0, (self.heads, -1)))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self._project(m, x) for m in (self.to_queries, self.to_keys, self.to_values))
        w = torch.einsum("hxyd,hxwd->hxyw", q * q.size(-1) ** -0.5, k).softmax(-1)
        o = torch.einsum("hxyw,hxwd->xyhd", w, v)
        return torch.einsum("xyhd,zhd->xyz", o, self.unify_heads.weight.unflatten(1, (self.heads, -1)))
