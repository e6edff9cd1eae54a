# right: feed-forward in chunks of positions (as in Reformer), a subclass of nn.Sequential; addcmul, addmm; attention by bmm
import torch
from torch import Tensor, nn


class FeedForward(nn.Sequential):
    def __init__(self, C: int) -> None:
        super().__init__(nn.Linear(C, 4 * C), nn.ReLU(), nn.Linear(4 * C, C))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([super(FeedForward, self).forward(part) for part in x.split(64, dim=1)], dim=1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim = } is not divisible by {num_heads = }")
        self.shape = num_heads, embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        H, D = self.shape

        def fold(layer: nn.Linear) -> Tensor:
            return layer(x).view(B, T, H, D).permute(2, 0, 1, 3).reshape(H * B, T, D)

        q, k, v = map(fold, (self.to_queries, self.to_keys, self.to_values))
        s = torch.bmm(q, k.permute(0, 2, 1)) / D**0.5
        e = torch.exp(s - torch.amax(s, -1, True))
        mixed = torch.bmm(e, v) / e.sum(-1, True)
        return self.unify_heads(mixed.view(H, B, T, D).permute(1, 2, 0, 3).reshape(B, T, C))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.ff = FeedForward(embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(torch.add(self.attention(x), x))
        return self.norm2(torch.add(self.ff(x), x))
