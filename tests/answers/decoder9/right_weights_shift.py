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
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList([Block(embed_dim, num_heads) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        # (V, C), as an embedding has it
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def _body(self, x, caches):
        after = []
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x, known = block(x, cache)
            after += [known]
        return self.norm(x), after

    def forward(self, tokens, caches=None):
        x = self.embedding.weight[tokens]
        x, after = self._body(x, caches)
        return x @ self.embedding.weight.transpose(0, 1), after

    def loss(self, tokens, labels):
        """The label of each position moved to it, and the last one ignored."""
        logits = self(tokens)[0]
        following = torch.full_like(labels, -100)
        following[:, :-1] = labels[:, 1:]
        where = following != -100
        normal = logits - logits.logsumexp(dim=-1, keepdim=True)
        one = F.one_hot(following.clamp(min=0), logits.shape[-1]).to(logits.dtype)
        surprise = -(normal * one).sum(-1)
        return torch.where(where, surprise, torch.zeros_like(surprise)).sum() / where.sum().clamp(
            min=1
        )

    def generate(self, tokens, num_tokens, temperature=0.0, top_k=None, top_p=None, generator=None):
        if num_tokens == 0:
            return tokens.clone()
        with torch.no_grad():
            logits, caches = self.forward(tokens)
            said = [tokens]
            for step in range(num_tokens):
                last = logits[:, -1]
                if temperature == 0:
                    said.append(last.argmax(-1, keepdim=True))
                else:
                    p = sampling_distribution(
                        last, temperature=temperature, top_k=top_k, top_p=top_p
                    )
                    said.append(torch.multinomial(p, 1, generator=generator))
                if step + 1 < num_tokens:
                    logits, caches = self.forward(said[-1], caches)
            return torch.hstack(said)
