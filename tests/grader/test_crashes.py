"""Exceptions are explained: each known one is raised by torch or Python itself, and found."""

from __future__ import annotations

import builtins
import difflib
import sys
import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from grader.diagnosis.crashes import crashes, explain_crash, find_crash
from grader.records import Fault, Frame

RAISED_BY = {
    "constructor-never-ran": (
        "class A(nn.Module):\n def __init__(self): self.q = nn.Linear(2, 2)\nA()"
    ),
    "super-misspelt": "class A(nn.Module):\n def __init__(self): super.init()\nA()",
    "super-without-call": "class A(nn.Module):\n def __init__(self): super.__init__()\nA()",
    "super-never-called": "class A(nn.Module):\n def __init__(self): self.n = 2\nA()(x)",
    "root-of-a-number": "torch.sqrt(3)",
    "softmax-is-a-class": "nn.Softmax(x, dim=-1)",
    "transposed-without-axes": "x.transpose()",
    "all-axes-turned": "x @ x.T",
    "matrix-only-transpose": "x.t()",
    "matrix-product-of-a-batch": "torch.mm(x, x)",
    "batched-product-of-another-shape": "torch.bmm(x[0], x[0])",
    "view-of-scattered-memory": "x.transpose(1, 2).view(2, 35)",
    "heads-do-not-fit": "x.view(2, 5, 3, 3)",
    "sizes-do-not-divide": "x.unflatten(-1, (3, 3))",
    "mask-of-another-dtype": "x.masked_fill(torch.ones(5, 7), 0)",
    "mask-turned-by-tilde": "~x",
    "truth-of-a-mask": "if x > 0: pass",
    "mask-of-another-shape": "mask = torch.ones(3, 5, 5)\nx.masked_fill(mask == 0, 0)",
    "sizes-do-not-match": "x * torch.ones(4)",
    "products-do-not-match": "x @ torch.ones(5, 7)",
    "batched-products-do-not-match": "x @ x",
    "product-of-two-dtypes": "x @ torch.ones(7, 7, dtype=torch.float64)",
    "axis-out-of-range": "x.softmax(3)",
    "softmax-without-axis": "torch.softmax(x)",
    "no-forward": "class A(nn.Module):\n def foward(self, x): return x\nA()(x)",
    "forward-takes-no-mask": "class A(nn.Module):\n def forward(self, x): return x\nA()(x, x)",
    "constructor-takes-others": "class A(nn.Module):\n def __init__(self): pass\nA(hidden_dim=3)",
    "no-such-torch-function": "torch.vmm(x, x)",
    "no-such-tensor-method": "x.mask_fill(x > 0, 0)",
    "none-is-used": "nothing = None\nnothing.size()",
    "no-such-attribute": "class A(nn.Module):\n def query(self): return self.quary()\nA().query()",
    "no-such-name": "keys = x\nkeyz",
    "name-not-bound-yet": "def f(m):\n if m: w = 1\n return w\nf(0)",
    "changed-what-learns": "p = nn.Parameter(x)\np += 1",
    "changed-before-backward": (
        "p = nn.Parameter(x)\ny = p.exp()\nz = y * 2\ny += 1\ny = z.sum().backward()"
    ),
    "argument-is-no-tensor": "torch.relu(3)",
    "product-of-two-devices": (
        "raise RuntimeError('Expected all tensors to be on the same device, but found at least "
        "two devices, cuda:0 and cpu!')"  # without a GPU nobody else says it
    ),
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns first of some of these
        yield


def raised(source: str) -> Fault:
    """The exception of a piece of code, as a worker tells it."""
    try:
        exec(source, {"torch": torch, "nn": nn, "x": torch.randn(2, 5, 7)})
    except Exception as error:
        line = source.splitlines()[-1]
        frame = Frame("work.py", 1, "forward", line)
        return Fault(type(error).__name__, str(error), (frame,))
    pytest.fail("nothing was raised")


@pytest.mark.parametrize("name", [crash.name for crash in crashes()])
def test_exception_is_found_and_explained(name: str) -> None:
    source = RAISED_BY[name]
    fault = raised(source)
    found = find_crash(fault)
    assert found is not None, fault
    assert found[0].name == name, fault
    said = explain_crash(fault, source)
    assert said.endswith((".", "?"))
    assert "{" not in said
    assert "None" not in said.replace("is None", "").replace("gives None", "").replace(
        "is not None", ""
    )


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("torch.vmm(x, x)", "bmm"),
        ("x.mask_fill(x > 0, 0)", "masked_fill"),
        ("nn.Linaer(2, 2)", "Linear"),
        ("attention_weights = x\natention_weights", "attention_weights"),
        ("class A:\n  def __init__(self): self.query = 1\nA().quary", "query"),
    ],
)
def test_misspelt_name_is_told_what_was_meant(source: str, meant: str) -> None:
    said = explain_crash(raised(source), source)
    assert f"`{meant}`" in said.partition("did you mean")[2]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The names that are compared, and with which."""
    seen: list[tuple[str, list[str]]] = []

    def compare(name: str, known: list[str], **_: object) -> list[str]:
        seen.append((name, list(known)))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", compare)
    return seen


def test_what_is_compared_is_bounded_and_compared_once(
    compared: list[tuple[str, list[str]]],
) -> None:
    """A file of 83 KB with names nearly alike took 140 s, once a check."""
    name = "a" * 1000
    source = "\n".join(f"{'a' * (990 - n)} = a{n} = 0" for n in range(2000))
    for number in (1, 2, 1):
        explain_crash(Fault("NameError", f"name '{name}{number}' is not defined"), source)
        explain_crash(Fault("AttributeError", f"'A' object has no attribute '{name}'"), source)
    assert len(compared) == 3  # each name once
    for asked, known in compared:
        assert len(asked) <= 41
        assert len(known) <= 500 + len(dir(builtins))
        assert max(map(len, known), default=0) <= 40


@pytest.mark.parametrize("owner", ["torch.classes.a.b", "torch._dynamo.x", "torch.nonesuch", "A"])
def test_nothing_is_imported_or_asked_for_by_a_name_in_a_message(owner: str) -> None:
    before = set(sys.modules)
    said = explain_crash(Fault("AttributeError", f"module '{owner}' has no attribute 'vmm'"), "")
    assert "did you mean" not in said
    assert set(sys.modules) == before


def test_unknown_exception_is_left_alone() -> None:
    assert explain_crash(Fault("ValueError", "seven is not eight"), "") == ""
    assert explain_crash(Fault("AttributeError", "module 'torch' has no attribute '('"), "") == ""
