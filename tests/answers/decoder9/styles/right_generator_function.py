# Strange: generate drains a Python generator; the mask is multiplied after the softmax and renormalised; the blocks' caches go through accumulate.
from collections.abc import Iterator
from itertools import accumulate, islice

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
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if not temperature:
        return F.one_hot(wide.argmax(dim=-1), wide.size(-1)).to(logits.dtype)
    z = (wide - wide.detach().amax(-1, keepdim=True)) / max(temperature, torch.finfo(wide.dtype).tiny)
    with torch.no_grad():
        order = z.sort(-1, descending=True).values
        floor = torch.full_like(order[..., :1], -torch.inf)
        if top_k is not None:
            floor = order[..., : min(top_k, order.size(-1))][..., -1:]
        if top_p is not None:
            p = order.masked_fill(order < floor, -torch.inf).softmax(-1)
            short = (p.cumsum(-1) < top_p).sum(-1, keepdim=True)
            last = (order >= floor).sum(-1, keepdim=True) - 1
            floor = order.gather(-1, torch.minimum(short, last))
        keep = (z >= floor).to(z.dtype)
    e = z.exp() * keep
    return (e / e.sum(-1, keepdim=True)).to(logits.dtype)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList(map(lambda _: Block(embed_dim, num_heads), range(num_layers)))
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.embedding.weight = self.head.weight
        nn.init.normal_(self.head.weight, std=embed_dim**-0.5)

    def forward(self, tokens: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        pairs = zip(self.blocks, [None] * len(self.blocks) if caches is None else caches)
        start = (self.embedding(tokens), None)
        states = list(accumulate(pairs, lambda s, pair: pair[0](s[0], pair[1]), initial=start))
        return self.head(self.norm(states[-1][0])), [cache for _, cache in states[1:]]

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        logits, _ = self(tokens)
        wide = logits[:, :-1].to(torch.promote_types(logits.dtype, torch.float32))
        goal = labels[:, 1:]
        each = F.cross_entropy(wide.mT, goal, ignore_index=-100, reduction="none")
        return (each.sum() / goal.ne(-100).sum().clamp(min=1)).to(logits.dtype)

    def _stream(self, tokens: Tensor, generator: torch.Generator | None, **how) -> Iterator[Tensor]:
        caches = None
        while True:
            logits, caches = self(tokens, caches)
            tokens = torch.multinomial(sampling_distribution(logits[:, -1], **how), 1, generator=generator)
            yield tokens

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
            stream = self._stream(tokens, generator, temperature=temperature, top_k=top_k, top_p=top_p)
            return torch.cat([tokens, *islice(stream, num_tokens)], dim=1)
