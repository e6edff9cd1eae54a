"""What an exercise forbids is taken away in the worker, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading import Options, grade
from grader.kit import Kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission

OPTIONS = Options(seed=1, device="cpu", explain=Explain.NOTHING, timeout=30.0)
# Each is right, and torch does for its own ends what the exercise forbids.
ALLOWED = {
    "a layer that uses a forbidden function": (
        ("scaled_dot_product_attention",),
        "layer = torch.nn.MultiheadAttention(1, 1, bias=False, batch_first=True)\n"
        "for one in layer.parameters(): torch.nn.init.ones_(one)\n"
        "def double(x):\n    q = x.reshape(-1, 1, 1)\n"
        "    return 2 * layer(q, q, q, need_weights=False)[0].reshape(-1)\n",
    ),
    "a layer that has forbidden layers": (
        ("MultiheadAttention", "multi_head_attention_forward", "scaled_dot_product_attention"),
        "layer = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8), 2)\n"
        "def double(x):\n    layer(torch.ones(3, 1, 4))\n    return 2 * x\n",
    ),
    "functions that call a forbidden one": (
        ("stack", "softmax", "zeros", "linear", "matmul"),
        "layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Softmax(-1))\n"
        "loss = torch.nn.TripletMarginLoss()\n"
        "def double(x):\n"
        "    q = torch.ones(2, 3)\n    loss(q, q, layer(q))\n"
        "    torch.einsum('ij,kj->ik', q, q)\n    return 2 * x\n",
    ),
    "a class of another kind": (
        ("Transformer",),
        "import torch.fx\ntraced = torch.fx.symbolic_trace(torch.nn.Identity())\n"
        "class Kept(getattr(torch.fx, 'Trans' + 'former')):\n    pass\n"
        "def double(x):\n    return 2 * Kept(traced).transform()(x)\n",
    ),
    "what is asked for and not called": (
        ("MultiheadAttention", "scaled_dot_product_attention"),
        "has = hasattr(torch.nn.functional, 'scaled_dot_' + 'product_attention')\n"
        "kind = getattr(torch.nn, 'Multihead' + 'Attention')\n"
        "def double(x):\n    return 2 * x if has and not isinstance(x, kind) else x\n",
    ),
    "torch's own module that is emptied, and imported again": (
        ("MultiheadAttention",),
        "import importlib, sys, torch.onnx.ops\nsys.modules.pop('torch.onnx.ops._impl')\n"
        "again = importlib.import_module('torch.onnx.ops._impl')\n"
        "def double(x):\n    return x if hasattr(again, 'attention_23') else 2 * x\n",
    ),
    "a norm among torch's own tests": (
        ("RMSNorm",),
        "from torch.testing._internal.distributed._tensor import common_dtensor as found\n"
        "def double(x):\n    return x if hasattr(found, 'RMSNormPython') else 2 * x\n",
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_torch_itself_works_where_something_is_forbidden(
    name: str, kit: Kit, sandbox: Sandbox
) -> None:
    forbidden, source = ALLOWED[name]
    exercise = replace(kit.find("double"), forbidden=frozenset(forbidden), operations=())
    submission = Submission(Path("double.py"), f"import torch\n{source}")
    report = grade(submission, exercise, OPTIONS, sandbox)
    assert report.solved, report


def test_module_that_is_imported_in_a_call_is_looked_through(kit: Kit, sandbox: Sandbox) -> None:
    source = (
        "def double(x):\n    import torch.utils.throughput_benchmark as late\n"
        "    getattr(late, 'format' + '_time')(1.0)\n    return 2 * x\n"
    )
    exercise = replace(kit.find("double"), forbidden=frozenset({"format_time"}))
    report = grade(Submission(Path("double.py"), source), exercise, OPTIONS, sandbox)
    assert "uses `format_time`" in report.problem
    assert report.problem_line == 3
    assert not report.earned


def test_batching_rule_of_an_operation_is_refused(kit: Kit, sandbox: Sandbox) -> None:
    source = (
        "import torch\nattend = getattr(torch.nn.functional, 'scaled_dot_' + 'product_attention')\n"
        "def double(x):\n    q = x.reshape(1, -1, 1, 1)\n"
        "    return 2 * torch.vmap(attend)(q, q, q).reshape(-1)\n"
    )
    exercise = replace(kit.find("double"), forbidden=frozenset())
    report = grade(Submission(Path("double.py"), source), exercise, OPTIONS, sandbox)
    assert (report.problem_line, report.earned) == (5, 0), report


ELSEWHERE = {  # each is an attention, or a norm, of torch that is called by no name of its own
    "another method": (
        "fresh = torch.nn.modules.activation",
        "getattr(fresh, 'Multihead' + 'Attention').merge_masks(None, x, x, x)",
    ),
    "a module that is loaded again": (
        "import importlib\nfresh = importlib.reload(torch.nn.modules.activation)",
        "getattr(fresh, 'Multihead' + 'Attention')(1, 1)",
    ),
    "a second copy of a module": (
        "import importlib.util\n"
        "path = torch.nn.modules.activation.__file__\n"
        "spec = importlib.util.spec_from_file_location('torch.nn.modules.copied', path)\n"
        "fresh = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(fresh)",
        "getattr(fresh, 'Multihead' + 'Attention')(1, 1)",
    ),
    "a decomposition": (
        "import torch._decomp.decompositions as fresh",
        "getattr(fresh, '_fused_rms_' + 'norm')(x, [1], None, None)",
    ),
    "a table of decompositions": (
        "import torch._decomp as fresh\nname = '_fused_rms_' + 'norm'",
        "fresh.decomposition_table[getattr(torch.ops.aten, name).default](x, [1], None, None)",
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_forbidden_is_so_wherever_it_is_had_from(
    name: str, kit: Kit, sandbox: Sandbox
) -> None:
    before, body = ELSEWHERE[name]
    source = f"import torch\n{before}\ndef double(x):\n    {body}\n    return 2 * x\n"
    rules = {"forbidden": frozenset({"MultiheadAttention"}), "operations": ("*rms_norm*",)}
    exercise = replace(kit.find("double"), **rules)
    report = grade(Submission(Path("double.py"), source), exercise, OPTIONS, sandbox)
    assert report.problem_line == source.splitlines().index(f"    {body}") + 1, report
    assert not report.earned
