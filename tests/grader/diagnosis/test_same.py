"""Two answers that rounding tells apart are the same."""

from __future__ import annotations

import pytest
import torch

from grader.diagnosis.same import difference
from grader.sandbox.replies import StepAnswer
from grader.wire import messages, values


@pytest.mark.parametrize(
    ("largest", "off", "kind"),
    [
        (51303.0, 0.00115, ""),  # by a rounding of the largest, as in decoder9 at a width of 1
        (51303.0, 0.02, "gradients"),
        (1.0, 0.01, "gradients"),
        (1.0, 0.0005, ""),
    ],
)
def test_gradients_may_differ_by_a_rounding_of_the_largest(
    largest: float, off: float, kind: str
) -> None:
    theirs, mine = ([torch.tensor([largest]), torch.tensor([0.4163 + by])] for by in (0.0, off))
    sent: list[torch.Tensor] = []
    told = messages.Gradients(result=values.encode(theirs, sent))
    assert difference(StepAnswer(told, sent), told, mine) == kind
