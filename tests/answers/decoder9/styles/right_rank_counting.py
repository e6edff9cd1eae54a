# Strange: no sort at all: a token's rank and the mass ahead of it are sums over a (V, V) table of comparisons.
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
    wide = torch.promote_types(logits.dtype, torch.float32)
    z = logits.to(wide)
    if temperature == 0:
        first = z.eq(z.amax(-1, keepdim=True)).to(torch.int32).cumsum(-1)
        return (first.eq(1) & z.eq(z.amax(-1, keepdim=True))).to(logits.dtype)
    z = (z - z.detach().amax(-1, keepdim=True)) / max(float(temperature), torch.finfo(wide).tiny)
    likelier = z.detach()[..., None, :] > z.detach()[..., :, None]  # (B, V, V): is column ahead of row
    keep = torch.ones_like(z, dtype=torch.bool)
    if top_k is not None:
        keep = likelier.sum(-1) < top_k
    if top_p is not None:
        p = z.detach().masked_fill(~keep, -torch.inf).softmax(-1)
        ahead = (likelier.to(wide) @ p[..., None])[..., 0]
        keep = keep & ((ahead < top_p) | ~likelier.any(-1))
    return z.masked_fill(~keep, -torch.inf).softmax(-1).to(logits.dtype)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        nn.init.trunc_normal_(self.embedding.weight, std=0.1)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(Block(embed_dim, num_heads))
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.register_parameter("weight", self.embedding.weight)

    def forward(self, tokens: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        h = self.embedding(tokens)
        gone = iter([None] * len(self.blocks) if caches is None else caches)
        now = []
        for block in self.blocks:
            h, cache = block(h, next(gone))
            now.append(cache)
        return self.head(self.norm(h)), now

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        logits, _ = self.forward(tokens)
        z = logits[:, : tokens.size(1) - 1]
        z = z.to(torch.promote_types(z.dtype, torch.float32))
        goal = labels[:, 1:]
        judged = goal.ne(-100)
        right = F.one_hot(goal.where(judged, 0), z.size(-1)).to(z.dtype)
        surprise = z.logsumexp(-1) - torch.einsum("btv,btv->bt", z, right)
        return (torch.where(judged, surprise, 0).sum() / judged.sum().clamp(min=1)).to(logits.dtype)

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        num_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        B, T = tokens.shape
        out = tokens.new_zeros(B, T + num_tokens)
        out[:, :T] = tokens
        caches, start = None, 0
        for end in range(T, T + num_tokens):
            logits, caches = self(out[:, start:end], caches)
            p = sampling_distribution(logits[:, -1], temperature, top_k, top_p)
            out[:, end : end + 1] = torch.multinomial(p, 1, replacement=True, generator=generator)
            start = end
        return out
