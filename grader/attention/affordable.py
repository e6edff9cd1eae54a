"""Reduce sizes so that computing the scores of all pairs of tokens stays fast."""

from grader.suite.sizes import Sizes

FEW_HEADS = 8  # up to this many, heads are not reduced any further


def with_few_scores(sizes: Sizes, most: int) -> Sizes:
    """Return the sizes with fewer heads, then fewer sequences, to limit the number of scores.

    Args:
        sizes: Sizes at which T tokens attend to themselves and to S earlier ones.
        most: Maximum number of scores; a single sequence with few heads may exceed it.
    """
    scores = sizes.T * (sizes.S + sizes.T)  # in one head of one sequence
    H, G, D = sizes.H, sizes.get("G", 1), sizes.C // sizes.H
    while H > FEW_HEADS and H % 2 == 0 and H * scores > most:
        H, G = H // 2, G // 2 if G % 2 == 0 else G
    B = min(sizes.B, max(1, most // (H * scores)))
    return sizes.replace(B=B, C=H * D, H=H, **({"G": G} if "G" in sizes else {}))
