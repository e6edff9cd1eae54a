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
    shares = torch.softmax(
        logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature, -1
    )
    if top_k is not None and top_k < shares.size(-1):
        kth = shares.sort(-1, descending=True).values[:, top_k - 1].unsqueeze(-1)
        shares = shares * (shares >= kth)
        shares = shares / shares.sum(-1, keepdim=True)
    if top_p is not None:
        ordered = shares.sort(-1, descending=True).values
        before = torch.cat([torch.zeros_like(ordered[:, :1]), ordered.cumsum(-1)[:, :-1]], -1)
        last = (before < top_p).sum(-1, keepdim=True).sub(1).clamp(min=0)
        shares = shares * (shares >= ordered.gather(-1, last))
        shares = shares / shares.sum(-1, keepdim=True)
    return shares.to(logits.dtype)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_heads, num_layers):
        super().__init__()
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.embedding.weight = self.head.weight
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(Block(embed_dim, num_heads))
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, tokens, caches=None):
        caches = list(caches) if caches else [None for _ in self.blocks]
        h = F.embedding(tokens, self.embedding.weight)
        for n in range(len(self.blocks)):
            h, caches[n] = self.blocks[n](h, caches[n])
        return torch.einsum("btc,vc->btv", self.norm(h), self.head.weight), caches

    def loss(self, tokens, labels):
        V = self.head.out_features
        logits, _ = self(tokens[:, :])
        target = labels[:, 1:].reshape(-1)
        losses = F.cross_entropy(logits[:, :-1].reshape(-1, V), target, reduction="none")
        return losses.sum() / torch.clamp_min(target.ne(-100).sum(), 1)

    def generate(self, tokens, num_tokens, temperature=0.0, top_k=None, top_p=None, generator=None):
        with torch.inference_mode():
            pieces, caches = [tokens], None
            while len(pieces) <= num_tokens:
                logits, caches = self(pieces[-1], caches)
                p = sampling_distribution(logits[:, -1], temperature, top_k, top_p)
                pieces.append(p.multinomial(1, generator=generator))
            return torch.cat(pieces, 1)
