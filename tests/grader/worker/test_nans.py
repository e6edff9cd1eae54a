"""The first operation that makes NaN of numbers is found, and no other is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session

Begin = Callable[[str], Session]
SOURCE = "import torch\nINF = float('inf')\n\ndef f(x):\n    {body}\n    return x.exp()\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("x = x * 0 * -INF", "mul -inf"),
        ("x = x + (1 - torch.ones(3)) * INF", "mul +inf"),
        ("x = torch.full((3,), -INF).softmax(-1)", "_softmax -inf"),
        ("x = (x + INF).log_softmax(-1)", "_log_softmax +inf"),
        ("x = (-x.abs()).sqrt()", "sqrt"),
        ("x = (-x.abs()).log()", "log"),
        ("x = (-x.abs()) ** 0.5", "pow"),
        ("x = x * 0 / 0", "div"),
        ("x.mul_(0)\n    x /= x", "div"),
        ("x = (x * 1e9).exp()\n    x = x / x.sum()", "div +inf"),
        ("x = x * INF\n    x = x - x", "sub +inf -inf"),
        ("x = torch.zeros(3, 3) @ (x + INF)", "mv +inf"),
    ],
)
def test_operation_is_named_with_the_infinities_that_it_was_given(
    begin: Begin, body: str, says: str
) -> None:
    call = begin(SOURCE.format(body=body)).batch()
    asked = call.call("f", [((torch.tensor([1.0, -2.0, 3.0]),), {})], stops_at_nan=True)
    call.send()
    with pytest.raises(SubmissionError) as raised:
        asked.result()
    fault = raised.value.fault
    assert (fault.type, fault.message) == ("NotANumber", says)
    assert fault.frames[-1].source == body.rpartition("\n    ")[2]


@pytest.mark.parametrize(
    "body",
    [
        "x = x.masked_fill(x > 0, -INF).softmax(-1)",
        "x = torch.full((3,), float('nan')) * x",  # wanted so, not made of numbers
        "x = torch.empty(3).fill_(float('nan')).mul_(2)",
        "x = x / 0",
        "x = torch.arange(3)",
    ],
)
def test_what_makes_no_nan_goes_on(begin: Begin, body: str) -> None:
    batch = begin(SOURCE.format(body=body)).batch()
    watched, plain = (
        batch.call("f", [((torch.tensor([1.0, -2.0, 3.0]),), {})], stops_at_nan=stops)
        for stops in (True, False)
    )
    batch.send()
    assert torch.equal(watched.result().nan_to_num(7.0), plain.result().nan_to_num(7.0))
