"""A solution's mutants are small changes of its work, and a suite has to notice each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from grader.authoring.equivalent import read_equivalent
from grader.authoring.mutants import drawn, mutants
from grader.errors import GradeError

MODULE = '''
import torch

LIMIT: int = 3

class Layer(torch.nn.Module):
    """Adds 1 + 1."""

    @staticmethod
    def forward(x: Tensor, scale: float = 0.5) -> Tensor:
        super().__init__()
        if x.dim() < 3:
            raise ValueError(f"got {x.dim() - 1}")
        return x * scale

if __name__ == "__main__":
    print(1 + 1)
'''


def changes(source: str) -> set[str]:
    """What stands in the place of the last statement of a source, in each of its mutants."""
    last = ast.unparse(ast.parse(source).body[-1])
    return {one.change.removeprefix(f"{last} -> ") for one in mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = a + b", {"y = a - b"}),
        ("y = a - b", {"y = a + b", "y = b - a"}),
        ("y = a @ b", {"y = b @ a"}),
        ("y = (a + b) * c", {"y = (a + b) / c", "y = (a - b) * c"}),
        ("y -= a", {"y += a", "pass"}),
        ("y = x.sum(-1, keepdim=True)", {
            "y = x.mean(-1, keepdim=True)", "y = x.sum(-2, keepdim=True)",
            "y = x.sum(-1, keepdim=False)",
        }),
        ("y = x + 0.0", {"y = x - 0.0", "y = x + 1.0"}),
        ("y = x.softmax(dim)", {"y = x"}),
        ("y = torch.softmax(x, dim)", {"y = x", "y = torch.softmax(dim, x)"}),
        ("y = self.dropout(x)", {"y = x"}),
        ("y = self.proj(x)", set()),
        ("y = f(a, b, 'c')", {"y = f(b, a, 'c')"}),
        ("x[0] = y", {"x[1] = y", "pass"}),
        ("x = x[i]", {"pass"}),
        ("x.zero_()", {"pass"}),
        ("y = a if done else b", {"y = a if not done else b"}),
        ("y = a if b is None else c", {"y = a if b is not None else c"}),
        ("y = a < b", {"y = a <= b"}),
        ("y = a and not b", {"y = a or not b", "y = a and b"}),
        ("y = -x", {"y = x"}),
        ("y = ~x", {"y = x"}),
        ("y = f'{a + 1}'", set()),
        ("raise ValueError(1 + 1)", set()),
        ("'''Adds 1 + 1.'''", set()),
    ],
)  # fmt: skip
def test_each_operator_makes_one_small_change(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


def test_what_does_no_work_is_not_changed() -> None:
    found = [(one.line, one.change) for one in mutants(MODULE)]
    head = "def forward(x: Tensor, scale: float=0.5) -> Tensor:"
    assert found == [
        (4, "LIMIT: int = 3 -> LIMIT: int = 4"),
        (10, f"{head} -> {head.replace('0.5', '1.0')}"),
        (12, "if x.dim() < 3: -> if not x.dim() < 3:"),
        (12, "if x.dim() < 3: -> pass"),
        (12, "if x.dim() < 3: -> if x.dim() <= 3:"),
        (12, "if x.dim() < 3: -> if x.dim() < 4:"),
        (14, "return x * scale -> return x / scale"),
    ]


def test_mutants_are_programs_that_differ() -> None:
    found = mutants(MODULE)
    assert len({ast.dump(ast.parse(one.source)) for one in found}) == len(found)
    assert ast.unparse(ast.parse(MODULE)) not in [one.source for one in found]


def test_same_seed_draws_the_same_mutants_and_few_are_all() -> None:
    found = mutants(MODULE)
    assert drawn(found, 3, 1) == drawn(found, 3, 1)
    assert len(drawn(found, 3, 1)) == 3
    assert {tuple(drawn(found, 3, seed)) for seed in range(9)} > {tuple(drawn(found, 3, 1))}
    assert drawn(found, 100, 1) == found


def test_list_of_equivalent_changes_is_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.toml"
    assert read_equivalent(file) == {}
    file.write_text('[rows]\n"y = a -> y = b" = "a is b"\n', encoding="utf-8")
    assert read_equivalent(file) == {"rows": {"y = a -> y = b": "a is b"}}
    file.write_text('"y = a -> y = b" = "a is b"\n', encoding="utf-8")
    with pytest.raises(GradeError, match=r"equivalent\.toml` is damaged: Expected `object`"):
        read_equivalent(file)
