"""A tensor that holds the same numbers many times over is found, whatever made it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from grader.sandbox.session import Session
from grader.wire.messages import CopyCriteria
from grader.worker.copies import count_repeated

Begin = Callable[[str], Session]
B, H, T, D = 2, 4, 5, 3
ASKED = CopyCriteria(times=H, least=B * T * D // 2, most=2 * B * T * D)
# Of q, (B, H, T, D), and of k, (B, 1, T, D).
COPY = {
    "repeat": "k.repeat(1, 4, 1, 1)",
    "repeat_interleave": "k.repeat_interleave(4, 1)",
    "reshape after expand": "k.expand(2, 4, 5, 3).reshape(8, 5, 3)",
    "a matmul that broadcasts": "q @ k.mT",
    "an index": "k[:, [0, 0, 0, 0]]",
    "a stack": "torch.stack([k[:, 0]] * 4)",
    "filled piece by piece": (
        "whole = torch.empty(2, 4, 5, 3)\n    for h in range(4):\n        whole[:, h] = k[:, 0]"
    ),
    "beside others": "torch.cat([q, k.repeat(1, 4, 1, 1)], 1)",
    "by NumPy": "q @ torch.from_numpy(k.detach().numpy().repeat(4, 1)).mT",
    "by NumPy, into what an operation made": (
        "whole = torch.zeros(2, 4, 5, 3)\n"
        "    whole.numpy()[:] = k.detach().numpy()\n    q @ whole.mT"
    ),
    "piece by piece, into a part of a large one": (
        "whole = torch.zeros(1 << 18)[:120].view(2, 4, 5, 3)\n"
        "    for h in range(4):\n        whole[:, h] = k[:, 0]\n    q @ whole.mT"
    ),
    "by NumPy, into a part of a large one": (
        "whole = torch.zeros(1 << 18)[:120].view(2, 4, 5, 3)\n"
        "    whole.numpy()[:] = k.detach().numpy()\n    q @ whole.mT"
    ),
    "as whole numbers": (
        "q @ k.detach().view(torch.int32).repeat(1, 4, 1, 1).view(torch.float32).mT"
    ),
    "vmap": "torch.vmap(lambda one: one @ k[:, 0].mT, in_dims=1)(q)",
    "as complex numbers": "torch.complex(k, 0 * k).repeat(1, 4, 1, 1)",
    "as conjugates": "torch.complex(k, 0 * k).conj().repeat(1, 4, 1, 1)",
    "as negated": "torch.complex(k, -k).cdouble().conj().imag.repeat(1, 4, 1, 1)",
    "of what was scaled": "(k * 3).repeat(1, 4, 1, 1)",
}
NO_COPY = {
    "a view": "k.expand(2, 4, 5, 3)",
    "rows of one matrix": "q.reshape(2, 1, 20, 3) @ k.mT",
    "einsum": "torch.einsum('bhtd,bsd->bhts', q, k[:, 0])",
    "a loop": "[q[:, h] @ k[:, 0].mT for h in range(4)]",
    "zeros": "torch.zeros(2, 4, 5, 3)",
    "a column": "torch.randn(200, 3)[:, 0] + k.sum()",
    "windows of a large one": (
        "large = torch.cat([k.flatten(), torch.zeros(1 << 18)])\n"
        "    large[:30].unfold(0, 4, 1) + torch.randn(27, 4)"
    ),
    "infinities": "torch.full((2, 4, 5, 3), float('-inf'))",
    "twice alone": "k.repeat(1, 2, 1, 1)",
    "something else": "q.repeat(4, 1, 1, 1)",
    "whole numbers": "torch.arange(30).repeat(4)",
}
SOURCE = "import torch\n\ndef f(q, k):\n    {body}\n    return q\n"


@pytest.fixture(autouse=True)
def _same_each_time() -> None:
    """By chance, of many numbers two are near one another."""
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        *(pytest.param(body, True, id=name) for name, body in COPY.items()),
        *(pytest.param(body, False, id=name) for name, body in NO_COPY.items()),
    ],
)
@pytest.mark.parametrize("gradients", [False, True])
def test_copies_are_found_and_nothing_else(
    begin: Begin, body: str, found: bool, gradients: bool
) -> None:
    batch = begin(SOURCE.format(body=body)).batch()
    q, k = torch.randn(B, H, T, D), torch.randn(B, 1, T, D)
    grad_parameters = [] if gradients else None
    call = batch.call("f", [((q, k), {})], copies=ASKED, grad_parameters=grad_parameters)
    plain = batch.call("f", [((q, k), {})])
    batch.send()
    assert (call.results.copied > 0) is found
    assert plain.results.copied == 0
    assert torch.equal(call.result(), q)


@pytest.mark.parametrize("count", [4, 20_000], ids=["all of it", "what is in use of a large one"])
def test_what_lies_behind_a_view_is_seen(begin: Begin, count: int) -> None:
    """A piece of a copy is seen for what it is a piece of."""
    body = f"whole = k.reshape(1, 30).expand({count}, 30).clone()\n    whole[:4, :1] * 1"
    batch = begin(SOURCE.format(body=body)).batch()
    call = batch.call("f", [((torch.randn(3), torch.randn(B, 1, T, D)), {})], copies=ASKED)
    batch.send()
    assert call.results.copied == B * T * D


def test_what_memory_holds_by_chance_is_no_copy(begin: Begin) -> None:
    """A tensor that is filled row by row has, until then, what another one has left there."""
    batch = begin(SOURCE.format(body="assert torch.empty(9).isnan().all()")).batch()
    call = batch.call("f", [((torch.randn(3), torch.randn(3)), {})], copies=ASKED)
    batch.send()
    assert call.results.copied == 0


def test_numbers_that_differ_by_rounding_are_the_same() -> None:
    one = torch.randn(50, dtype=torch.float64)
    near = torch.cat([one, one * (1 + 1e-8), one * (1 - 1e-8), torch.randn(9).double()])
    assert count_repeated(near.numpy(), 3, 1e-6) == 50
    assert count_repeated(near.numpy(), 4, 1e-6) == 0
    assert count_repeated(np.zeros(0), 1, 1e-6) == 0
    assert count_repeated(np.full(7, np.nan), 1, 1e-6) == 0


def test_copies_that_nobody_asked_for_end_the_worker(begin: Begin) -> None:
    lie = (
        "import sys\nresponses = sys.modules['grader.wire.responses']\nCalled = responses.Called\n"
        "responses.Called = lambda **told: Called(**{**told, 'copied': 3})\n"
        "\ndef f(x):\n    return x\n"
    )
    batch = begin(lie).batch()
    call = batch.call("f", [((torch.randn(3),), {})])
    batch.send()
    with pytest.raises(Exception, match="cannot be read"):
        call.result()
