"""Contracts whose calls hand a cache on: what a claim about it sees, and in which situations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.sandbox.session import Session
from grader.suite import Contract, Draw, Harness, Input, Sizes, Weights, claims
from grader.suite.claims.caches import conversations_are_apart, keeps_no_more_alive
from grader.suite.compare import CheckFailed
from grader.suite.situations.trial import judge_situations

RIGHT = """
import torch
from torch import nn


class Sums(nn.Module):
    def __init__(self, width, window):
        super().__init__()
        self.window = window
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x, cache=None):
        seen, scaled = x, x * self.gain
        if cache is not None:
            seen, scaled = torch.cat([cache[0], seen], 1), torch.cat([cache[1], scaled], 1)
        first = seen.size(1) - x.size(1)
        rows = [scaled[:, max(0, t + 1 - self.window): t + 1].sum(1)
                for t in range(first, seen.size(1))]
        kept = (seen[:, -self.window:].clone(), scaled[:, -self.window:].clone())
        return torch.stack(rows, 1), kept
"""


def sums(
    weights: Weights,
    sizes: Sizes,
    x: Tensor,
    seen: Tensor | None = None,
    scaled: Tensor | None = None,
) -> dict[str, Tensor]:
    """The sum of the last tokens at each place, and these tokens."""
    before, own = (x[:, :0] if y is None else y for y in (seen, scaled))
    seen, scaled = torch.cat([before, x], 1), torch.cat([own, x * weights["gain"]], 1)
    S, T = before.size(1), x.size(1)
    distance = torch.arange(S, S + T)[:, None] - torch.arange(S + T)
    band = ((distance >= 0) & (distance < sizes.W)).to(x.dtype)
    return {
        "output": torch.einsum("ts,bsc->btc", band, scaled),
        "seen": seen[:, -sizes.W :],
        "scaled": scaled[:, -sizes.W :],
    }


def derived(sizes: Sizes) -> Sizes:
    S = min(sizes.S, sizes.W)
    return sizes.replace(S=S, N=min(S + sizes.T, sizes.W))


CACHED = Input("B S C", optional=True, length="S")
SUMS = Contract(
    entry="Sums",
    sizes=(Sizes(B=2, T=7, C=5, S=2, W=3),),
    inputs={"x": Input("B T C"), "seen": CACHED, "scaled": CACHED},
    outputs={"output": "B T C", "seen": "B N C", "scaled": "B N C"},
    tuples={"cache": ("seen", "scaled")},
    arguments=lambda sizes: {"width": sizes.C, "window": sizes.W},
    parameters=lambda sizes: {"gain": (sizes.C,)},
    around_one=("gain",),
    oracle=sums,
    derived=derived,
)

COUNTING = """
import torch
from torch import nn


class Counting(nn.Module):
    def forward(self, x, cache=None):
        seen, places = cache or (x[:, :0], torch.zeros(len(x), 0, dtype=torch.int64))
        new = places.size(1) + torch.arange(x.size(1)).expand(x.shape[:2])
        return x, (torch.cat([seen, x], 1), torch.cat([places, new], 1))
"""


def counting(
    weights: Weights,
    sizes: Sizes,
    x: Tensor,
    seen: Tensor | None = None,
    places: Tensor | None = None,
) -> dict[str, Tensor]:
    """The tokens as they are, all that were seen, and the place of each."""
    seen = x if seen is None else torch.cat([seen, x], 1)
    return {"output": x, "seen": seen, "places": torch.arange(seen.size(1)).expand(seen.shape[:2])}


COUNTED = Contract(
    entry="Counting",
    sizes=(Sizes(B=2, T=7, C=5, S=2),),
    inputs={
        "x": Input("B T C"),
        "seen": CACHED,
        "places": Input("B S", optional=True, differentiable=False, length="S"),
    },
    outputs={"output": "B T C", "seen": "B S+T C", "places": "B S+T"},
    tuples={"cache": ("seen", "places")},
    integers=("places",),
    parameters=lambda sizes: {},
    oracle=counting,
)

Begin = Callable[[str], Session]


def harness(begin: Begin, *changes: tuple[str, str]) -> Harness:
    source = RIGHT
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return Harness(SUMS, begin(source), Draw(1), {})


def in_parts(one: Harness) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        claims.parts_agree_with_the_whole(one, [(one.sizes, (1, 4, 1, 1, 2))], dtype=dtype)


def branched(one: Harness) -> None:
    claims.branches_agree(one, 4, (2, 1), (3,))


def in_turns(one: Harness) -> None:
    conversations_are_apart(one, (3, 1, 1), (1, 2))


def kept(one: Harness) -> None:
    keeps_no_more_alive(one, [(SUMS.sizes[0], (40, 1))])


ALL = (in_parts, branched, in_turns, kept, claims.matches_the_formula, claims.changes_no_input)


@pytest.mark.slow("every claim asks for itself")
def test_right_answer_is_right_by_every_claim(begin: Begin) -> None:
    for claim in ALL:
        claim(harness(begin))


def test_cache_is_given_and_left_out_among_the_situations(begin: Begin) -> None:
    found = judge_situations(harness(begin))
    assert not found.failures
    given = {one.row["seen given"] for one in found.outcomes}
    assert given == {"left out", "by position", "by name"}


@pytest.mark.parametrize(
    ("old", "new", "claim"),
    [
        ("cat([cache[0], seen]", "cat([seen, cache[0]]", branched),
        (
            "        return torch.stack(rows, 1), kept",
            "        room = self.__dict__.setdefault('room', {})\n"
            "        if cache is not None:\n"
            "            kept = [room.setdefault(n, +x).copy_(x) for n, x in enumerate(kept)]\n"
            "        return torch.stack(rows, 1), kept",
            branched,
        ),
        ("cat([cache[1],", "cat([cache[1].detach(),", in_parts),
        ("scaled[:, -self.window:].clone()", "scaled[:, -self.window:].float()", in_parts),
        ("t + 1 - self.window", "t + 2 - self.window - (cache is None)", in_parts),
        ("first = ", "cache and cache[1].data.mul_(2)\n        first = ", branched),
        ("if cache is not None", "cache = self.last = cache or getattr(self, 'last', None)\n"
         "        if cache is not None", in_turns),
        ("kept = (seen[:, -self.window:].clone()", "kept = (seen[:, -self.window:]", kept),
    ],
)  # fmt: skip
def test_wrong_answer_is_seen_by_the_claim_about_it(
    begin: Begin, old: str, new: str, claim: Callable[[Harness], None]
) -> None:
    with pytest.raises(CheckFailed):
        claim(harness(begin, (old, new)))


def test_integers_that_are_handed_on_are_compared(begin: Begin) -> None:
    every = [(COUNTED.sizes[0], (3, 1, 2))]
    right = Harness(COUNTED, begin(COUNTING), Draw(1), {})
    claims.parts_agree_with_the_whole(right, every, learns=False)
    source = COUNTING.replace("places.size(1) + torch", "torch")
    wrong = Harness(COUNTED, begin(source), Draw(1), {})
    with pytest.raises(CheckFailed, match="places at the end, in parts of 3, 1, 2 tokens"):
        claims.parts_agree_with_the_whole(wrong, every, learns=False)


def test_what_a_cache_is_made_of_has_gradients_of_its_own(begin: Begin) -> None:
    one = harness(begin)
    inputs = one.inputs(None, "seen", "scaled")
    grad_output = {"output": one.draw.normal(2, 7, 5), "seen": one.draw.normal(2, 3, 5)}
    call = one.module().call(inputs, grad_output=grad_output)
    one.ask()
    assert set(call.gradients) == {"x", "seen", "scaled", "gain"}
    grad = call.gradients["scaled"]
    assert grad is not None
    torch.testing.assert_close(grad.double(), call.right_gradients["scaled"])
