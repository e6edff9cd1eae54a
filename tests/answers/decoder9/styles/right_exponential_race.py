# Strange: tokens are drawn by the race of exponentials that multinomial runs itself; the tie is a property-like second name; cross_entropy summed.
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


def _keep_top_k(z: Tensor, k: int) -> Tensor:
    least = z.topk(min(k, z.size(-1)), -1).values[..., -1:]
    return z.masked_fill(z < least, -torch.inf)


def _keep_top_p(z: Tensor, p: float) -> Tensor:
    order, _ = z.detach().sort(dim=-1, descending=True)
    total = order.softmax(-1).cumsum(-1)
    needed = (total < p).sum(-1, keepdim=True).clamp(max=z.size(-1) - 1)
    return z.masked_fill(z < order.gather(-1, needed), -torch.inf)


def sampling_distribution(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    match temperature:
        case 0:
            return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1)
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    z = (z - z.detach().amax(-1, keepdim=True)).div(max(temperature, 1e-37))
    z = z if top_k is None else _keep_top_k(z, top_k)
    z = z if top_p is None else _keep_top_p(z, top_p)
    return z.softmax(-1).to(logits.dtype)


class LanguageModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.blocks = nn.ModuleList([Block(embed_dim, num_heads) for _ in range(num_layers)])
        self.norm = nn.RMSNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.embedding.weight = self.head.weight

    def forward(self, tokens: Tensor, caches: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        h = F.embedding(tokens, self.head.weight)
        known: list[Cache] = []
        for i, block in enumerate(self.blocks):
            h, cache = block(h, None if caches is None else caches[i])
            known += [cache]
        return F.linear(self.norm(h), self.embedding.weight), known

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        logits, _ = self(tokens)
        goal = F.pad(labels[:, 1:], (0, 1), value=-100)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        total = F.cross_entropy(wide.flatten(0, 1), goal.flatten(), ignore_index=-100, reduction="sum")
        return total.div((goal != -100).sum().clamp(min=1)).to(logits.dtype)

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
            out, new, caches = tokens.clone(), tokens, None
            while out.size(1) < tokens.size(1) + num_tokens:
                logits, caches = self(new, caches)
                p = sampling_distribution(logits[:, -1], temperature, top_k, top_p)
                p = p.to(torch.promote_types(p.dtype, torch.float32))
                if temperature == 0:
                    new = p.argmax(-1, keepdim=True)
                else:
                    new = (p / torch.empty_like(p).exponential_(generator=generator)).argmax(-1, keepdim=True)
                out = torch.cat([out, new], 1)
            return out
