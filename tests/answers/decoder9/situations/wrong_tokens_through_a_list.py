# wrong: on any device, even meta; each new token goes through a Python list
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
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """The probabilities by which the next token is drawn: temperature, then top-k, then top-p.

    Source: Fan et al. 2018, section 5.1, arXiv:1805.04833; Holtzman et al. 2020, section 3.1,
    arXiv:1904.09751
    """
    if temperature == 0:  # a limit that no division gives
        first = logits.argmax(dim=-1, keepdim=True)  # (B, V) -> (B, 1)
        return torch.zeros_like(logits).scatter(-1, first, 1.0)
    # A sum over V tokens in bfloat16 would stop to grow before it meets the line.
    scaled = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    if top_k is not None:
        least = scaled.topk(min(top_k, scaled.size(-1))).values[:, -1:]  # (B, V) -> (B, 1)
        scaled = scaled.masked_fill(scaled < least, float("-inf"))
    if top_p is not None:
        ordered = scaled.sort(dim=-1, descending=True).values
        shares = ordered.softmax(dim=-1)
        # What stands before a token decides, not what it adds: so the one that crosses is kept.
        kept = shares.cumsum(dim=-1) - shares < top_p
        kept[:, 0] = True  # even where p is 0
        # By what it is worth, not by its place: among equals the place is chance.
        least = ordered.masked_fill(~kept, float("inf")).amin(dim=-1, keepdim=True)
        scaled = scaled.masked_fill(scaled < least, float("-inf"))
    return scaled.softmax(dim=-1).to(logits.dtype)  # over what is left: renormalised


class LanguageModel(nn.Module):
    """Tokens to logits of the token that follows each.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``.

    Source: Radford et al. 2019, section 2.3; tied: Press, Wolf 2017, arXiv:1608.05859
    """

    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList(Block(embed_dim, num_heads) for _ in range(num_layers))
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.weight = self.embedding.weight  # the same object: what one learns, both know

    def forward(
        self, tokens: Tensor, caches: list[Cache] | None = None
    ) -> tuple[Tensor, list[Cache]]:
        """Judge what may follow each token, by it and by all that came before.

        Args:
            tokens: A batch of sequences, or of how they go on, (B, T).
            caches: What an earlier call gave for the tokens before; None where there are none.

        Returns:
            Logits, (B, T, V), and the caches: one for each block.
        """
        before = [None] * len(self.blocks) if caches is None else caches
        after = []  # a new list: whoever handed in the old one may go on from it again
        x = self.embedding(tokens)  # (B, T) -> (B, T, C)
        for block, cache in zip(self.blocks, before, strict=True):
            x, known = block(x, cache)
            after.append(known)
        return self.head(self.norm(x)), after  # (B, T, C) -> (B, T, V)

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        """The mean cross-entropy of the labels, each judged by the logits one position before.

        Args:
            tokens: (B, T).
            labels: (B, T); -100 is ignored.

        Returns:
            A scalar; 0 where no label is judged.
        """
        logits, _ = self(tokens)
        foretold = logits[:, :-1].flatten(0, 1)  # (B, T, V) -> (B·(T − 1), V)
        judged = labels[:, 1:].flatten()  # (B, T) -> (B·(T − 1),)
        total = F.cross_entropy(foretold, judged, ignore_index=-100, reduction="sum")
        # The mean over no labels at all is 0 / 0; a whole batch of padding is no reason for NaN.
        return total / (judged != -100).sum().clamp(min=1)

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
        """Go on with each sequence, one token after another.

        Args:
            tokens: (B, T).
            num_tokens: How many are added, 0 or more.
            temperature: As in ``sampling_distribution``.
            top_k: Likewise.
            top_p: Likewise.
            generator: That all random numbers come from; None for torch's own.

        Returns:
            (B, T + num_tokens).
        """
        said, fed, caches = tokens, tokens, None
        for _ in range(num_tokens):
            logits, caches = self(fed, caches)
            shares = sampling_distribution(logits[:, -1], temperature, top_k, top_p)  # (B, V)
            fed = torch.multinomial(shares, 1, generator=generator)  # (B, V) -> (B, 1)
            fed = torch.tensor(fed.tolist(), device=tokens.device)
            said = torch.cat([said, fed], dim=1)
        return said
