"""What only IPython understands, left out of a cell; held to what IPython itself finds."""

from __future__ import annotations

import ast
import random
import time
import warnings

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from grader.submission.notebook.magics import plain_python


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install a \\\n  b\nx = 1", "pass  # !pip install a \\\n#   b\nx = 1"),
        ("if x:\n    !ls\nelse:\n\t%cd ..", "if x:\n    pass  # !ls\nelse:\n\tpass  # %cd .."),
        ("x = !ls 'a\ny = %env HOME", "x = None  # !ls 'a\ny = None  # %env HOME"),
        ("a.b[0], c = !ls \\\n -l\nd", "a.b[0], c = None  # !ls \\\n#  -l\nd"),
        ("with a: b = !ls", "with a: b = None  # !ls"),
        ("f(x=1).y = z = !ls", "f(x=1).y = z = None  # !ls"),
        ("f(x=!ls\n)", None),
        ("x?  # what\n'why?", "pass  # x?  # what\n'why?"),
        ("x?\n  y.z[0]??\n?x", "pass  # x?\n  pass  # y.z[0]??\npass  # ?x"),
        ("f(1,\n  2)?\nx = 1", "pass  # f(1,\n#   2)?\nx = 1"),
        ("!echo \"it's (\nx = 1", "pass  # !echo \"it's (\nx = 1"),
        ("x = '''\n%time\n!ls\n'''", None),
        ("x = (b\n   % c)\ny = b \\\n  % c\nz = [\n!x]" , None),
        ("x == y != z\nf(x=a % b)\nx %= 3\nd = {'a': 1}\nw = lambda a=1: a % 2", None),
        ("'why?'\n# what?\nx = 1  # no?", None),
        ('x = "a\\"?" + r\'\\\' + """\'\'\' ? """', None),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%capture out\n%%time\n\nx = 1\n!ls", "# %%capture out\n# %%time\n\nx = 1\npass  # !ls"),
        ("%%grade exercise3 --seed 1\n    x = 1", "# %%grade exercise3 --seed 1\nx = 1"),
        ("\n\n%%bash\nls\n\nrm x\n", "\n\n# %%bash\n# ls\n\n# rm x\n"),
        ("%%writefile a.py\nif x:\n    y", "# %%writefile a.py\n# if x:\n#     y"),
        ("%%bash?\nx", "# %%bash?\nx"),
        ("pip install torch", "# pip install torch"),
        ("pip = 3", None),
        ("    x = 1\n    if x:\n        !ls", "x = 1\nif x:\n    pass  # !ls"),
        ("x = '''unfinished\n!ls", None),
        ("", None),
        ("\n\n", None),
    ],
)  # fmt: skip
def test_only_python_is_left_of_a_cell(cell: str, python: str | None) -> None:
    assert plain_python(cell) == (cell if python is None else python)


PIECES = [
    "x = 1\n", "y = (a\n   % b\n)\n", "z = '''\n%time\n!ls\n'''\n", "%matplotlib inline\n",
    "!ls -la\n", "!echo \"it's\n", "%time f(x)\n", "a = !ls\n", "a, b = %foo bar\n",
    "a.b = !ls 'x\n", "d['k'] = !ls \\\n  -la \\\n  more\n", "foo?\n", "foo.bar??\n", "?foo\n",
    "%timeit?\n", "if x:\n    !ls\n", "if x:\n    %time f()\nelse:\n    y = !ls\n",
    "for i in y:\n    pass\n    foo?\n", "def f():\n    '''doc\n    ?\n    '''\n    return 1 % 2\n",
    's = "a ? b"\n', "# what?\n", "x = 5 # why?\n", "print('a',\n  '?')\n", "\n", "   \n",
    "@dec\nclass A(B):\n    x: int = 3\n\n    def g(self): return {1: [2, (3)]}\n",
    "s = 'it\\'s' + r'\\' + \"#\"\n", "t = f'{x!r:>10} {d[\"k\"]}'\n", "x = y \\\n  % z\n",
    "x == y\n", "w = lambda a=1: a % 2\n", "b = b'?' rb'%'\n", "g = [\n  1,\n  # a ?\n  2]\n",
    "x = 1; y = 2;\n", "x //= 2; x **= 3; x >>= 1; x %= 4\n", "if (n := 10) > 5: pass\n",
    "u = \"\"\"a\"b''' ? \"\"\"\n", "with a as b: c = !ls\n", "x = (a\n%b\n)\n", "foo[0]?\n",
    "try:\n    x\nexcept E as e:\n    !ls\n", "k = [i for i in x if i % 2]\n", "e = '''?'''\n",
]  # fmt: skip


class _Plain(ast.NodeTransformer):
    """What IPython makes of its own syntax, as ours has it."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if _asks_ipython(node.value) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return ast.Constant(None) if _asks_ipython(node) else self.generic_visit(node)


def _asks_ipython(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("get_ipython().")


def _meaning(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(_Plain().visit(ast.parse(text)))
    except SyntaxError:
        return None


@pytest.mark.parametrize("seed", range(5))
def test_python_is_what_ipython_finds(seed: int) -> None:
    rng = random.Random(seed)
    meant = 0
    for _ in range(100):
        cell = "".join(rng.choices(PIECES, k=rng.randint(1, 6)))
        ours = plain_python(cell)
        assert ours.count("\n") == cell.count("\n"), cell
        theirs = _meaning(TransformerManager().transform_cell(cell))
        assert _meaning(ours) == theirs, cell
        meant += theirs is not None
    assert meant > 80


@pytest.mark.parametrize(
    "piece",
    ["!a\n", "a?\n", "x=!a\n", '"""\n\\', '"\\"\n', "(\n", "!\\\n", "x\\\n", "%%time\n", "\n"],
)
def test_hostile_cells_take_no_long(piece: str) -> None:
    cell = piece * (200_000 // len(piece))
    started = time.process_time()
    assert plain_python(cell).count("\n") == cell.count("\n")
    assert time.process_time() - started < 10  # half a second; minutes where it is quadratic
