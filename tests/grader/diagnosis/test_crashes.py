"""Exceptions are explained: each known one is raised by torch or Python itself, and found."""

from __future__ import annotations

import builtins
import difflib
import linecache
import sys
import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from grader.diagnosis.crashes import explain_exception, known_exceptions, match_exception
from grader.records import Fault
from grader.sandbox.errors import read_fault
from grader.worker.describe_exception import describe

RAISED_BY = {
    "constructor-never-ran": (
        "class A(nn.Module):\n def __init__(self): self.q = nn.Linear(2, 2)\nA()"
    ),
    "super-misspelt": "class A(nn.Module):\n def __init__(self): super.init()\nA()",
    "super-without-call": "class A(nn.Module):\n def __init__(self): super.__init__()\nA()",
    "super-never-called": "class A(nn.Module):\n def __init__(self): self.n = 2\nA()(x)",
    "none-by-its-condition": "m = None\nif m is None:\n  y = x * m",
    "attribute-of-none-by-its-condition": "m = None\nif m is not None: pass\nelse: y = m.bool()",
    "kept-from-inference-mode": (
        "with torch.inference_mode(): kept = x * 1\nkept * torch.ones(1, requires_grad=True)"
    ),
    "refused-by-the-sandbox": "raise PermissionError(1, 'Operation not permitted')",
    "root-of-a-number": "torch.sqrt(3)",
    "softmax-is-a-class": "nn.Softmax(x, dim=-1)",
    "transposed-without-axes": "x.transpose()",
    "all-axes-turned": "x @ x.T",
    "matrix-only-transpose": "x.t()",
    "matrix-product-of-a-batch": "torch.mm(x, x)",
    "batched-product-of-another-shape": "torch.bmm(x[0], x[0])",
    "view-of-scattered-memory": "x.transpose(1, 2).view(2, 35)",
    "size-of-another-tensor": (
        "def f(x, memory):\n B, T, C = x.shape\n return memory.view(B, T, 7)\n"
        "f(x, torch.randn(2, 4, 7))"
    ),
    "heads-do-not-fit": "x.view(2, 5, 3, 3)",
    "sizes-do-not-divide": "x.unflatten(-1, (3, 3))",
    "mask-of-another-dtype": "x.masked_fill(torch.ones(5, 7), 0)",
    "mask-turned-by-tilde": "~x",
    "mask-is-subtracted": "1 - (x > 0)",
    "split-into-a-number": "q, k, v = x.split(2, dim=-1)",
    "mask-is-a-single-bool": "x.masked_fill(x is None, 0.0)",
    "truth-of-a-mask": "if x > 0: pass",
    "mask-of-another-shape": "mask = torch.ones(3, 5, 5)\nx.masked_fill(mask == 0, 0)",
    "sizes-do-not-match": "x * torch.ones(4)",
    "another-argument-was-meant": (
        "layer = nn.Linear(5, 2)\ndef f(x, memory): return layer(x)\nf(x, x.mT)"
    ),
    "products-do-not-match": "x @ torch.ones(5, 7)",
    "batched-products-do-not-match": "x @ x[:, :3]",
    "right-side-not-transposed": "k = x\nx @ k",
    "product-of-other-batches": "x @ x.transpose(0, 1)",
    "mask-without-an-axis-for-heads": (
        "mask = torch.ones(2, 5, 5)\nscores = torch.ones(2, 3, 5, 5)\n"
        "scores.masked_fill(mask == 0, 0)"
    ),
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
    "table-that-ends": "table = torch.ones(64)\ntorch.ones(99) + table[:99]",
    "more-than-there-are": "x.topk(8)",
    "embedding-without-such-a-row": "nn.Embedding(3, 2)(torch.tensor([-100]))",
    "label-beyond-the-classes": (
        "nn.functional.cross_entropy(x[0], torch.full((5,), -100), ignore_index=0)"
    ),
    "tensor-is-called": "nn.Parameter(x)(x)",
    "refused-by-the-file": "n = 3\nif n % x.size(1) != 0:\n raise ValueError('does not divide')",
    "refused-by-an-assert": "assert x.size(1) % 2 == 0",
    "expanded-to-fewer-axes": "torch.ones(3, 1, 5, 5).expand(3, 5, 5)",
    "sum-without-keepdim": "e = x.exp()\ne / e.sum(-1)",
    "mask-with-too-many-axes": (
        "mask = torch.ones(2, 5, 5)\nscores = torch.ones(2, 5, 5)\n"
        "scores.masked_fill(mask.unsqueeze(2) == 0, 0)"
    ),
    "left-side-transposed": "q, k = x.mT, x\nq @ k.mT",
    "kept-on-another-device": (
        "class A:\n def forward(self, k):\n  self.kept = k\n  "
        "raise RuntimeError('Expected all tensors to be on the same device: ' + str(self.kept))\n"
        "A().forward(1)"
    ),
    "kept-in-another-dtype": (
        "class A:\n def forward(self, x, earlier):\n  self.kept = earlier\n"
        "  return x @ self.kept.mT\nA().forward(x, x.double())"
    ),
    "mask-in-a-product": "mask = torch.ones(7, 7, dtype=torch.float64)\nx @ mask",
    "constructor-misspelt": "class A(nn.Module):\n def __init(self, d): self.d = d\nA(3)",
    "constructor-without-default": (
        "class A(nn.Module):\n def __init__(self, width, dropout_rate): pass\nA(3)"
    ),
    "dot-for-a-comma": "weights, v = x, x\nweights.v",
    "nothing-returned": "def forward(x):\n y = x\nforward(x).size()",
    "argument-is-none": "def forward(x):\n y = x\nx + forward(x)",
    "none-in-a-sum": "nothing = None\nx @ nothing",
    "max-gives-two": "x - x.max(-1)",
    "string-for-a-fill": "x.masked_fill(x > 0, '-inf')",
    "size-is-no-number": "x.view(2, 5, x.size(-1) / 7, 7)",
    "no-such-module": "from exercise55 import SelfAttention",
    "not-for-this-dtype": "torch.arange(3).softmax(0)",
    "breakpoint": "import bdb\nraise bdb.BdbQuit",
    "no-such-import": "math.sqrt(3)",
    "no-such-part-of-torch": "F.relu(x)",
    "attribute-without-self": (
        "class A:\n def __init__(self): self.query = 1\n def forward(self): return query\n"
        "A().forward()"
    ),
    "variable-of-another-function": "def f():\n wide = 1\n return wide\nwide",
    "name-set-only-later": "def f(score):\n scores = scores / 2\n return scores\nf(x)",
    "argument-is-no-tensor": "torch.relu(3)",
    **{
        f"nan-of-{what}": f"from grader.worker.nans import StopsAtNaN\nwith StopsAtNaN(): {source}"
        for what, source in {
            "zero-times-infinity": "x * 0 * float('inf')",
            "hidden-row": "torch.full_like(x, -float('inf')).softmax(-1)",
            "infinite-score": "(x + float('inf')).softmax(-1)",
            "a-product": "(x * 0) @ (x.mT + float('inf'))",
            "a-division": "(x * 1e9).exp() / (x * 1e9).exp()",
            "a-division-by-zero": "(x * 0) / (x * 0)",
            "a-difference": "(x + float('inf')) - float('inf')",
            "a-loss-of-nothing": "nn.functional.cross_entropy(x[0], torch.full((5,), -100))",
            "a-mean-of-nothing": "x[x > 9e9].mean()",
            "a-spread-of-one": "x[..., :1].std(-1)",
            "a-root": "(-x.abs()).sqrt()",
            "a-logarithm": "(-x.abs()).log()",
            "a-power": "(-x.abs()) ** 0.5",
        }.items()
    },
    "nan-of-the-maximum-of-all": (
        "from grader.worker.nans import StopsAtNaN\ndef f(s):\n e = (s - s.max()).exp()\n"
        " return e / e.sum(-1, keepdim=True)\n"
        "with StopsAtNaN(): f(torch.tensor([[0.0, 0.0], [1e9, 0.0]]))"
    ),
    "nan-of-weights-filled-with-infinity": (
        "from grader.worker.nans import StopsAtNaN\ndef f(s):\n w = s.softmax(-1)\n"
        " w = w.masked_fill(s > 0, -torch.inf)\n return w @ torch.zeros(7, 7)\n"
        "with StopsAtNaN(): f(x)"
    ),
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
    known = {"torch": torch, "nn": nn, "x": torch.randn(2, 5, 7), "__name__": "work"}
    lines = (len(source), None, source.splitlines(keepends=True), "work.py")
    linecache.cache["work.py"] = lines
    try:
        exec(compile(source, "work.py", "exec"), known)
    except Exception as error:
        return read_fault(describe(error, "work.py")).fault
    pytest.fail("nothing was raised")


@pytest.mark.parametrize("name", [crash.name for crash in known_exceptions()])
def test_exception_is_found_and_explained(name: str) -> None:
    source = RAISED_BY[name]
    fault = raised(source)
    found = match_exception(fault, source)
    assert found is not None, fault
    assert found[0].name == name, fault
    said = explain_exception(fault, source)
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
        ("scores = attention_mask = x\nattention_scores", "scores"),
        ("attention_mask = task = x\nmask", "attention_mask"),
        ("class A:\n  def __init__(self): self.query = 1\nA().quary", "query"),
    ],
)
def test_misspelt_name_is_told_what_was_meant(source: str, meant: str) -> None:
    said = explain_exception(raised(source), source)
    assert f"`{meant}`" in said.partition("did you mean")[2]


FORWARD = "class A:\n def __init__(self): self.query = x\n def forward(self, x):\n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("e = x.exp()\ntotal = e.sum(dim=-1)\ne / total", "`e.sum(dim=-1)` drops the axis"),
        ("e = x.exp()\ne / torch.sum(e, -1)", "`torch.sum(e, -1)` drops the axis"),
        ("e = x.sum(-1, keepdim=True)\nx * torch.ones(4)", "element by element"),
        ("total = x.sum()\nx * torch.ones(4) * total", "element by element"),
        ("bias = torch.ones(1, 64, 64)\nbias.expand(1, 99, 99)", "ends at 64"),
        ("q, k = x.mT, x.mT\nq @ k", "ends in the 5 positions of x"),
        ("weights, v = x, x\ntorch.matmul(weights.v)", "`weights, v`"),
        ("keyz = keys = x\nx.keyz", "`x, keyz`"),
        ("x.v", "no method `v`"),
        (f"{FORWARD}  attn_score = x\n  return attn_scores\nA().forward(x)", "`attn_score`?"),
        (f"{FORWARD}  return queri\nA().forward(x)", "nothing in the file is called `queri`"),
        (f"{FORWARD}  score = x\n  scores = scores * 2\nA().forward(x)", "did you mean `score`"),
        (
            "class A(nn.Module):\n def _init_(self, d): self.d = d\nA(hidden_dim=3)",
            "`_init_` is not a constructor",
        ),
        ("class A(nn.Module):\n def __int__(self, d): self.d = d\nA(3)", "`__int__` is not a con"),
        (
            "class A(nn.Module):\n def __init__(self, d, *, rate): pass\nA(3)",
            "was called without 'rate'",
        ),
        ("class A(nn.Module):\n def forward(self, x): x * 2\nx + A()(x)", "`forward` has no"),
        ("class A(nn.Module):\n def forward(self, x): return x\nx + None", "One side is None"),
        ("m = None\nif m is None:\n  m = None\n  x + m", "One side is None"),
        ("torch.full((2, 3), '-inf')", '`float("-inf")`'),
        ("torch.where(x > 0, x, '-inf')", '`float("-inf")`'),
        ("nn.Linear(x, 7)", "a size is an integer"),
        ("torch.zeros(2, x)", "a size is an integer"),
        ("x.view(x)", "a size is an integer"),
        ("nn.Linear(7 / 1, 7)", "a size is an integer"),
        (
            "mask = torch.ones(2, 5, 5)\nscores = torch.ones(2, 3, 5, 5)\n"
            "scores.masked_fill(mask == 0, 0)",
            "need one more axis",
        ),
        ("if x.size(1) % 5 == 0:\n raise ValueError('no')", "where `x.size(1) % 5 == 0`"),
        ("assert x.size(1) % 5", "where `not (x.size(1) % 5)`"),
        (
            "class A(nn.Module):\n def __init__(self):\n  super().__init__()\n  self.make()\n"
            " def make(self): self.w = nn.Parameter(torch.ones(7, 7).double())\n"
            " def forward(self, x): return x @ self.w\nA()(x)",
            "has to take the dtype of its input",
        ),
    ],
)
def test_exception_is_explained_by_its_cause(source: str, says: str) -> None:
    said = explain_exception(raised(source), source)
    assert says.lower() in said.lower()


@pytest.mark.parametrize(
    ("source", "not_said"),
    [
        ("q = k = x\nq @ k.transpose(0, 1)", "element by element"),
        ("try:\n x.softmax(3)\nexcept IndexError:\n raise ValueError('no') from None", "itself"),
        (
            "from grader.worker.nans import StopsAtNaN\ndef f(s):\n w = s.softmax(-1)\n"
            " s = s.masked_fill(s > 0, -torch.inf)\n return s * 0\nwith StopsAtNaN(): f(x)",
            "after its softmax",
        ),
        (
            "from grader.worker.nans import StopsAtNaN\ndef f(s):\n e = s - s.max(-1)[0]\n"
            " return e * 0 / (e * 0)\nwith StopsAtNaN(): f(x[0].mT)",
            "largest of all",
        ),
        ("if x.size(1) == 5:\n torch.tensor([[1], [2, 3]])", "itself"),
        ("wide = 64\ntorch.ones(wide + 1) + torch.ones(99)", "ends at"),
        ("x[..., :5] + torch.ones(5, 5) + torch.ones(7)", "ends at"),
        ("weights, v = torch.ones(2, 5, 5), torch.ones(2, 3, 7)\nweights @ v", "transpose"),
        ("weights, v = torch.ones(2, 5, 5), x.mT\nweights @ v.clone()", "is transposed"),
        ("x = torch.ones(2, 5, 5)\nx @ x[:, :3]", "is transposed"),
        (
            "mask = torch.ones(5, 5)\nscores = torch.ones(2, 3, 5, 9)\n"
            "scores.masked_fill(mask == 0, 0)",
            "unsqueeze",
        ),
        (
            "class A:\n def forward(self, x):\n  self.T = x.size(1)\n"
            "  return x.view(2, self.T, 7) @ torch.ones(7, 7).double()\nA().forward(x)",
            "was kept",
        ),
    ],
)
def test_what_is_not_certain_is_not_said(source: str, not_said: str) -> None:
    assert not_said not in explain_exception(raised(source), source)


LONG = f"0x{'f' * 4000}"  # a number that Python reads, and refuses to write


@pytest.mark.parametrize(
    "source",
    [
        f"if x is not {LONG}:\n raise ValueError('no')",
        f"assert {'not ' * 700}x is None or 0{' + 0' * 700}",
        f"def f():\n if x is None: x{'.view_as(x)' * 400}\n None.a\nf()",
        "q = torch.ones(5)\ndef f(x, q):\n raise RuntimeError(('Expected size for first two "
        "dimensions of batch2 tensor to be: [1, 5] but got: [1, 3]', q @ q)[0])\nf(x, q)",
    ],
)
def test_source_that_cannot_be_written_or_read_costs_its_explanation_alone(source: str) -> None:
    explain_exception(raised(source), source)


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("raise NotImplementedError", True),
        ("def f():\n raise NotImplementedError('later')\nf()", True),
        ("torch.arange(3).softmax(0)", False),
        ("class A(nn.Module): pass\nA()(x)", False),
    ],
)
def test_only_what_the_file_raises_itself_is_to_do(source: str, own: bool) -> None:
    with pytest.raises(NotImplementedError) as raising:
        exec(compile(source, "work.py", "exec"), {"torch": torch, "nn": nn, "x": torch.ones(1)})
    assert read_fault(describe(raising.value, "work.py")).todo is own


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
        explain_exception(Fault("NameError", f"name '{name}{number}' is not defined"), source)
        explain_exception(Fault("AttributeError", f"'A' object has no attribute '{name}'"), source)
    assert len(compared) == 3  # each name once
    for asked, known in compared:
        assert len(asked) <= 41
        assert len(known) <= 500 + len(dir(builtins))
        assert max(map(len, known), default=0) <= 40


@pytest.mark.parametrize("owner", ["torch.classes.a.b", "torch._dynamo.x", "torch.nonesuch", "A"])
def test_nothing_is_imported_or_asked_for_by_a_name_in_a_message(owner: str) -> None:
    before = set(sys.modules)
    said = explain_exception(
        Fault("AttributeError", f"module '{owner}' has no attribute 'vmm'"), ""
    )
    assert "did you mean" not in said
    assert set(sys.modules) == before


FORGED = "\x1b[2J\nscore 25 / 25 \u202e" + "a" * 2000


@pytest.mark.parametrize(
    ("type_name", "message"),
    [
        ("TypeError", f"__init__() missing 1 required positional argument: {FORGED}"),
        ("TypeError", f"__init__() missing 2 required positional arguments: 'a' and {FORGED}"),
        ("RuntimeError", f"shape '[{FORGED}]' is invalid for input of size 3"),
        ("RuntimeError", f"shape '[{'1, ' * 2000}1]' is invalid for input of size 3"),
        ("RuntimeError", f"unflatten: Provided sizes [{FORGED}] don't multiply up to the size of "
         "dim 1 (3)"),
        ("NameError", f"name '{'a' * 3000}' is not defined"),
    ],
)  # fmt: skip
def test_explanation_quotes_little_of_a_message_and_nothing_invisible(
    type_name: str, message: str
) -> None:
    said = explain_exception(Fault(type_name, message), "x = 1\n")
    assert len(said) < 600
    assert said.isprintable()
    assert "score" not in said


def test_unknown_exception_is_left_alone() -> None:
    assert explain_exception(Fault("ValueError", "seven is not eight"), "") == ""
    assert (
        explain_exception(Fault("AttributeError", "module 'torch' has no attribute '('"), "") == ""
    )
