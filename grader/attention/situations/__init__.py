"""The situations of attention: what they have beyond those of any contract."""

from typing import Any

from grader.attention.situations.extremes import with_extremes
from grader.attention.situations.factors import model_of
from grader.attention.situations.filling import fill
from grader.attention.situations.trying import AttentionTried
from grader.suite.situations.factors import Model


class AttentionSituations:
    """Masks, dropout, and what other methods give."""

    @staticmethod
    def model(contract: Any) -> Model:
        """What its situations are made of."""
        return with_extremes(contract, model_of(contract))

    fill = staticmethod(fill)
    tried = staticmethod(AttentionTried)


__all__ = ["AttentionSituations"]
