# Strange: the distribution in float64; the loss is an autograd.Function with its gradient by hand; forward calls itself block by block.
import torch
from torch import Tensor, nn
from torch.nn import functional as F

Cache = tuple[Tensor, Tensor]  # what a block knows of the tokens so far


class Block(nn.Module):
    """Given, not to be edited: a pre-norm block that reads its own past, and knows positions.

    Source: Radford et al. 2019, section 2.3; Vaswani et al. 2017, section 3.5, arXiv:1706.03762
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide embed_dim = {embed_dim}")
        self.num_heads = num_heads
        self.attention_norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.ffn_norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.up_proj = nn.Linear(embed_dim, 2 * embed_dim, bias=False)
        self.down_proj = nn.Linear(2 * embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """Go on after what the cache knows; None stands for a sequence that begins.

        Args:
            x: The tokens that come next, (B, T, C).
            cache: What this block gave for the tokens before.

        Returns:
            (B, T, C), and what it knows now, of all tokens so far.
        """
        T, H = x.size(1), self.num_heads
        past = 0 if cache is None else cache[0].size(1)
        places = torch.arange(past + T, device=x.device)
        h = self.attention_norm(x)
        turns = h + waves(places[past:], h)
        q, k, v = self.q_proj(turns), self.k_proj(turns), self.v_proj(h)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=1), torch.cat([cache[1], v], dim=1)
        scores = torch.einsum("bthd,bshd->bhts", q.unflatten(2, (H, -1)), k.unflatten(2, (H, -1)))
        later = places > places[past:, None]
        shares = (scores * (H / x.size(2)) ** 0.5).masked_fill(later, float("-inf")).softmax(-1)
        found = torch.einsum("bhts,bshd->bthd", shares, v.unflatten(2, (H, -1))).flatten(2)
        x = x + self.o_proj(found)
        return x + self.down_proj(F.gelu(self.up_proj(self.ffn_norm(x)))), (k, v)


def waves(places: Tensor, like: Tensor) -> Tensor:
    """Given, not to be edited: sines and cosines by position, (T,) -> (T, C)."""
    wide = torch.promote_types(like.dtype, torch.float32)
    feature = torch.arange(like.size(-1), device=like.device)
    speed = 10000.0 ** (-(feature - feature % 2).to(wide) / like.size(-1))
    turn = places.to(wide)[:, None] * speed
    return torch.where(feature % 2 == 0, turn.sin(), turn.cos()).to(like.dtype)


def sampling_distribution(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    z, V = logits.double(), logits.size(-1)
    if temperature == 0:
        return torch.eye(V, dtype=logits.dtype, device=logits.device)[z.argmax(-1)]
    z = (z - z.detach().amax(-1, keepdim=True)) / max(temperature, 1e-300)
    if top_k is not None:
        order = z.detach().sort(-1, descending=True).values
        z = z.masked_fill(z < order[..., min(top_k, V) - 1, None], -torch.inf)
    if top_p is not None:
        order = z.detach().sort(-1, descending=True).values
        crossed = order.softmax(-1).cumsum(-1) >= top_p
        index = crossed.to(torch.int8).argmax(-1, keepdim=True)
        index = torch.where(crossed.any(-1, keepdim=True), index, V - 1)
        z = z.masked_fill(z < order.gather(-1, index), -torch.inf)
    return z.softmax(-1).to(logits.dtype)


class Surprise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, goal):
        logp = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
        judged = goal != -100
        count = judged.sum().clamp(min=1)
        index = goal.where(judged, torch.zeros_like(goal)).unsqueeze(-1)
        ctx.save_for_backward(logp, index, judged, count)
        ctx.dtype = logits.dtype
        return (-(logp.gather(-1, index).squeeze(-1) * judged).sum() / count).to(logits.dtype)

    @staticmethod
    def backward(ctx, g):
        logp, index, judged, count = ctx.saved_tensors
        grad = logp.exp().scatter_add(-1, index, -torch.ones_like(index, dtype=logp.dtype))
        return (grad * judged.unsqueeze(-1) * (g.to(logp.dtype) / count)).to(ctx.dtype), None


class LanguageModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList(Block(embed_dim, num_heads) for _ in range(num_layers))
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        with torch.no_grad():
            self.embedding.weight.mul_(0.02)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        def go(h: Tensor, i: int) -> tuple[Tensor, list[Cache]]:
            if i == len(self.blocks):
                return self.head(self.norm(h)), []
            h, cache = self.blocks[i](h, caches and caches[i])
            logits, rest = go(h, i + 1)
            return logits, [cache, *rest]

        return go(self.embedding(tokens), 0)

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        return Surprise.apply(self(tokens)[0][:, :-1], labels[:, 1:])

    def generate(
        self,
        tokens: Tensor,
        num_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        with torch.no_grad():
            out = tokens.new_empty(tokens.size(0), tokens.size(1) + num_tokens)
            parts = out.tensor_split([tokens.size(1)], 1)
            parts[0].copy_(tokens)
            caches, new = None, tokens
            for column in parts[1].split(1, 1):
                logits, caches = self.forward(new, caches)
                p = sampling_distribution(logits[:, -1], temperature, top_k, top_p)
                new = column.copy_(torch.multinomial(p, num_samples=1, generator=generator))
        return out
