"""Torch's own kernels stay; operations of a submission's own may be added."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session

Begin = Callable[[str], Session]


@pytest.mark.parametrize("kind", ["IMPL", "FRAGMENT"])
@pytest.mark.parametrize("key", ["", "CPU", "AutogradCPU"])
@pytest.mark.parametrize("namespace", ["aten", "_"])
def test_no_kernel_of_torchs_is_replaced(begin: Begin, namespace: str, key: str, kind: str) -> None:
    made = f"torch.library.Library({namespace!r}, {kind!r}, {key!r})"
    batch = begin(f"import torch\ndef f(x):\n    return {made}").batch()
    call = batch.call("f", [((torch.ones(3),), {})])
    batch.send()
    with pytest.raises(SubmissionError, match="torch's own operations"):
        _ = call.results


def test_own_operations_and_those_of_vmap_are_added(begin: Begin) -> None:
    source = """
import torch

library = torch.library.Library("mine", "DEF")
library.define("triple(Tensor x) -> Tensor")
library.impl("triple", lambda x: 3 * x, "CPU")


@torch.library.custom_op("ours::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def f(x):
    norms = torch.vmap(torch.nn.functional.silu)(x.reshape(3, 1)) * 0
    return torch.ops.mine.triple(double(x)) + norms.reshape(3)
"""
    batch = begin(source).batch()
    call = batch.call("f", [((torch.ones(3),), {})])
    batch.send()
    assert call.result().tolist() == [6, 6, 6]


def test_jagged_tensors_can_be_imported(begin: Begin) -> None:
    source = """
import torch


def f(x):
    return torch.nested.as_nested_tensor([x, 2 * x], layout=torch.jagged).values()
"""
    batch = begin(source).batch()
    call = batch.call("f", [((torch.ones(3),), {})])
    batch.send()
    assert call.result().tolist() == [1, 1, 1, 2, 2, 2]
