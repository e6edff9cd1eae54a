# unusual: a helper, called in the demo only, names nn.MultiheadAttention as the type of its argument
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

    @torch.no_grad()
    def load_from(self, theirs: nn.MultiheadAttention) -> None:
        """Take over the weights of torch's layer, to compare the two."""
        w_q, w_k, w_v = theirs.in_proj_weight.chunk(3)
        self.to_queries.weight.copy_(w_q)
        self.to_keys.weight.copy_(w_k)
        self.to_values.weight.copy_(w_v)
        self.unify_heads.weight.copy_(theirs.out_proj.weight)


if __name__ == "__main__":
    theirs = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    mine = MultiHeadSelfAttention(8, 2)
    mine.load_from(theirs)
    x = torch.randn(3, 5, 8)
    print(torch.allclose(mine(x), theirs(x, x, x)[0], atol=1e-6))
