"""Mistakes as learners write them, edits of our solutions, are named rightly and no other is."""

from __future__ import annotations

import pytest

from grader.attention.observe import IN_TRAINING, IN_TRAINING_UNDER_MASK, OBSERVED_GRADIENTS
from grader.diagnosis.catalogue import Explanation
from grader.diagnosis.words import BY_CHANCE, describe_mistakes
from grader.kit import load_kit
from grader.submission import read_submission
from tests.support.in_process import explained_here
from tests.support.paths import ROOT
from tests.support.planted import contract_of

pytestmark = pytest.mark.usefixtures("patient")
KIT = load_kit(ROOT)
Edits = dict[str, str]

V1_SCORES = "scores = x @ x.mT - 1e9 * x.new_ones(x.size(1)).diag()"
V4_SCORES = "scores = q @ k.mT / sqrt(C)"
V4_FILL = "scores = scores.masked_fill(attention_mask == 0, lowest)"
V4_DROP = "self.dropout(scores.softmax(dim=-1))"
BY_HAND = "scores.softmax(dim=-1)\n        if {}:\n"
BY_HAND += "            weights = weights * (torch.rand_like(weights) >= self.dropout.p)"
V5_SCORES = "scores = q @ k.mT / sqrt(D)"
V6_HALVES = """\
        x = self.norm1(x + self.attention(x))  # attention lets positions exchange what they know
        return self.norm2(x + self.ff(x))  # ff works on each position alone
"""
V5_MERGED = "mixed.transpose(1, 2).reshape(B, T, C)"
V5_MIXED = "mixed = weights @ v"
V5_WEIGHTS = "weights = scores.softmax(dim=-1)"
V6_NORMS = {
    "self.norm1 = nn.LayerNorm(embed_dim)": "self.norm1 = Norm(embed_dim)",
    "self.norm2 = nn.LayerNorm(embed_dim)": "self.norm2 = Norm(embed_dim)",
}
V6_BEFORE = "class TransformerBlock(nn.Module):"
NORM = """class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.weight * {} + self.bias


"""


def normed_by(formula: str) -> Edits:
    """A norm of one's own in both places."""
    return {**V6_NORMS, V6_BEFORE: NORM.format(formula) + V6_BEFORE}


def halves(first: str, second: str) -> Edits:
    """The two halves of a block, as they are written instead."""
    return {V6_HALVES: f"        x = {first}\n        return {second}\n"}


ALONE: list[tuple[str, Edits, set[str]]] = [
    ("exercise4", {V4_DROP: BY_HAND.format("self.training")}, {"dropout-not-rescaled"}),
    (
        "exercise4",
        {V4_DROP: BY_HAND.replace(">=", "< 1 -").format("True") + " / (1 - self.dropout.p)"},
        {"dropout-in-evaluation"},
    ),
    ("exercise5", {V5_SCORES: "scores = q @ k[:, :1].mT / sqrt(D)"}, {"keys-of-the-first-head"}),
    ("exercise5", {V5_MIXED: "mixed = weights @ v[:, :1]"}, {"values-of-the-first-head"}),
    (
        "exercise5",
        {V5_SCORES: "k, v = k[:, :1], v[:, :1]\n        scores = q @ k.mT / sqrt(D)"},
        {"keys-of-the-first-head", "values-of-the-first-head"},
    ),
    ("exercise4", {V4_SCORES: "scores = q @ k.mT / int(sqrt(C))"}, {"scaled-by-a-whole-root"}),
    (
        "exercise5",
        {V5_SCORES: "scores = q @ k.mT / int(C ** 0.5)"},
        {"scaled-by-a-whole-root-of-the-width"},
    ),
    (
        "exercise4",
        {V4_SCORES: "scores = q @ k.mT / (C**1 // 2)"},
        {"divided-by-half-the-head-size"},
    ),
    (
        "exercise4",
        {V4_SCORES: "scores = q @ k.mT", "return weights @ v": "return weights / x.size(1) @ v"},
        {"divided-by-the-length", "scaled-after-the-softmax"},
    ),
    (
        "exercise5",
        {V5_WEIGHTS: "weights = scores / scores.norm(dim=-1, keepdim=True)"},
        {"softmax-is-a-norm"},
    ),
    (
        "exercise5",
        {V5_MIXED: "mixed = weights / weights.norm(dim=-1, keepdim=True) @ v"},
        {"weights-of-length-one"},
    ),
    (
        "exercise5",
        {V5_MERGED: "mixed.reshape(B * H, T, D).view(H, B, T, D).permute(1, 2, 0, 3).flatten(2)"},
        {"heads-merged-with-the-batch"},
    ),
    (
        "exercise5",
        {
            V5_MERGED: "torch.cat(mixed.unbind(1)).view(B, T, C)",
            "from torch import": "import torch\nfrom torch import",
        },
        {"heads-merged-before-the-batch"},
    ),
    (
        "exercise4",
        {"return weights @ v": "return nn.functional.layer_norm(weights @ v, (C,))"},
        {"output-normed"},
    ),
    ("exercise6", normed_by("(x - mean) / (std + 1e-6)"), {"norms-unbiased"}),
    (
        "exercise6",
        normed_by("x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()"),
        {"norms-of-the-root-mean-square"},
    ),
    ("exercise6", normed_by("(x - mean)"), {"norms-only-centre"}),
    (
        "exercise6",
        normed_by("(x - mean) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5)"),
        {"norms-by-the-variance"},
    ),
    (
        "exercise6",
        normed_by(
            "(x - mean.detach()) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).detach().sqrt()"
        ),
        {"norms-detached"},
    ),
    (
        "exercise4",
        {
            "self.dropout(scores.softmax(dim=-1))": "nn.functional.dropout("
            "scores.softmax(dim=-1), self.dropout.p, training=torch.is_grad_enabled())"
        },
        {"dropout-where-gradients-are"},
    ),
    (
        "exercise5",
        {
            "        self.unify_heads =": "        for made in (self.to_queries, self.to_values):\n"
            "            made.requires_grad_(False)\n        self.unify_heads ="
        },
        {"queries-frozen", "values-frozen"},
    ),
    ("exercise6", {"nn.ReLU()": 'nn.GELU("tanh")'}, {"feed-forward-gelu-by-tanh"}),
    (
        "exercise6",
        halves("self.norm1(x), x + self.attention(x)", "self.norm2(x[1] + self.ff(x[0]))"),
        {"sublayers-side-by-side-behind-a-norm"},
    ),
    ("warmup1", {"scores = x @ x.mT": V1_SCORES}, {"itself-hidden"}),
    (
        "exercise4",
        {
            V4_FILL: "scores = scores.masked_fill(attention_mask != 0, float('-inf'))",
            "scores.softmax(dim=-1)": "scores.softmax(dim=-1).nan_to_num()",
        },
        {"mask-inverted"},
    ),
]
TOGETHER: list[tuple[str, Edits, set[str]]] = [
    (
        "exercise4",
        {"q, k, v = self.q(x), self.k(x), self.v(x)": "q, k, v = self.q(x), self.q(x), self.q(x)"},
        {"keys-from-the-queries", "values-from-the-queries"},
    ),
    (
        "exercise5",
        {"k = self.to_keys(x)": "k = self.to_values(x)", "v = self.to_values": "v = self.to_keys"},
        {"order-queries-values-keys"},
    ),
    (
        "exercise4",
        {V4_FILL: "scores = (q @ k.mT).masked_fill(attention_mask == 0, 1e-9)"},
        {"mask-drops-the-scale", "mask-fill-near-zero"},
    ),
    (
        "exercise4",
        {V4_FILL: "scores = scores.masked_fill(attention_mask != 0, 1e-9)"},
        {"mask-inverted", "mask-fill-near-zero"},
    ),
    (
        "exercise4",
        {"self.q(x), self.k(x), self.v(x)": "self.q(x).detach(), self.k(x), self.v(x).detach()"},
        {"queries-detached", "values-detached"},
    ),
    (
        "exercise5",
        {V5_SCORES: f"q, k, v = q.detach(), k.detach(), v.detach()\n        {V5_SCORES}"},
        {"scores-detached", "values-detached"},
    ),
    (
        "exercise5",
        {
            "weights = scores": "weights = (scores * sqrt(D))",
            "mixed = weights @ v": "mixed = weights / sqrt(C) @ v",
        },
        {"scaled-by-the-model-width", "scaled-after-the-softmax"},
    ),
    (
        "exercise6",
        halves("self.norm2(x + self.attention(x))", "x + self.norm1(self.ff(x))"),
        {"norms-swapped", "second-norm-on-the-feed-forward-alone"},
    ),
    (
        "exercise6",
        halves("x + self.attention(self.norm1(x))", "x + self.ff(self.norm1(x))"),
        {"norms-first", "first-norm-for-both"},
    ),
    (
        "exercise6",
        halves("x + self.attention(x)", "x + self.ff(self.norm2(x))"),
        {"norms-first", "first-norm-missing"},
    ),
    (
        "exercise6",
        halves("self.norm1(x + self.ff(x))", "x + self.norm2(self.attention(x))"),
        {"feed-forward-first", "second-norm-on-the-feed-forward-alone"},
    ),
]


# Two that make one program are both named.
PRE_NORM = {"first-norm-missing", "second-norm-before-the-feed-forward"}
ALSO_NAMED = {frozenset({"first-norm-missing", "norms-first"}): [PRE_NORM]}


def explanation(name: str, edits: Edits) -> Explanation:
    exercise = KIT.find(name)
    source = read_submission(exercise.solution).source
    for old, new in edits.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return explained_here(source, contract_of(exercise))


@pytest.mark.parametrize(
    ("name", "edits", "expected"),
    [*ALONE, *TOGETHER],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else "",
)
def test_what_is_done_wrong_is_named_and_nothing_else(
    name: str, edits: Edits, expected: set[str]
) -> None:
    found = explanation(name, edits)
    named = [{mistake.name for mistake in one} for one in found.sets]
    wanted = [expected, *ALSO_NAMED.get(frozenset(expected), [])]
    assert sorted(map(sorted, named)) == sorted(map(sorted, wanted))
    assert not found.unexplained


def test_frozen_parameters_are_called_frozen() -> None:
    frozen = "self.dropout = nn.Dropout(dropout_rate)\n        self.requires_grad_(False)"
    found = explanation("exercise4", {"self.dropout = nn.Dropout(dropout_rate)": frozen})
    assert [[mistake.name for mistake in one] for one in found.sets] == [["parameters-detached"]]
    assert "frozen" in describe_mistakes(found.sets, found.unexplained)


def test_what_is_right_in_training_is_not_said_to_be_wrong() -> None:
    edits = {V4_SCORES: "scores = q @ k.mT / (sqrt(C) if self.training else 1)"}
    found = explanation("exercise4", edits)
    assert [[mistake.name for mistake in one] for one in found.sets] == [["never-scaled"]]
    assert (
        set(found.unexplained)
        == set(found.right_anyway)
        == {OBSERVED_GRADIENTS, IN_TRAINING, IN_TRAINING_UNDER_MASK}
    )
    said = describe_mistakes(found.sets, found.unexplained, found.beginning, found.right_anyway)
    assert "does not explain all" not in said
    assert said.endswith(f"This is right nonetheless: {', '.join(found.right_anyway)}.")


@pytest.mark.parametrize(
    ("new", "note"),
    [
        ("nn.Linear(C, C)(x), self.k(x), self.v(x)", BY_CHANCE[False]),
        ("self.q(x) + torch.rand(C), self.k(x), self.v(x)", BY_CHANCE[False]),
        ("self.q(x) + torch.rand(C) * self.training, self.k(x), self.v(x)", BY_CHANCE[True]),
        ("self.q(x).tanh(), self.k(x), self.v(x)", ""),
        ("self.q(x) + self.calls(), self.k(x), self.v(x)", ""),
    ],
)
def test_what_chance_decides_is_told(new: str, note: str) -> None:
    counts = "    n = 0\n\n    def calls(self):\n        self.n += 1\n        return self.n"
    edits = {
        "self.q(x), self.k(x), self.v(x)": new,
        "    def forward(": f"{counts}\n\n    def forward(",
    }
    found = explanation("exercise4", edits)
    assert not any(found.sets)
    assert found.note == note
