# Strange: tokens are ordered by argsort, marked in that order, and the marks are scattered back; ties are joined afterwards.
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


def _with_ties(z: Tensor, order: Tensor, kept: Tensor) -> Tensor:
    marks = torch.zeros_like(kept).scatter(-1, order, kept)
    least = torch.where(marks, z, torch.inf).amin(-1, keepdim=True)
    return torch.where(z >= least, z, -torch.inf)


def sampling_distribution(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if temperature == 0:
        first = z.max(-1, keepdim=True).indices
        return torch.zeros_like(logits).scatter(-1, first, torch.ones_like(logits))
    z = (z - z.detach().amax(-1, keepdim=True)) / max(temperature, torch.finfo(z.dtype).tiny)
    order = z.detach().argsort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        place = torch.arange(z.size(-1), device=z.device)
        z = _with_ties(z, order, (place < top_k).expand_as(order))
    if top_p is not None:
        p = z.detach().softmax(-1).gather(-1, order)
        before = F.pad(p.cumsum(-1)[..., :-1], (1, 0), value=-1.0)
        z = _with_ties(z, order, (before < top_p) & (p > 0) | (before < 0))
    return z.log_softmax(-1).exp().to(logits.dtype)


class Tied(nn.Linear):
    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__(embedding.embedding_dim, embedding.num_embeddings, bias=False, device="meta")
        self.weight = embedding.weight


class LanguageModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, _weight=torch.randn(vocab_size, embed_dim) * 0.05)
        self.blocks = nn.ModuleList([Block(embed_dim, num_heads) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = Tied(self.embedding)

    def forward(self, tokens: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        h = self.embedding(tokens)
        fresh = [None] * len(self.blocks)
        for i, block in enumerate(self.blocks):
            h, fresh[i] = block(h, caches[i] if caches else None)
        return self.head(self.norm(h)), fresh

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        logits = self(tokens)[0]
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        goal = labels.roll(-1, 1)
        judged = (goal != -100) & (torch.arange(goal.size(1), device=goal.device) < goal.size(1) - 1)
        logp = wide - wide.logsumexp(-1, keepdim=True)
        said = logp.take_along_dim(goal.masked_fill(~judged, 0).unsqueeze(-1), -1).squeeze(-1)
        return said.masked_fill(~judged, 0).sum().neg().div(judged.sum().clamp(min=1)).to(logits.dtype)

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
        match num_tokens:
            case 0:
                return tokens.clone()
        logits, caches = self(tokens)
        drawn: list[Tensor] = []
        while True:
            p = sampling_distribution(logits[:, -1, :], temperature, top_k=top_k, top_p=top_p)
            drawn.append(p.argmax(-1, keepdim=True) if temperature == 0 else p.multinomial(1, generator=generator))
            if len(drawn) == num_tokens:
                return torch.cat((tokens, torch.cat(drawn, 1)), 1)
            logits, caches = self(drawn[-1], caches)
