"""The situations of attention, which vary more than those of other contracts."""

from typing import Any

from grader.attention.situations.extremes import with_extremes
from grader.attention.situations.factors import model_of
from grader.attention.situations.filling import fill
from grader.attention.situations.trying import AttentionSituationRun
from grader.suite.situations.factors import FactorModel


class AttentionSituations:
    """Situations that also vary masks, dropout, and which method is called."""

    @staticmethod
    def model(contract: Any) -> FactorModel:
        """Return the model that a contract's situations are drawn from."""
        return with_extremes(contract, model_of(contract))

    fill = staticmethod(fill)
    new_run = staticmethod(AttentionSituationRun)


__all__ = ["AttentionSituations"]
