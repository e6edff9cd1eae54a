"""Inputs of one's own: what is none of an exercise's is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from grader.errors import GradeError
from grader.kit import installed_kit
from grader.sandbox.null import NullSession
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.own_try import MAX_INPUT_NUMBERS, try_on
from grader.suite.runner import suite_runner

EYE = [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("exercise", "own", "sizes", "says"),
    [
        ("exercise3", {"x": [[1, 0], [0]]}, {}, "`x`: rows of numbers have to be of one length"),
        ("exercise3", {"x": "one"}, {}, "`x`: rows of numbers have to be of one length"),
        ("exercise3", {"x": [[float("inf")]]}, {}, "`x`: expected finite numbers"),
        ("exercise3", {"x": [1, 2]}, {}, r"`x`: expected \(B, T, C\)"),
        (
            "exercise3",
            {"x": []},
            {},
            f"`x`: 1 to {MAX_INPUT_NUMBERS} numbers can be looked at, not 0",
        ),
        ("exercise3", {"x": [[0] * MAX_INPUT_NUMBERS] * 2}, {}, f"not {2 * MAX_INPUT_NUMBERS}"),
        ("exercise3", {"x": EYE, "y": 1}, {}, "no input `y`; it has `x`, `attention_mask`"),
        ("exercise3", {"x": EYE}, {"Q": 3}, "there is no size `Q`; there is `B`, `T`, `C`"),
        ("exercise5", {"x": [[1, 2, 3, 4]]}, {"H": 3}, "nothing is right at B=1, T=1, C=4, H=3"),
        ("decoder3", {"x": EYE, "positions": [0.5, 1]}, {}, "`positions`: expected integers"),
        ("bug14", {"x": EYE}, {}, "`check_version_2` has no input `x`; it has none"),
    ],
)
def test_what_is_no_input_is_refused(
    exercise: str, own: dict[str, Any], sizes: dict[str, int], says: str
) -> None:
    contract = suite_runner(installed_kit().find(exercise).suite).plugin.contract
    assert contract is not None
    nobody: Any = NullSession()
    with pytest.raises(GradeError, match=says):
        try_on(Harness(contract, nobody, Draw(0), {}), own, sizes)
