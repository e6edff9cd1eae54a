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


def sampling_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.size(-1)).to(logits.dtype)
    wide = torch.promote_types(logits.dtype, torch.float32)
    scaled = logits.to(wide) / temperature
    if top_k is not None:
        above = (scaled.unsqueeze(1) > scaled.unsqueeze(2)).sum(-1)  # how many are more likely
        scaled = torch.where(above < top_k, scaled, -torch.inf)
    if top_p is not None:
        shares = scaled.detach().softmax(-1)
        above = scaled.unsqueeze(1) > scaled.unsqueeze(2)
        mass = (above * shares.unsqueeze(1)).sum(-1)
        scaled = torch.where((mass < top_p) | ~above.any(-1), scaled, -torch.inf)
    return torch.softmax(scaled, -1).to(logits.dtype)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList([Block(embed_dim, num_heads) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, caches=None):
        x = self.embedding(tokens)
        out = []
        for i, block in enumerate(self.blocks):
            x, c = block(x, caches[i] if caches is not None else None)
            out.append(c)
        return self.head(self.norm(x)), out

    def loss(self, tokens, labels):
        logits = self.forward(tokens)[0][:, :-1]
        target = labels[:, 1:]
        valid = target != -100
        logp = torch.log_softmax(logits, dim=-1)
        nll = -torch.gather(logp, 2, target.masked_fill(~valid, 0).unsqueeze(2)).squeeze(2)
        return (nll * valid).sum() / valid.sum().clamp(min=1)

    @torch.no_grad()
    def generate(self, tokens, num_tokens, temperature=0.0, top_k=None, top_p=None, generator=None):
        caches, new = None, tokens
        for _ in range(num_tokens):
            logits, caches = self(new, caches)
            new = torch.multinomial(
                sampling_distribution(logits[:, -1, :], temperature, top_k, top_p),
                1,
                generator=generator,
            )
            tokens = torch.cat((tokens, new), dim=1)
        return tokens
