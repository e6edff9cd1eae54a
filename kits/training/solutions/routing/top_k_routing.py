"""Routing in a mixture of experts."""

from torch import Tensor


def top_k_routing(logits: Tensor, k: int) -> Tensor:
    """Give each token's k likeliest experts their shares, and all others none.

    p is the softmax of logits over the experts, and S(t) the k experts with the largest p[t]. Then
    weights[t, e] = p[t, e] / Σ_{i in S(t)} p[t, i] for e in S(t), and exactly 0 for all others.

    Large logits do not overflow. The gradient is that of this formula, S(t) taken as it is.

    Args:
        logits: (T, E), for T tokens and E experts, float32, float64 or bfloat16; those of a
            row differ by 1/4 or more.
        k: How many experts a token has, from 1 to E.

    Returns:
        (T, E), of the dtype of logits.

    Raises:
        ValueError: k is less than 1 or more than E; the message gives it.
    """
    if not 1 <= k <= logits.size(-1):
        raise ValueError(f"k must be from 1 to {logits.size(-1)}, got {k}")
    shares = logits.softmax(-1)  # (T, E)
    chosen = shares.topk(k, dim=-1).indices  # (T, k)
    marks = shares.new_zeros(shares.shape).scatter(-1, chosen, 1.0)  # (T, E), 1 where chosen
    kept = shares * marks
    return kept / kept.sum(-1, keepdim=True)
