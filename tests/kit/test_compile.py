"""The track's solutions run under ``torch.compile`` as they stand, and give the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.paths import ROOT

SOLUTIONS = ROOT / "solutions" / "decoder"
WIDTH, TOKENS, WORDS = 8, 5, 11


def token_features() -> Tensor:
    return torch.randn(2, TOKENS, WIDTH)


def places() -> Tensor:
    return torch.arange(TOKENS).expand(2, TOKENS)


def words() -> Tensor:
    return torch.randint(WORDS, (2, TOKENS))


# What makes each module, and what it is called with.
CASES: dict[str, tuple[str, tuple[int, ...], Callable[[], tuple[Tensor, ...]]]] = {
    "decoder1": ("CausalSelfAttention", (WIDTH, 2, 16), lambda: (token_features(),)),
    "decoder2": (
        *("CrossAttention", (WIDTH, 2, 6)),
        lambda: (token_features(), torch.randn(2, 7, 6), torch.tensor([[1] * 4 + [0] * 3] * 2)),
    ),
    "decoder3": ("RotarySelfAttention", (WIDTH, 2), lambda: (token_features(), places() + 3)),
    "decoder4": ("AlibiSelfAttention", (WIDTH, 2), lambda: (token_features(),)),
    "decoder5": ("GroupedQueryAttention", (WIDTH, 4, 2), lambda: (token_features(),)),
    "decoder6": (
        *("CachedGroupedQueryAttention", (WIDTH, 4, 2)),
        lambda: (token_features(), places()),
    ),
    "decoder7": ("SlidingWindowAttention", (WIDTH, 2, 3), lambda: (token_features(),)),
    "decoder8": ("DecoderBlock", (WIDTH, 2, 16), lambda: (token_features(),)),
    "decoder9": ("LanguageModel", (WORDS, WIDTH, 2, 2), lambda: (words(),)),
}
# The tracer alone is tried each time, code for this machine where there is a compiler.
BACKENDS = [
    "aot_eager",
    pytest.param(
        "inductor",
        marks=[
            pytest.mark.exhaustive,
            pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler here: `g++`"),
        ],
    ),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # of what torch itself uses
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_solution_gives_the_same_when_compiled(name: str, backend: str) -> None:
    torch.manual_seed(0)
    entry, arguments, draw = CASES[name]
    module: nn.Module = getattr(loaded(name), entry)(*arguments)
    inputs = draw()
    torch._dynamo.reset()
    compiled: Any = torch.compile(module, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(*inputs), module(*inputs))


def loaded(name: str) -> ModuleType:
    module = ModuleType(name)
    exec((SOLUTIONS / f"{name}.py").read_text(encoding="utf-8"), module.__dict__)
    return module


def test_each_exercise_of_the_track_is_tried() -> None:
    assert set(CASES) == {path.stem for path in SOLUTIONS.glob("*.py")}
