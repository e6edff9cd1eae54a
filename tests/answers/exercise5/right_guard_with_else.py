# unusual: the demo under the usual guard has an else branch
import torch
from torch import Tensor, nn


def head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT * q.size(-1) ** -0.5, -1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        cut = [f(x).chunk(self.num_heads, -1) for f in (self.to_queries, self.to_keys, self.to_values)]
        return self.unify_heads(torch.concat([head(*qkv) for qkv in zip(*cut)], -1))


if __name__ == "__main__":
    module, x = MultiHeadSelfAttention(8, 2), torch.randn(2, 3, 8)
    q, k, v = (
        f(x).unflatten(-1, (2, 4)).transpose(1, 2)
        for f in (module.to_queries, module.to_keys, module.to_values)
    )
    heads = nn.functional.scaled_dot_product_attention(q, k, v)
    print(torch.allclose(module(x), module.unify_heads(heads.transpose(1, 2).flatten(2)), atol=1e-6))
else:
    print(f"{__name__}: imported, no demo")
