"""A small language model: tied embeddings, a loss with ignored labels, text drawn with a cache.

C is ``embed_dim``, V ``vocab_size``. Tokens and labels are int64; logits count as scores in the
rules below. ``Block`` is given and works: leave it as it is, and build on it. What is left is
around the blocks: what goes in, what comes out, what is learned from it, and how it goes on. No
dropout.
"""

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
    """The probabilities by which the next token is drawn.

    First the logits are divided by the temperature. Then top-k keeps the k most likely tokens.
    Then top-p keeps, of what is left and renormalised, the fewest most likely tokens whose
    probabilities add up to at least p: the one that crosses the line is kept. Whoever is exactly
    as likely as the least likely one that is kept, is kept too, in both steps: no order of sorting
    matters. What is kept is renormalised, all else is exactly 0. For bfloat16 logits all of this is
    computed in float32, and rounded at the end.

    Args:
        logits: (B, V).
        temperature: 0 or more; at 0 all the mass is on the first of the most likely tokens,
            whatever ``top_k`` and ``top_p`` say.
        top_k: At least 1, or None for all tokens; V or more keeps all.
        top_p: From 0 to 1, or None for all tokens; at 0 the most likely are kept.

    Returns:
        (B, V), rows that sum to 1; above temperature 0 gradients reach ``logits``.

    Source: Fan et al. 2018, section 5.1, arXiv:1805.04833; Holtzman et al. 2020, section 3.1,
    arXiv:1904.09751
    """
    raise NotImplementedError


class LanguageModel(nn.Module):
    """Tokens to logits of the token that follows each.

    Args:
        vocab_size: V, the number of tokens.
        embed_dim: C, the width of the model.
        num_heads: H, of each block.
        num_layers: The number of blocks, at least 1.

    Attributes:
        embedding: ``nn.Embedding(V, C)``.
        blocks: An ``nn.ModuleList`` of ``Block(C, H)``, in the order in which they are gone
            through.
        norm: ``nn.RMSNorm(C, eps=1e-6)``, after the last block.
        head: ``nn.Linear(C, V, bias=False)``, whose weight is that of the embedding: one parameter
            under two names, also once a state was loaded by ``load_state_dict`` as usual.

    Raises:
        ValueError: ``num_heads`` does not divide ``embed_dim``; the message gives both numbers.

    Source: Radford et al. 2019, section 2.3; tied: Press, Wolf 2017, arXiv:1608.05859
    """

    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, tokens: Tensor, caches: list[Cache] | None = None
    ) -> tuple[Tensor, list[Cache]]:
        """Judge what may follow each token, by it and by all that came before.

        Args:
            tokens: A batch of sequences, or of how they go on, (B, T).
            caches: What an earlier call gave for the tokens before; None where there are none.
                A caller may go on from the same caches twice, and gradients go back through them.

        Returns:
            Logits, (B, T, V), and the caches: one for each block, in a list.
        """
        raise NotImplementedError

    def loss(self, tokens: Tensor, labels: Tensor) -> Tensor:
        """How badly the labels are foretold: the mean cross-entropy, in natural logarithms.

        Labels are shifted here, once: the logits at position t are judged by ``labels[:, t + 1]``,
        so that a caller passes the tokens themselves. What follows the last position is not known,
        and nothing judges it. Where each of seven tokens is always followed by the same one, forty
        steps of Adam bring it below 0.5.

        Args:
            tokens: (B, T).
            labels: (B, T); -100 is ignored: it adds nothing, and does not count in the mean,
                which is taken over all labels of the batch that are judged.

        Returns:
            A scalar; 0, with gradients of 0, where no label is judged.
        """
        raise NotImplementedError

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

        The tokens are read in one call; then each step feeds its new token alone, and the caches.
        Each token is drawn by ``sampling_distribution`` of the logits before it, as
        ``torch.multinomial`` draws, each sequence on its own; at temperature 0 it is always the
        most likely. Training or evaluation is left as it was.

        Args:
            tokens: (B, T).
            num_tokens: How many are added, 0 or more.
            temperature: As in ``sampling_distribution``.
            top_k: Likewise.
            top_p: Likewise.
            generator: That all random numbers come from; None for torch's own.

        Returns:
            (B, T + num_tokens), int64: the tokens, then what was added; no gradient is kept on
            the way.
        """
        raise NotImplementedError


# The rules, the same in every exercise:
#
# - Modules and inputs are float32, float64 or bfloat16 (float16 is left open), on any device, even
#   ``meta``: compute in no narrower dtype, return the same one, don't branch on values.
# - B = 1, sequences of 1 to 257 tokens, non-contiguous inputs and scores up to 1e8 all give finite,
#   right values, and gradients reach every input but masks, and every parameter.
# - No input is changed in place; nothing is remembered from one call to the next.
# - The parameters are those named above and no others; buffers are free. The checks use your own
#   weights, so their first values are your choice where none are told.
# - Import the standard library, torch and numpy alone. ``scaled_dot_product_attention``,
#   ``nn.MultiheadAttention``, ``nn.Transformer...``: only below ``if __name__ == "__main__":``.
