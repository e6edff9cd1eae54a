"""Sizes at which what is computed of every two tokens takes no long time."""

from grader.suite.contract import Sizes

FEW_HEADS = 8


def with_few_scores(sizes: Sizes, most: int) -> Sizes:
    """The same with fewer heads, and with fewer sequences, where there would be too many scores.

    Args:
        sizes: Of T tokens that attend to themselves and to S of before.
        most: So many scores; one sequence of a few heads may have more.
    """
    scores = sizes.T * (sizes.S + sizes.T)  # of a head
    H, G, D = sizes.H, sizes.get("G", 1), sizes.C // sizes.H
    while H > FEW_HEADS and H % 2 == 0 and H * scores > most:
        H, G = H // 2, G // 2 if G % 2 == 0 else G
    B = min(sizes.B, max(1, most // (H * scores)))
    return sizes.replace(B=B, C=H * D, H=H, **({"G": G} if "G" in sizes else {}))
