"""The situations of attention: what they have beyond those of any contract."""

from grader.attention.situations.factors import model_of
from grader.attention.situations.filling import fill
from grader.attention.situations.trying import AttentionTried


class AttentionSituations:
    """Masks, dropout, and what other methods give."""

    model = staticmethod(model_of)
    fill = staticmethod(fill)
    tried = staticmethod(AttentionTried)


__all__ = ["AttentionSituations"]
