"""decoder9: a small language model."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.attention import attention_map, merge_heads, split_heads
from grader.suite import (
    Contract,
    Draw,
    Harness,
    Input,
    PlannedCall,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_gradient,
    includes,
    linear,
    points,
)
from grader.suite.claims.devices import expect_on_any_device
from grader.suite.claims.parts import in_parts
from grader.suite.claims.sampling import (
    draws_are_right,
    expect_continued,
    many_shares_are_right,
    sampling,
    shares_are_right,
)
from grader.suite.compare import CheckFailed
from grader.suite.modules import Module
from grader.suite.oracle import rms_norm, under
from grader.wire.values import type_name

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
NORMS = ("attention_norm.weight", "ffn_norm.weight")
MOST_LAYERS = 5
IGNORED = -100
TIE = 1e-3  # of the highest logit: rounding decides which of two is higher
ROWS, FAR = 300, 10  # sequences, and how many tokens are added to each
ONCE_MORE = 1.35  # times as much as reading each token once makes
# Numbers for each logit that a token is chosen by, or drawn by: 160 in Python loops.
MADE_TO_CHOOSE, MADE_TO_DRAW = 30, 200
STEPS, RATE, MOMENT, MOMENTS = 40, 0.03, 0.9, 0.99
LEARNED, LAST = 0.5, 10  # of a loss that begins near 2: the least of the last steps
FEW = 64  # tokens, of which there may be two blocks and a large vocabulary
MANY = Sizes(B=3, T=257, C=6, H=2, V=5, L=1)
USUAL = Sizes(B=4, T=16, C=64, H=4, V=65, L=2)
LOUD = 4  # times as large is what blocks add, where tokens are added


def waves(T: int, like: Tensor) -> Tensor:
    """Sines of even features and cosines of odd ones, (T, C)."""
    feature = torch.arange(like.size(-1))
    wide = torch.promote_types(like.dtype, torch.float32)
    speed = 10000.0 ** (-(feature // 2 * 2).to(wide) / like.size(-1))
    angle = torch.arange(T).to(wide)[:, None] * speed
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos()).to(like.dtype)


def block(weights: Weights, H: int, x: Tensor) -> Tensor:
    """What the given block makes of a whole sequence."""
    h = rms_norm(under("attention_norm", weights), x)
    placed = h + waves(x.size(1), h)
    q, k, v = (
        split_heads(linear(weights, name, of), H)
        for name, of in zip(PROJECTIONS, (placed, placed, h), strict=False)
    )
    shares = attention_map(q, k, sqrt(H / x.size(2)), torch.ones(x.size(1), x.size(1)).tril())
    x = x + linear(weights, "o_proj", merge_heads(shares @ v))
    hidden = F.gelu(linear(weights, "up_proj", rms_norm(under("ffn_norm", weights), x)))
    return x + linear(weights, "down_proj", hidden)


def judge(weights: Weights, sizes: Sizes, tokens: Tensor) -> Tensor:
    """Embedding, blocks, norm, and the embedding once more."""
    x = weights["embedding.weight"][tokens]
    for n in range(sizes.L):
        x = block(under(f"blocks.{n}", weights), sizes.H, x)
    return rms_norm(under("norm", weights), x) @ weights["embedding.weight"].mT


def mean_loss(weights: Weights, sizes: Sizes, tokens: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log p of what comes next, over the labels that are judged."""
    judged = labels[:, 1:] != IGNORED
    following = labels[:, 1:].where(judged, 0)[..., None]
    shares = judge(weights, sizes, tokens)[:, :-1].log_softmax(-1)
    surprise = -shares.gather(-1, following)[..., 0]
    return (surprise * judged).sum() / judged.sum().clamp(min=1)


def parameters(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The embedding is the weight of the head as well: one."""
    C = sizes.C
    inside = {
        **dict.fromkeys(NORMS, (C,)),
        **{f"{name}.weight": (C, C) for name in PROJECTIONS},
        "up_proj.weight": (2 * C, C),
        "down_proj.weight": (C, 2 * C),
    }
    blocks = {f"blocks.{n}.{name}": s for n in range(sizes.L) for name, s in inside.items()}
    return {"embedding.weight": (sizes.V, C), **blocks, "norm.weight": (C,)}


def fitting(sizes: Sizes, heads: int = 6, each: int = 9) -> Sizes:
    """With up to 24 tokens, or some hundred, and one or two blocks; what is given is kept small.

    One feature comes out of a norm as its sign, which rounding may decide: there are three or more.
    As most people use it, all is larger.
    """
    if sizes.B == USUAL.B and sizes.C == USUAL.C:
        return sizes.replace(V=USUAL.V, L=USUAL.L)
    H = min(sizes.H, heads)
    C = H * min(sizes.C // sizes.H if sizes.C > 2 else 3, each)
    number = 7 * C + 5 * sizes.T
    V = 1 + number % 24 if number % 5 or sizes.T > FEW else 257 + number % 40
    return sizes.replace(H=H, C=C, V=V, L=1 + (C + sizes.T) % 2 * (sizes.T <= FEW))


def spoken(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Any tokens."""
    return (draw.normal(*shape) * 1000).long() % sizes.V


def apart(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Every other one of a longer row."""
    return spoken(draw, (shape[0], 2 * shape[1]), sizes)[:, ::2]


def transposed(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """As they lie where positions come first."""
    return spoken(draw, shape[::-1], sizes).T


def ignoring(
    hidden: Callable[[Draw, int, int], Tensor],
) -> Callable[[Draw, tuple[int, ...], Sizes], Tensor]:
    """Labels that are ignored where this is so, for so many sequences of so many tokens."""

    def drawn(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
        labels = spoken(draw, shape, sizes)
        return labels.masked_fill(hidden(draw, *shape), IGNORED)

    return drawn


TOKENS = Input(
    "B T",
    spoken,
    differentiable=False,
    kinds={
        "ordinary": spoken, "every other of a longer row": apart, "transposed": transposed,
        "all alike": lambda draw, shape, sizes: torch.full(shape, draw.integer(0, sizes.V - 1)),
        "one row for all": lambda draw, shape, sizes: (
            spoken(draw, (1, shape[1]), sizes).expand(shape)
        ),
        "the first and the last": lambda draw, shape, sizes: (
            spoken(draw, shape, sizes) % 2 * (sizes.V - 1)
        ),
    },
)  # fmt: skip
IGNORING = {
    "some ignored": ignoring(lambda draw, B, T: draw.normal(B, T) > 0.4),
    "none judged": ignoring(lambda draw, B, T: torch.arange(T).expand(B, T) > 0),  # but the first
    "one judged": ignoring(lambda draw, B, T: draw.permutation(B * T).view(B, T) > 0),
    "padded": ignoring(lambda draw, B, T: torch.arange(T) > draw.permutation(B)[:, None] * T // B),
}
LABELS = replace(
    TOKENS,
    draw=IGNORING["some ignored"],
    kinds={**IGNORING, "none ignored": spoken, "transposed": transposed},
)
GIVEN = Input("", differentiable=False, optional=True, handed_on=True)
BY_NAME = replace(GIVEN, by_keyword=True)
HOW = ("temperature", "top_k", "top_p", "generator")

contract = Contract(
    entry="LanguageModel",
    sizes=(
        Sizes(B=2, T=7, C=15, H=3, V=11, L=2),
        Sizes(B=3, T=5, C=7, H=1, V=5, L=1),
        Sizes(B=2, T=3, C=14, H=2, V=307, L=5),
    ),
    inputs={"tokens": TOKENS, "caches": GIVEN},
    outputs={"logits": "B T V", "caches": None},
    arguments=lambda sizes: {
        "vocab_size": sizes.V, "embed_dim": sizes.C, "num_heads": sizes.H, "num_layers": sizes.L
    },
    parameters=parameters,
    around_one=(
        "norm.weight", *(f"blocks.{n}.{name}" for n in range(MOST_LAYERS) for name in NORMS)
    ),
    oracle=judge,
    fit=fitting,
    is_exact=lambda sizes: True,
)  # fmt: skip
loss = replace(
    contract,
    method="loss",
    inputs={"tokens": TOKENS, "labels": LABELS},
    outputs={"loss": ""},
    oracle=mean_loss,
    fit=lambda sizes: fitting(sizes, heads=4, each=5).replace(L=1),  # for what comes of logits
)
generation = replace(
    contract,
    method="generate",
    inputs={"tokens": TOKENS, "num_tokens": GIVEN, **dict.fromkeys(HOW, BY_NAME)},
    outputs={"tokens": "B T"},
    tried=False,
)

distribution = sampling("sampling_distribution")
SURE = (  # with these the most likely token is drawn, whatever chance says
    {}, {"temperature": 3.0, "top_k": 1}, {"temperature": 0.6, "top_p": 0.0},
    {"temperature": 0.0, "top_k": 3, "top_p": 0.2},
)  # fmt: skip
DRAWN = (  # how, whether by a generator, tokens of the prompt, blocks, dtype
    ({"temperature": 1.6}, False, 2, 1, torch.float32),
    ({"temperature": 0.7, "top_k": 3}, False, 4, 1, torch.float64),
    ({"temperature": 1.3, "top_k": 5, "top_p": 0.6}, False, 2, 1, torch.float32),
    ({"temperature": 0.8, "top_k": 4, "top_p": 0.7}, True, 5, 2, torch.float32),
    ({"temperature": 0.6, "top_p": 0.8}, True, 2, 1, torch.float64),
)  # fmt: skip
WAYS: tuple[dict[str, float], ...] = (  # to choose tokens
    {}, {"temperature": 0.8, "top_p": 0.9}, {"temperature": 0.9, "top_k": 3},
)  # fmt: skip
GENERATED = (  # tokens of the prompt, and added; sequences, blocks, how, dtype
    (61, 2, 2, 2, WAYS[0], torch.float32), (2, 5, 1, 2, WAYS[1], torch.float32),
    (2, 6, 3, 2, WAYS[0], torch.bfloat16),
)  # fmt: skip


OF_PARTS = frozenset(
    claim.__name__ for claim in (
        claims.keeps_shape_and_dtype, claims.matches_the_formula, claims.changes_no_input,
        claims.parameter_gradients_are_right, claims.input_gradient_is_right,
        claims.remembers_nothing, claims.computes_in_float64, claims.computes_in_bfloat16,
    )
)  # fmt: skip


def of(one: Contract, claim: Any, worth: int = 1) -> Callable[[Harness], None]:
    """A claim of a part, which is told of nothing but what the claims about it are."""

    @points(worth)
    def check(harness: Harness) -> None:
        claim(harness.of(one, OF_PARTS))

    check.__doc__ = claim.__doc__
    return check


@points(1)
@includes(claims.has_its_parameters)
def test_parameters_are_those_of_the_contract(harness: Harness) -> None:
    """Tied weights are one parameter under two names: trained once, counted once."""
    module = harness.module(weights={})
    try:
        claims.has_its_parameters(harness)
    except CheckFailed:  # which calls a second weight one too many
        expect_one_weight(module)
        raise
    assert module.made is not None
    there = "head.weight" in module.made.parameters
    expect(there, "expected `head.weight`, which is `embedding.weight`; there is none")


def expect_one_weight(module: Module) -> None:
    """If embedding and head both have a weight, it is the same parameter."""
    assert module.made is not None
    weights = [module.made.parameters.get(f"{name}.weight") for name in ("embedding", "head")]
    apart = None not in weights and len({one.same_as for one in weights if one}) == 2
    expect(not apart, "`head.weight`: expected `embedding.weight` itself, got a second parameter")


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """The model passes both numbers to its blocks, which refuse them."""
    every = [{"embed_dim": C, "num_heads": H} for C, H in ((15, 4), (9, 2), (3, 7))]
    claims.constructor_raises_for_each(harness, "ValueError", every)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_logits_match_the_formula = claims.matches_the_formula


@points(2)
def test_embedding_and_head_stay_tied(harness: Harness) -> None:
    """Also after a state has been loaded: setting one sets the other."""
    tokens, module = harness.inputs(), harness.module()
    before = module.call(tokens)
    after = module.renew().set({"embedding.weight": module.weights["embedding.weight"] * 2})
    calls = [before, after.call(tokens), after.renew().train().call(tokens)]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "logits, after the embedding was changed")


@points(2)
def test_what_is_tied_learns_from_both_ends(harness: Harness) -> None:
    """A token that is never read learns through the head alone, one that is read through both."""
    tokens = harness.inputs()["tokens"] % (harness.sizes.V - 1)
    grad_output = harness.draw.normal(*harness.sizes.shape("B T V"))
    call = harness.module().train().call({"tokens": tokens}, grad_output=grad_output)
    harness.ask()
    name = "embedding.weight"
    grad = expect_gradient(call.gradients[name], name)
    expect_close(grad, call.right_gradients[name], f"gradient of {name}", 1e-4)


test_future_has_no_influence = claims.future_has_no_influence
test_batch_items_are_independent = claims.batch_items_are_independent


@points(3)
def test_pieces_with_caches_agree_with_the_whole(harness: Harness) -> None:
    """Token by token, in chunks or at once: each position has the same logits and gradients."""
    first, *others = harness.contract.sizes
    alone, long = first.replace(B=1), Sizes(B=1, C=6, H=2, V=5, L=2)
    ways = [(first, (1,) * 5), (first, (1, 5, 1)), *((each, (1, 2)) for each in others)]
    claims.parts_agree_with_the_whole(harness, [*ways, (alone, (9, 1, 7))])
    far = [(alone, (5, 1, 4)), (long, (130, 1, 123, 3))]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        claims.parts_agree_with_the_whole(harness, far, dtype, learns=False)


@points(2)
def test_caches_can_be_gone_on_from_twice(harness: Harness) -> None:
    """They belong to the caller: another call neither lengthens nor changes them."""
    claims.branches_agree(harness, 4, (2, 3), (2, 3), (1, 1, 1))


@points(1)
def test_caches_are_one_for_each_block(harness: Harness) -> None:
    """A list of what the blocks returned, in their order."""
    call = harness.module(harness.contract.sizes[2]).call(harness.inputs(harness.contract.sizes[2]))
    harness.ask()
    _, (_, caches) = call.out, call.result
    expect(isinstance(caches, list), f"caches: expected a list, got `{type_name(caches)}`")
    count = call.module.sizes.L
    expect(len(caches) == count, f"caches: expected {count}, one per block, got {len(caches)}")


test_loss_matches_the_formula = of(loss, claims.matches_the_formula, worth=3)


def expect_losses(harness: Harness, every: Iterable[Tensor], tokens: Tensor) -> None:
    """The loss of the tokens, and what it teaches, is right for each of these labels."""
    one, calls = harness.of(loss), []
    for labels in every:
        given = {"tokens": tokens, "labels": labels}
        calls.append(one.module().call(given, grad_output=torch.tensor(1.0)))
    harness.ask()
    for place, call in enumerate(calls, start=1):
        expect_close(call.out, call.expected, f"loss of labels {place}")
        for name, right in call.right_gradients.items():
            grad = expect_gradient(call.gradients[name], name)
            expect_close(grad, right, f"gradient of {name}, of labels {place}", 1e-4)


@points(2)
def test_labels_are_shifted_once(harness: Harness) -> None:
    """A single label is judged by the logits just before it, and by no others."""
    tokens = harness.of(loss).inputs()["tokens"]
    alone = torch.eye(harness.sizes.T, dtype=torch.bool)[1:, None]
    expect_losses(harness, tokens.where(alone, IGNORED), tokens)


@points(2)
def test_ignored_labels_do_not_count(harness: Harness) -> None:
    """Neither in the sum nor in its divisor; and if all labels are ignored, nothing is NaN."""
    tokens = harness.of(loss).inputs()["tokens"]
    shape, sizes = tuple(tokens.shape), harness.sizes
    every = [kind(harness.draw, shape, sizes) for kind in IGNORING.values()]
    expect_losses(harness, every, tokens)


test_loss_has_the_right_gradients = of(loss, claims.parameter_gradients_are_right, worth=2)
test_loss_changes_no_input = of(loss, claims.changes_no_input)
test_loss_remembers_nothing = of(loss, claims.remembers_nothing)


@points(1)
def test_loss_computes_in_bfloat16(harness: Harness) -> None:
    """Also over many labels, whose bfloat16 sum one more would not change."""
    of(loss, claims.computes_in_bfloat16)(harness)
    many = harness.within_reach(MANY)
    tokens, module = harness.inputs(many)["tokens"], harness.of(loss).module(many)
    call = module.to(torch.bfloat16).call({"tokens": tokens, "labels": tokens})
    harness.ask()
    expect_close(call.out, call.expected, f"loss of {tokens.numel()} labels, in bfloat16")


@points(3)
def test_loss_falls_on_a_small_corpus(harness: Harness) -> None:
    """Forty steps down its own gradients, on words that always follow in the same order."""
    one, draw = harness.of(loss), harness.draw
    sizes = Sizes(B=4, T=9, C=12, H=2, V=7, L=1)
    follows = draw.order(sizes.V)
    rows = [follows[: sizes.B]]
    while len(rows) < sizes.T:
        rows.append(follows[rows[-1]])
    tokens, lost, module = torch.stack(rows, dim=1), [], one.module(sizes).train()
    means, squares = ({n: torch.zeros_like(w) for n, w in module.weights.items()} for _ in "ab")
    for step in range(1, STEPS + 1):
        call = module.call({"tokens": tokens, "labels": tokens}, grad_output=torch.tensor(1.0))
        harness.ask()
        lost.append(float(call.out))
        for name, weight in module.weights.items():
            grad = expect_gradient(call.gradients[name], name)
            means[name] = means[name].lerp(grad, 1 - MOMENT)
            squares[name] = squares[name].lerp(grad.square(), 1 - MOMENTS)
            size = (squares[name] / (1 - MOMENTS**step)).sqrt() + 1e-8
            module.set({name: weight - RATE / (1 - MOMENT**step) * means[name] / size})
    last, learned = min(lost[-LAST:]), min(LEARNED, lost[0] / 2)  # a low number has not fallen
    says = f"loss after {STEPS} steps: expected from 0 to {learned:.3g}, got {last:.3g}"
    expect(0 <= last < learned, says)


test_distribution_keeps_shape_dtype_and_device = of(distribution, claims.keeps_shape_and_dtype)
test_distribution_matches_its_formula = of(distribution, claims.matches_the_formula, worth=3)


def uneven(draw: Draw, V: int) -> Tensor:
    """Logits of tokens no two of which are nearly alike, in any order, (2, V)."""
    steps = torch.stack([draw.permutation(V) for _ in range(2)])
    return steps * (0.3 + 0.01 * draw.integer(0, 9))


@points(2)
def test_temperature_divides_before_anything_is_left_out(harness: Harness) -> None:
    """Which tokens top-p keeps depends on the temperature; top-k comes before top-p."""
    settings = (
        {"temperature": 3.0, "top_p": 0.5}, {"temperature": 0.3, "top_p": 0.9},
        {"top_k": 3, "top_p": 0.55}, {"top_k": 3, "top_p": 0.8}, {"temperature": 2.5, "top_k": 4},
        {"temperature": 2.0, "top_k": 5, "top_p": 0.62}, {"temperature": 0.03}, {"temperature": 90},
        {"temperature": 0.5, "top_k": 5, "top_p": 0.7}, {"top_k": 29}, {"top_k": 40, "top_p": 0.3},
    )  # fmt: skip
    every = [(uneven(harness.draw, V), how) for V in (9, 43) for how in settings]
    low = uneven(harness.draw, 9) - 30_000  # lower than what may stand for what is left out
    every += [(low, {"top_k": 3, "top_p": 0.55}), (low, {"temperature": 2.0, "top_k": 5})]
    shares_are_right(harness.of(distribution), every)


@points(3)
def test_token_that_crosses_the_line_is_kept(harness: Harness) -> None:
    """For each token in turn, p is a little below and above the sum reached with it."""
    logits = uneven(harness.draw, 7)[:1]
    sums = logits.softmax(-1).sort(descending=True).values[0].cumsum(0)
    every = [(logits, {"top_p": float(s) + by}) for s in sums[:-1] for by in (-0.004, 0.004)]
    shares_are_right(harness.of(distribution), [*every, (logits, {"top_p": 0.0})])


@points(3)
def test_ties_are_kept_together(harness: Harness) -> None:
    """Every token as likely as the last one kept is kept, whatever its index."""
    every, dtypes = [], (torch.float32, torch.bfloat16, torch.float64)
    ranks = ((2, 1, 1, 0), (1, 1, 0, 0, 0), (3, 2, 2, 2, 1, 1), (0, 0, 0), (2, 2, -1))
    for turn, worth in enumerate((*ranks, (1,) * 2 + (0,) * 30 + (-4,) * 5)):
        orders = [harness.draw.permutation(len(worth)) for _ in range(1 + turn % 2)]
        logits = torch.stack([torch.tensor(worth)[order] for order in orders]).to(dtypes[turn % 3])
        every += [(logits, {"top_k": k}) for k in range(1, min(len(worth), 6) + 1)]
        every += [(logits, {"top_p": p}) for p in (0.0, 0.05, 0.37, 0.62, 0.82, 0.97)]
        every += [(logits, {"top_k": 2, "top_p": p}) for p in (0.2, 0.58, 0.71, 0.9)]
        every += [(logits, {"temperature": 0.7, "top_k": 1, "top_p": 0.4})]
        every += [(logits - max(worth), {"temperature": small}) for small in (1e-2, 1e-30)]
    shares_are_right(harness.of(distribution), every)


@points(2)
def test_temperature_of_zero_is_greedy(harness: Harness) -> None:
    """All the mass on one token: the most likely, or the first of several that tie."""
    tied = torch.tensor([[0.0, 2, 1, 2, 2], [1, 1, 1, 1, 1], [-3, -1, -2, -1, -4]])
    apart, every = harness.draw.normal(3, 41) * 900, []
    for how in ({}, {"top_k": 2}, {"top_p": 0.1}, {"top_k": 3, "top_p": 0.9}):
        every += [(logits, {"temperature": 0.0, **how}) for logits in (tied, tied.bfloat16())]
        every += [(logits, {"temperature": 0, **how}) for logits in (tied.double(), apart)]
    shares_are_right(harness.of(distribution), every)


test_distribution_passes_gradients_on = of(distribution, claims.input_gradient_is_right)
test_distribution_changes_no_input = of(distribution, claims.changes_no_input)
test_distribution_remembers_nothing = of(distribution, claims.remembers_nothing)
test_distribution_computes_in_float64 = of(distribution, claims.computes_in_float64)


@points(1)
def test_distribution_is_computed_in_float32_for_bfloat16(harness: Harness) -> None:
    """Many tokens of tiny probability: summed in bfloat16, they would never reach the line."""
    every = (
        {"top_p": 0.9}, {"top_p": 0.5, "temperature": 3.0}, {"temperature": 0.3},
        {"top_p": 0.7}, {"top_p": 0.3, "temperature": 2.0},
    )  # fmt: skip
    many_shares_are_right(harness.of(distribution), every)


@points(1)
def test_distribution_is_pinned_to_no_device(harness: Harness) -> None:
    """Settings are numbers: they need not be on any device."""
    for variant in distribution.variants.values():
        claims.is_pinned_to_no_device(harness.of(variant))


def expect_most_likely(call: PlannedCall, count: int, tie: float = TIE) -> None:
    """Each token that was added is the most likely one after all before it."""
    found, start = expect_continued(call, count), call.inputs["tokens"].size(1)
    every = judge(call.right_weights, call.module.sizes, found)
    logits, highest = every[:, start - 1 : -1], every.abs().amax().clamp(min=1)
    gap = (logits.amax(-1) - logits.gather(-1, found[:, start:, None])[..., 0]) / highest
    wrong = int((gap > tie).sum())
    expect(wrong == 0, f"{wrong} of {gap.numel()} added tokens are not the most likely")


def speaker(harness: Harness, sizes: Sizes | None = None) -> Module:
    """Plan one to generate with: what came before has more to say than the token itself."""
    module, loud = harness.of(generation).module(sizes), ("o_proj.weight", "down_proj.weight")
    return module.set({n: w * LOUD for n, w in module.weights.items() if n.endswith(loud)})


@points(3)
def test_greedy_takes_the_most_likely(harness: Harness) -> None:
    """One token after another, each chosen given all that was added before it."""
    planned, (first, _, third) = [], harness.contract.sizes
    for turn, (sizes, count) in enumerate((
        *((sizes, 6) for sizes in harness.contract.sizes),
        (first.replace(B=6, T=1, L=1), 90),  # of several, some do not run in circles
        (third.replace(B=3, T=1), 12), (first.replace(B=5, T=1), 1), (first, 0),
        (Sizes(B=2, T=3, C=12, H=2, V=23, L=1), 40), (Sizes(B=1, T=254, C=6, H=2, V=7, L=2), 4),
        (USUAL, 20),
    )):  # fmt: skip
        given = {**harness.inputs(sizes), "num_tokens": count, **SURE[turn % len(SURE)]}
        if turn % 3 == 1:
            given["generator"] = torch.Generator().manual_seed(turn)
        planned.append((speaker(harness, sizes).train(turn % 3 == 0).call(given), count))
    harness.ask()
    for call, count in planned:
        expect_most_likely(call, count)


@points(1)
def test_generates_in_every_dtype(harness: Harness) -> None:
    """Models run in bfloat16, and are debugged in float64, where nearly equal is not equal."""
    given, planned = {**harness.inputs(), "num_tokens": 5}, []
    for dtype, tie in ((torch.float64, 1e-11), (torch.bfloat16, 0.1)):
        module = speaker(harness).to(dtype)
        weights = {name: w.double() for name, w in module.weights.items()}
        rows = weights["embedding.weight"]
        rows[1::2] = rows[:-1:2] * (1 + 1e-8)  # the same in float32
        module.set({name: w.to(dtype) for name, w in weights.items()})
        calls = module.calls([given, {**given, "temperature": 1.0, "top_k": 1}])
        planned += [(call, tie) for call in calls]
    harness.ask()
    for call, tie in planned:
        expect_most_likely(call, 5, tie)


@points(2)
def test_generation_remembers_nothing(harness: Harness) -> None:
    """Another prompt, any layout, other weights, the same again: each call begins anew."""
    sizes, module = harness.sizes.replace(B=7), speaker(harness)
    drawn = [draw(harness.draw, (7, sizes.T), sizes) for draw in (spoken, transposed, apart)]
    first, second, third = ({"tokens": tokens, "num_tokens": 5} for tokens in drawn)
    calls = [module.call(prompt) for prompt in (first, second, third, first)]
    module.set(speaker(harness).weights)
    calls += [module.call(prompt) for prompt in (first, second)]
    harness.ask()
    for call in calls:
        expect_most_likely(call, 5)


@points(2)
def test_each_step_feeds_its_new_token_alone(harness: Harness) -> None:
    """With caches, as much is computed as by reading the prompt once, then a token at a time."""
    one, planned = harness.of(generation), []
    for T, count, B, L, how, dtype in GENERATED:
        sizes = Sizes(B=B, T=T + count - 1, C=24, H=2, V=5, L=L)
        module, inputs = harness.module(sizes), harness.inputs(sizes)
        once = in_parts(module, inputs, (T, *(1,) * (count - 1)), report_counts=True)
        given = {"tokens": inputs["tokens"][:, :T], "num_tokens": count, **how}
        if B == 1:
            given["generator"] = torch.Generator().manual_seed(1)
        speaks = one.module(sizes, module.weights).to(dtype).train(dtype != torch.float32)
        generated = speaks.call(given, report_counts=True)
        planned.append((once, generated, T, count, MADE_TO_DRAW if how else MADE_TO_CHOOSE))
    harness.ask()
    for once, generated, T, count, each in planned:
        expect_continued(generated, count)
        sizes = once[0].sizes
        read, *fed = (part.numbers_made for part in once)
        # A step by the caches that makes more than the prompt did, or than four tokens of it, makes
        # what nobody needs.
        steps = sum(min(read, 4 * read // T, step) for step in fed)
        least = read + steps + each * count * sizes.B * sizes.V
        expect(
            generated.numbers_made < ONCE_MORE * least,
            f"{count} tokens after {sizes.T} take {generated.numbers_made / least:.2f} times what "
            "reading each token once does; expected all tokens to be read in one call, and then "
            "each step to feed only its new token and the caches",
        )


@points(1)
def test_generation_keeps_no_gradient_and_no_mode(harness: Harness) -> None:
    """A graph of all steps would fill the memory; a model in training mode stays in it."""
    sizes, calls = harness.sizes.replace(L=1), []
    longer, T = spoken(harness.draw, (sizes.B, 2 * sizes.T), sizes), sizes.T
    given = {"tokens": longer[:, :T], "num_tokens": 4}  # with room behind it, which is not ours
    for mode, how in zip((True, False, True), WAYS, strict=True):
        for counted in (True, False):  # with gradients switched on before, and off
            by = {"generator": torch.Generator().manual_seed(1)} if counted == mode else {}
            module = harness.of(generation).module(sizes.replace(L=1 + mode)).train(mode)
            module.to(torch.bfloat16 if "top_k" in how else torch.float32)
            planned = {**given, **how, **by}
            calls.append(module.call(planned, report_counts=counted, detect_inplace=True))
    harness.ask()
    for call in calls:
        expect_continued(call, 4)
        expect(not call.side_effects, "".join(call.side_effects[:1]))
        expect(not call.changed, "the tokens were changed in place by the call")
        expect(not call.saved, f"{call.saved} tensors were kept for a backward; expected none")


@points(3)
def test_tokens_are_drawn_by_the_distribution(harness: Harness) -> None:
    """Each token as often as it should, at every step, each sequence on its own."""
    calls, draw = [], harness.draw
    for number, (how, by_generator, T, L, dtype) in enumerate(DRAWN):
        sizes = Sizes(B=ROWS, T=T, C=6, H=2, V=7, L=L)
        given = {**harness.inputs(sizes), "num_tokens": FAR, **how}
        if by_generator:
            given["generator"] = torch.Generator().manual_seed(draw.integer(0, 2**31))
        module = speaker(harness, sizes).to(dtype).train(number % 2 == 0)
        calls.append(module.call(given, seed=draw.integer(0, 2**31)))
    harness.ask()
    for call, (how, _, T, *_) in zip(calls, DRAWN, strict=True):
        tokens = expect_continued(call, FAR)
        logits = judge(call.right_weights, call.module.sizes, tokens)[:, T - 1 : -1]
        draws_are_right(tokens[:, T - 1 :], logits, how)


@points(2)
def test_generator_is_what_all_is_drawn_from(harness: Harness) -> None:
    """The same generator gives the same tokens, whatever torch's own state; another does not."""
    one, planned, draw = harness.of(generation), [], harness.draw
    by_place = replace(generation, inputs={**generation.inputs, **dict.fromkeys(HOW, GIVEN)})
    for B, dtype, how in (
        (2, torch.float32, {}), (1, torch.bfloat16, {"top_k": 9}),
        (3, torch.float64, {"top_k": 9, "top_p": 0.95}),
    ):  # fmt: skip
        sizes = harness.sizes.replace(B=B, L=1)
        tokens = spoken(draw, (1, sizes.T), sizes).expand(B, -1).contiguous()
        given = {"tokens": tokens, "num_tokens": 10, "temperature": 3.0, **how}
        module = one.module(sizes).to(dtype)
        seed, another = draw.integer(0, 2**30), draw.integer(2**30, 2**31)
        alike, unlike = (
            {**given, "generator": torch.Generator().manual_seed(of)} for of in (seed, another)
        )
        calls = module.calls([alike, alike, given, given], seed=seed)
        calls += module.calls([given, alike], seed=seed)
        calls += module.calls([given, unlike], seed=another)
        calls += harness.of(by_place).module(sizes, module.weights).to(dtype).calls([alike])
        planned.append(calls)
    harness.ask()
    for calls in planned:
        by, by_then, first, then, again, by_same, other, by_other, by_its_place = (
            expect_continued(call, 10) for call in calls
        )
        for tokens, others, alike, what in (
            (by, by_same, True, "the same generator"),
            (by, by_its_place, True, "the same generator, given by its place"),
            (first, again, True, "torch's own generator, seeded alike"),
            (by, by_other, False, "another generator"),
            (by, by_then, False, "the same generator, a second time"),
            (first, other, False, "torch's own generator, seeded differently"),
            (first, then, False, "torch's own generator, a second time"),
            (first[:1], first[1:2], False, "another sequence"),
        ):
            wanted, got = ("the same tokens", "other tokens")[:: 1 if alike else -1]
            says = f"{what}: expected {wanted}, got {got}"
            expect(torch.equal(tokens, others) == alike, says)


test_gradients_of_all_parameters_are_right = claims.parameter_gradients_are_right
test_input_is_not_changed = claims.changes_no_input
test_nothing_is_remembered_between_calls = claims.remembers_nothing
test_single_token_and_single_sequence = claims.handles_a_single_token
test_long_sequence = claims.handles_a_long_sequence_from_its_start
test_non_contiguous_input = claims.handles_non_contiguous_input
test_computes_in_float64 = claims.computes_in_float64
test_computes_in_bfloat16 = claims.computes_in_bfloat16


@points(1)
def test_no_tensor_is_pinned_to_a_device(harness: Harness) -> None:
    """Forward, loss and generation create what they need on the tokens' device."""
    claims.is_pinned_to_no_device(harness)
    claims.is_pinned_to_no_device(harness.of(loss))
    greedy = {**harness.inputs(), "num_tokens": 2}
    expect_on_any_device(harness.of(generation), [{**greedy, **how} for how in WAYS])
