"""Two answers that rounding tells apart are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
import torch

from grader.diagnosis.noise import NoisyOperations
from grader.diagnosis.replay import AskedStep, Replay, ReplayUnit
from grader.diagnosis.rounding import unexplained
from grader.diagnosis.same import difference
from grader.sandbox.replies import StepAnswer
from grader.wire import messages, responses, values


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
    told = responses.Gradients(result=values.encode(theirs, sent))
    assert difference(StepAnswer(told, sent), told, mine) == kind


@pytest.mark.parametrize(("off", "kinds"), [(0.02, []), (0.5, ["gradients"])])
def test_gradient_in_another_style_may_be_what_is_left_of_large_terms(
    off: float, kinds: list[str]
) -> None:
    """Two softmaxes leave other rests where terms as large as the largest gradient cancel."""

    def gradients(*numbers: float) -> StepAnswer:
        sent: list[torch.Tensor] = []
        result = values.encode([torch.tensor([one]) for one in numbers], sent)
        return StepAnswer(responses.Gradients(result=result), sent)

    class Mistaken:
        def answers(
            self, _: ReplayUnit
        ) -> Iterator[tuple[tuple[int, int], StepAnswer, StepAnswer]]:
            yield (0, 0), theirs, gradients(51303.0, off)

    theirs, right = gradients(51303.0, 0.0), gradients(7.0, 0.0)
    unit, solved = (
        ReplayUnit([[AskedStep(messages.Step(messages.Backward(1, []), []), b"", one)]], False)
        for one in (theirs, right)
    )
    assert [*unexplained(cast(Replay, Mistaken()), unit, lambda _: solved)] == kinds


@pytest.mark.parametrize(
    ("number", "dtype", "moves"),
    [
        (48.0, torch.bfloat16, False),
        (75264.0, torch.bfloat16, True),  # all numbers as large are whole in it
        (75264.0, torch.float32, False),
        (0.3, torch.float32, True),
    ],
)
def test_noise_spares_small_whole_numbers_alone(
    number: float, dtype: torch.dtype, moves: bool
) -> None:
    given = torch.full((100,), number, dtype=dtype)
    with NoisyOperations():
        doubled = given + given
    assert torch.equal(doubled, 2 * given) != moves
