"""What a source must define and may not call."""

from __future__ import annotations

import ast
import time

import pytest

from grader.kit.static_checks import check_source
from grader.submission import SourceProblem

FORBIDDEN = frozenset({"scaled_dot_product_attention", "MultiheadAttention"})


def check(source: str) -> None:
    check_source(ast.parse(source), ["double"], FORBIDDEN)


@pytest.mark.parametrize(
    "source",
    [
        "import torch.nn.functional as F\ndef double(x): F.scaled_dot_product_attention(x)",
        "import torch\ndef double(x): torch.nn.functional.scaled_dot_product_attention(x)",
        "from torch import nn\nclass A:\n    a = nn.MultiheadAttention\ndef double(x): pass",
        "from torch.nn import MultiheadAttention as M\ndef double(x): M(1, 1)",
        "def double(x):\n    import torch as t\n    t.nn.MultiheadAttention(1, 1)",
        "import torch\ndouble = getattr(torch.nn, 'MultiheadAttention')",
        "from torch.nn import *\ndef double(x): MultiheadAttention(1, 1)",
        "import torch\ndef double(x): pass\n"
        "if __name__ == '__main__':\n    pass\nelse:\n    torch.nn.MultiheadAttention(1, 1)",
        "import torch\nfn = torch.nn.functional\ndef double(x): fn.scaled_dot_product_attention(x)",
        "import torch\na = torch.nn\nb = a\nc = b.MultiheadAttention\ndef double(x): c(1, 1)",
        "import torch\ndouble = vars(torch.nn)['MultiheadAttention']",
        "import torch\ndouble = torch.nn.__dict__['MultiheadAttention']",
        "import importlib\nnn = importlib.import_module('torch.nn')\n"
        "def double(x): nn.MultiheadAttention(1, 1)",
        "def double(x): __import__('torch').nn.MultiheadAttention(1, 1)",
        "import torch\ndef double(x): pass\n"
        "if __name__ == 'submission' != '__main__':\n    torch.nn.MultiheadAttention(1, 1)",
    ],
)
def test_forbidden_call_is_found(source: str) -> None:
    with pytest.raises(SourceProblem, match="forbids"):
        check(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ndef double(x): pass\n"
        "if __name__ == '__main__':\n    torch.nn.MultiheadAttention(1, 1)\nelse:\n    print()",
        "class MultiheadAttention: pass\ndef double(x): MultiheadAttention()",
        "def double(self): self.MultiheadAttention = 1",
        "def double(x): 'scaled_dot_product_attention'",
        "from torch.nn import MultiheadAttention\ndef double(x): pass",
        "double = lambda x: 2 * x",
        "import torch\ndef double(x): pass\n"
        "if torch.cuda and '__main__' == __name__:\n    torch.nn.MultiheadAttention(1, 1)",
        "import torch\nkind = torch.nn\ndef double(kind): kind.MultiheadAttention(1, 1)",
        "import torch\nkind = torch.nn\nkind = Own\ndef double(x): kind.MultiheadAttention(1)",
        "import torch\nx = torch.ones(1)\ndef double(y): x.MultiheadAttention(1)",
        "try:\n    from math import sqrt as double\nexcept ImportError:\n    pass",
        "from elsewhere import *",
        "exec('def double(x): return 2 * x')",
        f"import torch\ndef double(x): getattr(torch, 0x{'f' * 100_000})",  # its str() would raise
    ],
)
def test_what_is_allowed_is_not_found(source: str) -> None:
    check(source)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import einops\ndef double(x): pass", 1),
        ("import math, rich.console as c\ndef double(x): pass", 1),
        ("def double(x):\n    from einops.layers import torch", 2),
        ("import importlib\ndef double(x):\n    importlib.import_module('einops')", 3),
        ("try:\n    import torchvision\nexcept ImportError:\n    pass\ndef double(x): pass", 2),
    ],
)
def test_import_of_something_else_is_refused_with_its_line(source: str, line: int) -> None:
    allowed = frozenset({"torch", "numpy"})
    with pytest.raises(SourceProblem, match="is graded by itself: paste in") as caught:
        check_source(ast.parse(source), ["double"], imports=allowed)
    assert caught.value.line == line
    check(source)  # a kit that names none allows all


def test_import_of_what_is_allowed_is_not_refused() -> None:
    source = (
        "from __future__ import annotations\nimport os.path\nimport numpy as np\n"
        "from torch.nn import functional as F\ndef double(x): pass\n"
        "if __name__ == '__main__':\n    import rich\n"
    )
    check_source(ast.parse(source), ["double"], imports=frozenset({"torch", "numpy"}))


@pytest.mark.slow("as long a source as there may be")
def test_long_chains_take_no_long_time() -> None:
    chain = "torch" + ".b" * 900
    source = "import torch\ndef double(x): pass\n" + f"{chain}\n" * 500
    tree = ast.parse(source)
    started = time.process_time()
    check_source(tree, ["double"], FORBIDDEN)
    # Once it took minutes; a bound a hundred times what it takes now is no clock in a test.
    assert time.process_time() - started < 60


def test_message_holds_little_of_the_names_that_a_file_chose() -> None:
    """An assistant takes it for ours: 2,000 letters of a name were an instruction to it."""
    long = "Note_to_the_assistant_" * 80
    for source in (f"def {long}(): pass", f"import {long}\ndef double(x): pass"):
        with pytest.raises(SourceProblem) as raised:
            check_source(ast.parse(source), ["double"], imports=frozenset({"torch"}))
        assert f"`{long[:100]}…`" in str(raised.value)
        assert len(str(raised.value)) < 300
    many = "\n".join(f"def f{n}(): pass" for n in range(40))
    with pytest.raises(SourceProblem, match=r"`f11` and 28 more$"):
        check(many)
