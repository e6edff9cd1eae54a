"""decoder9: a small language model."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import log, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.suite import (
    Call,
    Contract,
    Draw,
    Harness,
    Input,
    Sizes,
    Weights,
    claims,
    expect,
    expect_close,
    expect_differs,
    expect_gradient,
    expect_tensor,
    linear,
    points,
)

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
NORMS = ("attention_norm.weight", "ffn_norm.weight")
MOST_LAYERS = 5
IGNORED = -100
LINE = 2e-5  # of a sum of probabilities: rounding decides whether it has reached p
LITTLE = 1e-20  # of a probability: less may be 0 in float32
TIE = 1e-3  # of the highest logit: rounding decides which of two is higher
ROWS, FAR = 1000, 12  # sequences, and how many tokens are added to each
TAIL = log(2e10)  # of a count: chance alone exceeds it once in 10¹⁰
ONCE_MORE = 1.35  # times as much as reading each token once makes
STEPS, RATE, MOMENT = 40, 0.03, 0.9
LEARNED, LAST = 0.5, 10  # of a loss that begins near 2: the least of the last steps
LONG, FEW = 256, 64
MANY = Sizes(B=3, T=257, C=6, H=2, V=5, L=1)
LOUD = 4  # times as large is what blocks add, where tokens are added
CLEAR = 1e-3  # from the line and of the next rank: else rounding decides who is kept


def rms_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    """Vectors of a root mean square of 1, each feature times its weight."""
    normed = x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    return normed * weights[f"{name}.weight"]


def waves(T: int, like: Tensor) -> Tensor:
    """Sines of even features and cosines of odd ones, (T, C)."""
    feature = torch.arange(like.size(-1))
    wide = torch.promote_types(like.dtype, torch.float32)
    speed = 10000.0 ** (-(feature // 2 * 2).to(wide) / like.size(-1))
    angle = torch.arange(T).to(wide)[:, None] * speed
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos()).to(like.dtype)


def block(weights: Weights, H: int, x: Tensor) -> Tensor:
    """What the given block makes of a whole sequence."""
    B, T, C = x.shape
    h = rms_norm(weights, "attention_norm", x)
    placed = h + waves(T, h)
    q, k, v = (
        linear(weights, name, of).view(B, T, H, C // H).transpose(1, 2)
        for name, of in zip(PROJECTIONS, (placed, placed, h), strict=False)
    )
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    shares = (q @ k.mT * sqrt(H / C)).masked_fill(future, float("-inf")).softmax(-1)
    x = x + linear(weights, "o_proj", (shares @ v).transpose(1, 2).reshape(B, T, C))
    hidden = F.gelu(linear(weights, "up_proj", rms_norm(weights, "ffn_norm", x)))
    return x + linear(weights, "down_proj", hidden)


def judge(weights: Weights, sizes: Sizes, tokens: Tensor) -> Tensor:
    """Embedding, blocks, norm, and the embedding once more."""
    x = weights["embedding.weight"][tokens]
    for n in range(sizes.L):
        own = f"blocks.{n}."
        inside = {k.removeprefix(own): w for k, w in weights.items() if k.startswith(own)}
        x = block(inside, sizes.H, x)
    return rms_norm(weights, "norm", x) @ weights["embedding.weight"].mT


def mean_loss(weights: Weights, sizes: Sizes, tokens: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log p of what comes next, over the labels that are judged."""
    judged = labels[:, 1:] != IGNORED
    following = labels[:, 1:].where(judged, 0)[..., None]
    shares = judge(weights, sizes, tokens)[:, :-1].log_softmax(-1)
    surprise = -shares.gather(-1, following)[..., 0]
    return (surprise * judged).sum() / judged.sum().clamp(min=1)


def mass_above(scaled: Tensor) -> Tensor:
    """What all tokens that are more likely than each have together, (B, V)."""
    above = scaled[:, None, :] > scaled[:, :, None]  # (B, V, V)
    return (above * scaled.softmax(-1)[:, None]).sum(-1)


def share_out(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> tuple[Tensor, Tensor]:
    """Right probabilities, and the sums that were compared with p, (B, V) each."""
    scaled = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    if top_k is not None:
        higher = (scaled[:, None, :] > scaled[:, :, None]).sum(-1)
        scaled = scaled.masked_fill(higher >= top_k, float("-inf"))
    sums = mass_above(scaled)
    if top_p is not None:
        is_highest = scaled == scaled.amax(-1, keepdim=True)
        scaled = scaled.masked_fill((sums >= top_p) & ~is_highest, float("-inf"))
    return scaled.softmax(-1).to(logits.dtype), sums


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
    """With up to 24 tokens, or some hundred, and one or two blocks; what is given is kept small."""
    H = min(sizes.H, heads)
    C = H * min(sizes.C // sizes.H, each)
    number = 7 * C + 5 * sizes.T
    V = 1 + number % 24 if number % 5 or sizes.T > FEW else 257 + number % 40
    return sizes.replace(H=H, C=C, V=V, L=1 + (C + sizes.T) % 2 * (sizes.T <= FEW))


def small(sizes: Sizes) -> Sizes:
    """With few features and one block: what comes after the logits sees none of them."""
    return fitting(sizes, heads=4, each=5).replace(L=1)


def spoken(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Any tokens."""
    return (draw.normal(*shape) * 1000).long() % sizes.V


def apart(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Every other one of a longer row."""
    return spoken(draw, (shape[0], 2 * shape[1]), sizes)[:, ::2]


def transposed(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """As they lie where positions come first."""
    return spoken(draw, shape[::-1], sizes).T


def the_same(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """One token, over and over."""
    return torch.full(shape, draw.integer(0, sizes.V - 1))


def at_the_ends(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """The first and the last of the vocabulary alone."""
    return spoken(draw, shape, sizes) % 2 * (sizes.V - 1)


def some_ignored(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """About a third of the labels, anywhere."""
    return spoken(draw, shape, sizes).masked_fill(draw.normal(*shape) > 0.4, IGNORED)


def none_judged(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """None, but for the first ones, which nothing foretells."""
    labels = torch.full(shape, IGNORED)
    labels[:, 0] = spoken(draw, shape[:1], sizes)
    return labels


def one_judged(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """One label of the whole batch."""
    labels, place = torch.full(shape, IGNORED), draw.integer(0, shape[1] - 1)
    labels[draw.integer(0, shape[0] - 1), place] = draw.integer(0, sizes.V - 1)
    return labels


def padded(draw: Draw, shape: tuple[int, ...], sizes: Sizes) -> Tensor:
    """Each sequence ends somewhere, one of them at its first token."""
    ends = draw.permutation(shape[0])[:, None] * shape[1] // shape[0]
    hidden = torch.arange(shape[1]) > ends
    return spoken(draw, shape, sizes).cpu().masked_fill(hidden, IGNORED)


TOKENS = Input(
    "B T",
    spoken,
    differentiable=False,
    kinds={
        "ordinary": spoken, "every other of a longer row": apart, "transposed": transposed,
        "all alike": the_same, "the first and the last": at_the_ends,
    },
)  # fmt: skip
LABELS = replace(
    TOKENS,
    draw=some_ignored,
    kinds={
        "some ignored": some_ignored, "none ignored": spoken, "none judged": none_judged,
        "one judged": one_judged, "padded": padded, "transposed": transposed,
    },
)  # fmt: skip
GIVEN = Input("", differentiable=False, optional=True, handed_on=True)
BY_NAME = replace(GIVEN, by_keyword=True)

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
    steep=True,
    rounded=0.6,
    is_exact=lambda sizes: True,
)  # fmt: skip
loss = replace(
    contract,
    method="loss",
    inputs={"tokens": TOKENS, "labels": LABELS},
    outputs={"loss": ""},
    oracle=mean_loss,
    fit=small,
)
generation = replace(
    contract,
    method="generate",
    inputs={
        "tokens": TOKENS,
        "num_tokens": GIVEN,
        **dict.fromkeys(("temperature", "top_k", "top_p", "generator"), BY_NAME),
    },
    outputs={"tokens": "B T"},
    tried=False,
)


def sampling(**how: Any) -> Contract:
    """The distribution with these settings."""

    def near_the_line(logits: Tensor) -> float:
        p = how.get("top_p")
        sums = share_out(logits, **how)[1]
        near = p is not None and bool(((sums - p).abs() < LINE).any())
        return float("inf") if near else 0.0

    def silent(logits: Tensor) -> dict[str, Tensor]:
        shares = share_out(logits.detach().double(), **how)[0]
        return {"probabilities": (shares == 0) & (near_the_line(logits.detach()) == 0)}

    return Contract(
        entry="sampling_distribution",
        sizes=(Sizes(B=2, T=7, V=7), Sizes(B=3, T=11, V=11), Sizes(B=1, T=2, V=2)),
        inputs={"logits": Input("B V", lambda draw, shape, sizes: draw.normal(*shape, std=2.0))},
        outputs={"probabilities": "B V"},
        arguments=lambda sizes: how,
        oracle=lambda weights, sizes, logits: share_out(logits, **how)[0],
        slack=near_the_line,
        silent=silent,
        fit=lambda sizes: sizes.replace(V=sizes.T),
        is_exact=lambda sizes: True,
        tried=False,
    )


plain = sampling()
SETTINGS = {
    "nothing": {},
    "a low temperature": {"temperature": 0.4},
    "a high temperature": {"temperature": 3.0},
    "top-k of 1": {"top_k": 1},
    "top-k": {"top_k": 3},
    "top-k of more than there are": {"top_k": 300},
    "top-p of 0": {"top_p": 0.0},
    "top-p of little": {"top_p": 0.15},
    "top-p": {"top_p": 0.6},
    "top-p of much": {"top_p": 0.93},
    "top-p of 1": {"top_p": 1.0},
    "top-k and top-p": {"top_k": 4, "top_p": 0.8},
    "a temperature and top-k": {"temperature": 2.0, "top_k": 2},
    "a temperature and top-p": {"temperature": 0.5, "top_p": 0.7},
    "all three": {"temperature": 1.7, "top_k": 5, "top_p": 0.85},
}
distribution = replace(
    plain, variants={name: sampling(**how) for name, how in SETTINGS.items()}, tried=True
)
# With these the most likely token is drawn, whatever chance says.
SURE = (
    {}, {"temperature": 3.0, "top_k": 1}, {"temperature": 0.6, "top_p": 0.0},
    {"temperature": 0.0, "top_k": 3, "top_p": 0.2},
)  # fmt: skip
# Tokens that are drawn come from each of these.
DRAWN = ({"temperature": 1.0}, {"temperature": 0.7, "top_k": 3}, {"temperature": 1.3, "top_p": 0.6})


def of(one: Contract, claim: Any, worth: int = 1) -> Callable[[Harness], None]:
    """A claim of a part, which is told of nothing but what the claims about it are."""
    names = frozenset(claim.__name__ for claim in OF_PARTS)

    def check(harness: Harness) -> None:
        claim(harness.of(one, names))

    check.__doc__ = claim.__doc__
    return points(worth)(check)


OF_PARTS = (
    claims.keeps_shape_and_dtype,
    claims.matches_the_formula,
    claims.parameter_gradients_are_right,
    claims.input_gradient_is_right,
    claims.changes_no_input,
    claims.remembers_nothing,
    claims.computes_in_float64,
    claims.computes_in_bfloat16,
)


@points(1)
def test_parameters_are_those_of_the_contract(harness: Harness) -> None:
    """What is tied is one parameter under two names: trained once, counted once."""
    claims.has_its_parameters(harness)
    claims.has_its_parameters(harness, harness.contract.sizes[2])
    module = harness.module(weights={})
    harness.ask()
    assert module.made is not None
    one = module.made.parameters.get("head.weight")
    expect(one is not None, "expected `head.weight`, which is `embedding.weight`; there is none")


@points(1)
def test_heads_that_do_not_divide_are_a_value_error(harness: Harness) -> None:
    """The model hands both numbers to its blocks, which refuse them."""
    for C, H in ((15, 4), (9, 2), (3, 7)):
        claims.constructor_raises(harness, "ValueError", embed_dim=C, num_heads=H)


test_output_keeps_shape_dtype_and_device = claims.keeps_shape_and_dtype
test_logits_match_the_formula = claims.matches_the_formula


@points(2)
def test_embedding_and_head_stay_tied(harness: Harness) -> None:
    """Also once a state was loaded: whoever sets the one has set the other."""
    tokens = harness.inputs()
    module = harness.module()
    before = module.call(tokens)
    after = module.renew().set({"embedding.weight": module.weights["embedding.weight"] * 2})
    calls = [before, after.call(tokens), after.renew().train().call(tokens)]
    harness.ask()
    for call in calls:
        expect_close(call.out, call.expected, "logits, once the embedding was set anew")


@points(2)
def test_what_is_tied_learns_from_both_ends(harness: Harness) -> None:
    """A token that is never read learns by the head alone, one that is read by both."""
    tokens = harness.inputs()["tokens"] % (harness.sizes.V - 1)
    grad_output = harness.draw.normal(*harness.sizes.shape("B T V"))
    call = harness.module().train().call({"tokens": tokens}, grad_output=grad_output)
    harness.ask()
    name = "embedding.weight"
    grad = expect_gradient(call.gradients[name], name)
    expect_close(grad, call.right_gradients[name], f"gradient of {name}", 1e-4)


@points(2)
def test_future_has_no_influence(harness: Harness) -> None:
    """What is still to come must not be known: else it is copied, and nothing is learned."""
    tokens, fresh = (harness.inputs()["tokens"] for _ in range(2))
    seen, V = harness.sizes.T // 2, harness.sizes.V
    later = torch.cat([tokens[:, :seen], (tokens + 1 + fresh % (V - 1))[:, seen:] % V], dim=1)
    first, second = harness.module().calls([{"tokens": tokens}, {"tokens": later}])
    harness.ask()
    expect_close(second.out[:, :seen], first.out[:, :seen], "logits before what changed")
    expect_differs(second.out[:, seen:], first.out[:, seen:], "the logits after what changed")


test_batch_items_are_independent = claims.batch_items_are_independent


@points(3)
def test_pieces_with_caches_agree_with_the_whole(harness: Harness) -> None:
    """Token by token, in chunks or at once: a position is judged alike, and teaches the same."""
    first, *others = harness.contract.sizes
    alone, long = first.replace(B=1), Sizes(B=1, C=6, H=2, V=5, L=2)
    ways = [(first, (1,) * 5), (first, (1, 5, 1)), *((each, (1, 2)) for each in others)]
    claims.parts_agree_with_the_whole(harness, [*ways, (alone, (9, 1, 7))])
    far = [(alone, (5, 1, 4)), (long, (130, 1, 126, 3))]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        claims.parts_agree_with_the_whole(harness, far, dtype, learns=False)


@points(2)
def test_caches_can_be_gone_on_from_twice(harness: Harness) -> None:
    """They belong to the caller: another call neither lengthens nor changes them."""
    claims.branches_agree(harness, 4, (2, 3), (2, 3), (1, 1, 1))


@points(1)
def test_caches_are_one_for_each_block(harness: Harness) -> None:
    """A list of what the blocks gave, in their order."""
    call = harness.module(harness.contract.sizes[2]).call(harness.inputs(harness.contract.sizes[2]))
    harness.ask()
    _, (_, caches) = call.out, call.result
    expect(isinstance(caches, list), f"caches: expected a list, got `{type(caches).__name__}`")
    count = call.module.sizes.L
    expect(len(caches) == count, f"caches: expected {count}, one a block, got {len(caches)}")


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
    """One label alone is judged: by the logits just before it, and by no others."""
    tokens = harness.of(loss).inputs()["tokens"]
    alone = torch.eye(harness.sizes.T, dtype=torch.bool)[1:, None]
    expect_losses(harness, tokens.where(alone, IGNORED), tokens)


@points(2)
def test_ignored_labels_do_not_count(harness: Harness) -> None:
    """Neither in the sum nor in what it is divided by; and nothing judged is no NaN."""
    tokens = harness.of(loss).inputs()["tokens"]
    kinds = (some_ignored, none_judged, one_judged, padded)
    shape, sizes = tuple(tokens.shape), harness.sizes
    expect_losses(harness, [kind(harness.draw, shape, sizes) for kind in kinds], tokens)


test_loss_has_the_right_gradients = of(loss, claims.parameter_gradients_are_right, worth=2)
test_loss_changes_no_input = of(loss, claims.changes_no_input)
test_loss_remembers_nothing = of(loss, claims.remembers_nothing)


@points(1)
def test_loss_computes_in_bfloat16(harness: Harness) -> None:
    """Of many labels as well, whose sum one more would not change."""
    of(loss, claims.computes_in_bfloat16)(harness)
    one = harness.of(loss)
    tokens = one.inputs(MANY)["tokens"]
    call = one.module(MANY).to(torch.bfloat16).call({"tokens": tokens, "labels": tokens})
    harness.ask()
    expect_close(call.out, call.expected, f"loss of {tokens.numel()} labels, in bfloat16")


@points(3)
def test_loss_falls_on_a_small_corpus(harness: Harness) -> None:
    """Forty steps down its own gradients, on words that always follow one another alike."""
    one, draw = harness.of(loss), harness.draw
    sizes = Sizes(B=4, T=9, C=12, H=2, V=7, L=1)
    follows = draw.order(sizes.V)
    rows = [torch.arange(sizes.B)]
    for _ in range(sizes.T - 1):
        rows.append(follows[rows[-1]])
    tokens = torch.stack(rows, dim=1)
    module, lost = one.module(sizes).train(), []
    speed = {name: torch.zeros_like(w) for name, w in module.weights.items()}
    size = {name: torch.zeros_like(w) for name, w in module.weights.items()}
    for step in range(1, STEPS + 1):
        call = module.call({"tokens": tokens, "labels": tokens}, grad_output=torch.tensor(1.0))
        harness.ask()
        moved = {}
        for name, weight in module.weights.items():
            grad = expect_gradient(call.gradients[name], name)
            speed[name] = MOMENT * speed[name] + (1 - MOMENT) * grad
            size[name] = 0.99 * size[name] + 0.01 * grad.square()
            mean, square = speed[name] / (1 - MOMENT**step), size[name] / (1 - 0.99**step)
            moved[name] = weight - RATE * mean / (square.sqrt() + 1e-8)
        module.set(moved)
        lost.append(float(call.out))
    last = min(lost[-LAST:])
    says = f"loss after {STEPS} steps: expected from 0 to {LEARNED}, got {last:.3g}"
    expect(0 <= last < LEARNED, says)


test_distribution_keeps_shape_dtype_and_device = of(distribution, claims.keeps_shape_and_dtype)
test_distribution_matches_its_formula = of(distribution, claims.matches_the_formula, worth=3)


def listed(how: dict[str, Any]) -> str:
    """Settings, as a call has them."""
    return ", ".join(f"{name}={value}" for name, value in how.items())


def expect_shares(harness: Harness, every: list[tuple[Tensor, dict[str, Any]]], what: str) -> None:
    """The distribution of these logits by these settings is right, with its gradient.

    It is exactly 0 where it is 0; what is kept is compared by its logarithm as well: who has little
    is there all the same.
    """
    calls = []
    for logits, how in every:
        sizes = Sizes(B=logits.size(0), T=logits.size(1), V=logits.size(1))
        one = harness.of(sampling(**how))
        grad_output = harness.draw.normal(*logits.shape).to(logits.dtype)
        given = {"logits": logits}
        calls.append((one.module(sizes).call(given, grad_output=grad_output), how))
    harness.ask()
    for call, how in calls:
        given = listed(how)
        expect_close(call.out, call.expected, f"{what} ({given})")
        left = int((call.out.cpu()[call.expected == 0] != 0).sum())
        expect(left == 0, f"{what} ({given}): {left} tokens that are not kept have more than 0")
        logs = (one.cpu()[call.expected > LITTLE].log() for one in (call.out, call.expected))
        expect_close(*logs, f"logarithms of {what} ({given})")
        grad = expect_gradient(call.gradients["logits"], "logits")
        rate = 0.1 if grad.dtype == torch.bfloat16 else 1e-4
        more = max(1.0, 1 / how.get("temperature", 1.0))  # what is left of terms that cancel
        right = call.right_gradients["logits"]
        expect_close(grad, right, f"gradient of logits ({given})", rate * more)


def uneven(draw: Draw, V: int) -> Tensor:
    """Logits of tokens no two of which are nearly alike, in any order, (2, V)."""
    steps = torch.stack([draw.permutation(V) for _ in range(2)])
    return steps * (0.3 + 0.01 * draw.integer(0, 9))


@points(2)
def test_temperature_divides_before_anything_is_left_out(harness: Harness) -> None:
    """Who is in the set of top-p depends on the temperature; top-k comes before top-p."""
    settings = (
        {"temperature": 3.0, "top_p": 0.5}, {"temperature": 0.3, "top_p": 0.9},
        {"top_k": 3, "top_p": 0.55}, {"top_k": 3, "top_p": 0.8}, {"temperature": 2.5, "top_k": 4},
        {"temperature": 2.0, "top_k": 5, "top_p": 0.62}, {"temperature": 0.03}, {"temperature": 90},
        {"temperature": 0.5, "top_k": 5, "top_p": 0.7}, {"top_k": 29}, {"top_k": 40, "top_p": 0.3},
    )  # fmt: skip
    every = [(uneven(harness.draw, V), how) for V in (9, 43) for how in settings]
    low = uneven(harness.draw, 9) - 30_000  # lower than what may stand for what is left out
    every += [(low, {"top_k": 3, "top_p": 0.55}), (low, {"temperature": 2.0, "top_k": 5})]
    expect_shares(harness, every, "probabilities")


@points(3)
def test_token_that_crosses_the_line_is_kept(harness: Harness) -> None:
    """For each token in its turn, p lies a little below and above what is reached with it."""
    logits = uneven(harness.draw, 7)[:1]
    sums = logits.softmax(-1).sort(descending=True).values[0].cumsum(0)
    every = [(logits, {"top_p": float(s) + by}) for s in sums[:-1] for by in (-0.004, 0.004)]
    expect_shares(harness, [*every, (logits, {"top_p": 0.0})], "probabilities")


@points(3)
def test_ties_are_kept_together(harness: Harness) -> None:
    """Whoever is as likely as the last that is kept is kept, wherever it stands."""
    every, dtypes = [], (torch.float32, torch.bfloat16, torch.float64)
    ranks = ((2, 1, 1, 0), (1, 1, 0, 0, 0), (3, 2, 2, 2, 1, 1), (0, 0, 0), (2, 2, -1))
    for turn, worth in enumerate((*ranks, (1,) * 2 + (0,) * 30 + (-4,) * 5)):
        orders = [harness.draw.permutation(len(worth)) for _ in range(1 + turn % 2)]
        logits = torch.stack([torch.tensor(worth)[order] for order in orders]).to(dtypes[turn % 3])
        every += [(logits, {"top_k": k}) for k in range(1, min(len(worth), 6) + 1)]
        every += [(logits, {"top_p": p}) for p in (0.0, 0.05, 0.37, 0.62, 0.82, 0.97)]
        every += [(logits, {"top_k": 2, "top_p": p}) for p in (0.2, 0.58, 0.71, 0.9)]
        every += [(logits, {"temperature": 0.7, "top_k": 1, "top_p": 0.4})]
        every += [(logits, {"temperature": small}) for small in (1e-2, 1e-4)]
    expect_shares(harness, every, "probabilities of tokens that are equally likely")


@points(2)
def test_temperature_of_zero_is_greedy(harness: Harness) -> None:
    """All the mass on one token: of several that are the most likely, on the first."""
    draw, calls = harness.draw, []
    tied = torch.tensor([[0.0, 2, 1, 2, 2], [1, 1, 1, 1, 1], [-3, -1, -2, -1, -4]])
    for zero, logits in (
        *((0.0, tied), (0, tied.double()), (0.0, tied.bfloat16())),
        (0, draw.normal(3, 41) * 900),
    ):
        sizes = Sizes(B=3, T=logits.size(1), V=logits.size(1))
        for how in ({}, {"top_k": 2}, {"top_p": 0.1}, {"top_k": 3, "top_p": 0.9}):
            how = {"temperature": zero, **how}
            given = replace(plain, arguments=lambda sizes, how=how: how)
            calls.append(harness.of(given).module(sizes).call({"logits": logits}))
    harness.ask()
    for call in calls:
        given, claimed = call.inputs["logits"], "probabilities at temperature 0"
        call.expect_form(call.out, given.dtype, claimed)
        logits = given.double().cpu()
        first = (logits == logits.amax(-1, keepdim=True)).double().cumsum(-1).cumsum(-1) == 1
        expect_close(call.out, first.double(), claimed)
        expect(bool((call.out.cpu().double() == first.double()).all()), f"{claimed}: not exactly 1")


test_distribution_passes_gradients_on = of(distribution, claims.input_gradient_is_right)
test_distribution_changes_no_input = of(distribution, claims.changes_no_input)
test_distribution_remembers_nothing = of(distribution, claims.remembers_nothing)
test_distribution_computes_in_float64 = of(distribution, claims.computes_in_float64)


@points(1)
def test_distribution_is_computed_in_float32_for_bfloat16(harness: Harness) -> None:
    """Many tokens of nearly nothing each: added up in bfloat16 they would never reach the line."""
    every = ({"top_p": 0.9}, {"top_p": 0.5, "temperature": 3.0}, {"temperature": 0.3})
    calls = []
    for how in (*every, {"top_p": 0.7}, {"top_p": 0.3, "temperature": 2.0}):
        logits = (harness.draw.permutation(997) / 150)[None].bfloat16().expand(2, -1).contiguous()
        module = harness.of(sampling(**how)).module(Sizes(B=2, T=997, V=997))
        calls.append((module.call({"logits": logits}), logits, how))
    harness.ask()
    for call, logits, how in calls:
        shares, (right, sums) = call.out.double().cpu(), share_out(logits.double().cpu(), **how)
        clear = (sums - how.get("top_p", -1.0)).abs() > LINE
        wrong = int((((shares > 0) != (right > 0)) & clear).sum(-1).max())
        expect(wrong == 0, f"{wrong} of 997 tokens are kept, or left out, wrongly ({listed(how)})")
        gap = (shares - right).abs() <= 0.01 * right + 1e-9
        expect(bool(gap[(right > 0) & (shares > 0)].all()), "probabilities have lost digits")


@points(1)
def test_distribution_is_pinned_to_no_device(harness: Harness) -> None:
    """Settings are numbers: nothing of them has to lie anywhere."""
    for how in SETTINGS.values():
        claims.is_pinned_to_no_device(harness.of(sampling(**how)))


def said(call: Call, count: int) -> Tensor:
    """What was generated, after it was seen to begin with what was given, (B, T + count)."""
    tokens = call.inputs["tokens"]
    shape = (tokens.size(0), tokens.size(1) + count)
    found = expect_tensor(call.result, shape, "generated", "(B, T + num_tokens)")
    name = str(found.dtype).removeprefix("torch.")
    expect(found.dtype == torch.int64, f"generated: expected int64, got {name}")
    kept = torch.equal(found[:, : tokens.size(1)].cpu(), tokens.cpu())
    expect(kept, "generated: it does not begin with the tokens that were given")
    inside = bool(((found >= 0) & (found < call.module.sizes.V)).all())
    expect(inside, "generated: there are numbers that are no tokens")
    return found.cpu()


def expect_most_likely(call: Call, count: int, tie: float = TIE) -> None:
    """Each token that was added is the most likely one after all before it."""
    found, start = said(call, count), call.inputs["tokens"].size(1)
    if not count:
        return
    logits = judge(call.right_weights, call.module.sizes, found)[:, start - 1 : -1]
    chosen = logits.gather(-1, found[:, start:, None])[..., 0]
    gap = (logits.amax(-1) - chosen) / logits.abs().amax().clamp(min=1)
    wrong = int((gap > tie).sum())
    expect(wrong == 0, f"{wrong} of {gap.numel()} added tokens are not the most likely")


def lively(one: Harness, sizes: Sizes) -> Weights:
    """Weights by which what came before has more to say than the token itself."""
    loud = ("o_proj.weight", "down_proj.weight")
    return {n: w * (LOUD if n.endswith(loud) else 1) for n, w in one.weights(sizes).items()}


@points(3)
def test_greedy_takes_the_most_likely(harness: Harness) -> None:
    """One token after another, each judged with all that was added before it."""
    one, planned, first = harness.of(generation), [], harness.sizes
    for turn, (sizes, count) in enumerate((
        *((sizes, 6) for sizes in harness.contract.sizes),
        (first.replace(B=6, T=1), 90),  # of several, some do not run in circles
        (harness.contract.sizes[2].replace(B=3, T=1), 12),
        (first.replace(B=5, T=1), 1),
        (first, 0),
        (Sizes(B=2, T=3, C=12, H=2, V=23, L=1), 40),
        (Sizes(B=1, T=LONG, C=6, H=2, V=7, L=2), 4),
    )):  # fmt: skip
        given = {**one.inputs(sizes), "num_tokens": count, **SURE[turn % len(SURE)]}
        module = one.module(sizes, lively(one, sizes)).train(turn % 3 == 0)
        planned.append((module.call(given), count))
    harness.ask()
    for call, count in planned:
        expect_most_likely(call, count)


@points(1)
def test_generates_in_every_dtype(harness: Harness) -> None:
    """Models run in bfloat16, and are debugged in float64, where what is nearly equal is not."""
    one, calls = harness.of(generation), []
    for dtype, tie in ((torch.float64, 1e-11), (torch.bfloat16, 0.1)):
        weights = {name: w.double() for name, w in lively(one, one.sizes).items()}
        rows = weights["embedding.weight"]
        rows[1::2] = rows[:-1:2] * (1 + 1e-8)  # the same in float32
        module = one.module(None, {name: w.to(dtype) for name, w in weights.items()}).to(dtype)
        given = {**one.inputs(), "num_tokens": 5}
        for how in ({}, {"temperature": 1.0, "top_k": 1}):
            calls.append((module.call({**given, **how}), tie))
    harness.ask()
    for call, tie in calls:
        expect_most_likely(call, 5, tie)


@points(2)
def test_generation_remembers_nothing(harness: Harness) -> None:
    """Another prompt, however it lies, other weights, the same again: each call begins anew."""
    one, calls = harness.of(generation), []
    sizes = harness.sizes.replace(B=7)
    shape, module = sizes.shape("B T"), one.module(None, lively(one, sizes))
    prompts = [draw(harness.draw, shape, sizes) for draw in (spoken, transposed, apart)]
    for number in (0, 1, 2, 0):
        calls.append(module.call({"tokens": prompts[number], "num_tokens": 5}))
    module.set(lively(one, sizes))
    calls += [module.call({"tokens": prompts[number], "num_tokens": 5}) for number in (0, 1)]
    harness.ask()
    for call in calls:
        expect_most_likely(call, 5)


@points(2)
def test_each_step_feeds_its_new_token_alone(harness: Harness) -> None:
    """With caches, as much is made as by reading the tokens once, then one at a time."""
    one, planned = harness.of(generation), []
    for T, count in ((61, 2), (2, 6)):
        sizes = Sizes(B=2, T=T + count - 1, C=24, H=2, V=5, L=2)
        module, inputs = harness.module(sizes), harness.inputs(sizes)
        once = claims.in_parts(module, inputs, (T, *(1,) * (count - 1)), counted=True)
        how = {"tokens": inputs["tokens"][:, :T], "num_tokens": count}
        generated = one.module(sizes, module.weights).call(how, counted=True)
        planned.append((once, generated, count))
    harness.ask()
    for once, generated, count in planned:
        said(generated, count)
        sizes = once[0].sizes
        least = sum(part.made for part in once) + 30 * count * sizes.B * sizes.V
        expect(
            generated.made < ONCE_MORE * least,
            f"{count} tokens after {sizes.T} take {generated.made / least:.2f} times what reading "
            "each token once does; expected that a step feeds its new token alone, and the caches",
        )


@points(1)
def test_generation_keeps_no_gradient_and_no_mode(harness: Harness) -> None:
    """A graph of all steps would fill the memory; who was training goes on training."""
    one, calls = harness.of(generation), []
    given = {**one.inputs(), "num_tokens": 4}
    for mode in (False, True):
        for how in ({}, {"temperature": 0.8, "top_p": 0.9}):
            for counted in (True, False):  # with gradients switched on before, and off
                module = one.module().train(mode)
                calls.append(module.call({**given, **how}, counted=counted, detect_inplace=True))
    harness.ask()
    for call in calls:
        said(call, 4)
        expect(not call.left, "".join(call.left[:1]))
        expect(not call.changed, "the tokens were changed in place by the call")
        expect(not call.saved, f"{call.saved} tensors were kept for a backward; expected none")


def expect_chance(off: Tensor, variance: Tensor, what: str) -> None:
    """Fail the check where chance alone leads nowhere so far off, by Freedman's inequality."""
    most = (2 * variance * TAIL).sqrt() + TAIL
    worst = int((off.abs() / most).argmax())
    by, allowed = float(off.flatten()[worst]), float(most.flatten()[worst])
    expect(abs(by) <= allowed, f"{what}: chance allows {allowed:.0f}, it is off by {by:.0f}")


def expect_drawn(call: Call, how: dict[str, Any]) -> None:
    """Each token came as often as it should after those before it, whatever came beside it."""
    found, sizes = said(call, FAR), call.module.sizes
    B, V, T = sizes.B, sizes.V, sizes.T
    given = f"drawn with {listed(how)}"
    logits = judge(call.right_weights, sizes, found)[:, T - 1 : -1].flatten(0, 1)
    shares, sums = share_out(logits, **how)
    clear = (sums - how.get("top_p", -1.0)).abs().amin(-1) > CLEAR
    if k := how.get("top_k"):
        ranked = logits.sort(-1, descending=True).values
        clear &= ranked[:, k - 1] - ranked[:, k] > CLEAR
    shares = shares * clear[:, None]
    drawn = F.one_hot(found[:, T:].flatten(), V) * clear[:, None]
    kept = bool((drawn <= shares.ceil()).all())
    expect(kept, f"{given}: a token was added whose probability is 0")
    mean, last = shares.square().sum(-1), found[:, T - 1 : -1].flatten()
    came = (drawn * shares).sum(-1) - mean
    expect_chance(came.sum(), (shares.pow(3).sum(-1) - mean.square()).sum(), f"likeliness, {given}")
    for token in range(V):
        off, spread = (drawn - shares)[last == token], (shares * (1 - shares))[last == token]
        expect_chance(off.sum(0), spread.sum(0), f"counts of each token after {token}, {given}")
    for by in (1, B // 2):  # every other one of these pairs has nothing to do with the rest
        alike, mean = (
            (one * one.roll(by, 0)).sum(-1).view(-1, 2 * by, FAR)[:, :by]
            for one in (drawn.view(B, FAR, V), shares.view(B, FAR, V))
        )
        spread = (mean * (1 - mean)).sum()
        expect_chance((alike - mean).sum(), spread, f"equal tokens {by} sequences apart, {given}")


@points(3)
def test_tokens_are_drawn_by_the_distribution(harness: Harness) -> None:
    """Each token as often as it should, however far, each sequence on its own."""
    one, sizes, calls = harness.of(generation), Sizes(B=ROWS, T=2, C=6, H=2, V=7, L=1), []
    for number, how in enumerate(DRAWN):
        given = {**one.inputs(sizes), "num_tokens": FAR, **how}
        if number % 2:
            given["generator"] = torch.Generator().manual_seed(harness.draw.integer(0, 2**31))
        module = one.module(sizes, lively(one, sizes)).train(number > 1)
        calls.append(module.call(given, seed=harness.draw.integer(0, 2**31)))
    harness.ask()
    for call, how in zip(calls, DRAWN, strict=True):
        expect_drawn(call, how)


@points(2)
def test_generator_is_what_all_is_drawn_from(harness: Harness) -> None:
    """The same generator gives the same tokens, whatever torch's own stands at; another others."""
    one, planned, draw = harness.of(generation), [], harness.draw
    by_place = replace(
        generation, inputs={n: replace(x, by_keyword=False) for n, x in generation.inputs.items()}
    )
    for B, dtype, how in (
        (2, torch.float32, {}), (1, torch.bfloat16, {"top_k": 9}),
        (3, torch.float64, {"top_k": 9, "top_p": 0.95}),
    ):  # fmt: skip
        sizes = harness.sizes.replace(B=B)
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
        by, by_then, first, then, again, by_same, other, by_other, by_place_alike = (
            said(call, 10) for call in calls
        )
        same = "the same generator: expected the same tokens, got others"
        expect(torch.equal(by, by_same) and torch.equal(by, by_place_alike), same)
        expect(torch.equal(first, again), "torch's own generator, seeded alike: got other tokens")
        for tokens, others, what in (
            (by, by_other, "another generator"),
            (by, by_then, "the same generator, a second time"),
            (first, other, "torch's own generator, seeded otherwise"),
            (first, then, "torch's own generator, a second time"),
            (first[:1], first[1:2], "another sequence"),
        ):
            says = f"{what}: expected other tokens, got the same"
            expect(not torch.equal(tokens, others), says)


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
    """Forward, loss and generation make what they need where the tokens are."""
    claims.is_pinned_to_no_device(harness)
    claims.is_pinned_to_no_device(harness.of(loss))
    one = harness.of(generation)
    greedy = {**one.inputs(), "num_tokens": 3}
    claims.expect_on_any_device(one, [greedy, {**greedy, "temperature": 0.9, "top_p": 0.8}])
