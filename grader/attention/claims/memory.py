"""Claims about cross-attention: ``x`` attends to ``memory``, where ``memory_mask`` marks padding.

The shapes are (B, T, C), (B, S, E) and (B, S); nonzero = a real token. A sequence whose memory is
nothing but padding gives zeros.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grader.attention.situations.masks import cancelling_numbers
from grader.suite.compare import (
    expect,
    expect_close,
    expect_differs,
    expect_finite,
    expect_gradient,
    expect_tensor,
)
from grader.suite.harness import Harness
from grader.suite.marks import needs, points

INPUT_NAMES = ("x", "memory", "memory_mask")
LOUD = 1e6  # far above the numbers in a token, so that even a millionth of it shows
LARGE = 3000  # times x: with padding that is loud, scores of some 1e10
LONG_S = 257
TINY = 1e-60  # is 0 in every dtype but float64


@points(2)
@needs(inputs=INPUT_NAMES)
def padding_has_no_influence(harness: Harness) -> None:
    """Each sequence has its own padding, and what it holds changes nothing.

    Example:
        test_padding_has_no_influence = attention.padding_has_no_influence
    """
    every = harness.every_input()[-1]
    hidden = every["memory_mask"] == 0
    loud = [every["memory"].clone() for _ in range(3)]
    for memory, number in zip(loud, (0.0, LOUD, -LOUD), strict=True):
        memory[hidden] = number
    signs = every["memory"].clone()
    signs[hidden] = signs[hidden].sign() * LOUD
    memories = (every["memory"], *loud, signs)
    module = harness.module()
    pairs = [
        module.calls([{**every, "x": every["x"] * size, "memory": one} for one in memories])
        for size in (1, LARGE)
    ]
    harness.ask()
    for first, *others in pairs:
        for other in others:
            expect_close(other.out, first.out, "output for other numbers in the padding")


@points(2)
@needs(inputs=INPUT_NAMES)
def padding_gets_no_gradient(harness: Harness) -> None:
    """Not even a small gradient: none at all.

    Example:
        test_padding_gets_no_gradient = attention.padding_gets_no_gradient
    """
    every = harness.every_input()[-1]
    hidden = every["memory_mask"] == 0
    loud = every["memory"].clone()
    loud[hidden] *= 100
    grad_output = harness.draw.normal(*harness.sizes.shape("B T C"))
    calls = [
        harness.module().call({**every, "memory": memory}, grad_output=grad_output)
        for memory in (every["memory"], loud)
    ]
    harness.ask()
    for call in calls:
        grad = expect_gradient(call.gradients["memory"], "memory").cpu()
        worst = float(grad[hidden.cpu()].abs().max())
        expect(worst == 0, f"gradient of hidden positions of memory: expected 0, got {worst:.4g}")
        expect_differs(grad, grad * 0, "the gradient of the other positions")


def _with_an_empty_memory(harness: Harness) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return inputs whose middle sequence has only padding, and the same ones without it."""
    sizes = harness.sizes.replace(B=3)
    whole = {**harness.inputs(sizes), "memory_mask": harness.input("memory_mask", sizes)}
    whole["memory_mask"][1] = False
    return whole, {name: value[[0, 2]] for name, value in whole.items()}


@points(2)
@needs(inputs=INPUT_NAMES)
def nothing_to_read_gives_zeros(harness: Harness) -> None:
    """Exact zeros, not a mean of the padding or NaN; other sequences are as without this one.

    Example:
        test_nothing_to_read_gives_zeros = attention.nothing_to_read_gives_zeros
    """
    module, (whole, rest) = harness.module(), _with_an_empty_memory(harness)
    none = {**rest, "memory_mask": rest["memory_mask"] & False}
    calls = module.calls([whole, rest, none, {n: value[:1] for n, value in none.items()}])
    trained = module.train().call(whole)
    harness.ask()
    both, alone, *nothing = calls
    parts = [both.out[1], trained.out[1], *(call.out for call in nothing)]
    for out in parts:
        expect_finite(out, "output of a sequence whose keys are all hidden")
        largest = float(out.abs().max())
        expect(largest == 0, f"a sequence whose keys are all hidden: expected 0, got {largest:.4g}")
    expect_close(both.out[[0, 2]], alone.out, "output of the other sequences")
    expect_differs(alone.out, alone.out * 0, "the output of the other sequences")


@points(2)
@needs(inputs=INPUT_NAMES)
def nothing_to_read_gives_no_gradient(harness: Harness) -> None:
    """Nothing in that sequence learns; what all sequences share learns from the others alone.

    Example:
        test_nothing_to_read_gives_no_gradient = attention.nothing_to_read_gives_no_gradient
    """
    module, (whole, rest) = harness.module(), _with_an_empty_memory(harness)
    grad_output = harness.draw.normal(*harness.sizes.replace(B=3).shape("B T C"))
    both = module.call(whole, grad_output=grad_output)
    alone = module.call(rest, grad_output=grad_output[[0, 2]])
    none = {**whole, "memory_mask": whole["memory_mask"] & False}
    nothing = module.train().call(none, grad_output=grad_output)
    harness.ask()
    for name, grad in alone.gradients.items():
        found = expect_gradient(both.gradients[name], name)
        left = expect_gradient(nothing.gradients[name], name)
        expect_finite(found, f"gradient of {name}, where all keys of one sequence are hidden")
        expect(not bool(left.any()), f"gradient of {name}: expected 0, where all keys are hidden")
        if name in harness.contract.inputs:
            expect(not bool(found[1].any()), f"gradient of {name}: expected 0 where all is hidden")
            found = found[[0, 2]]
        right = expect_gradient(grad, name)
        expect_close(found, right, f"gradient of {name}, beside a sequence of hidden keys", 1e-4)


@points(1)
@needs(inputs=INPUT_NAMES)
def memory_mask_means_the_same_in_every_form(harness: Harness) -> None:
    """Nonzero means a real token, whatever the dtype and size; zero means padding.

    Example:
        test_mask_in_every_form = attention.memory_mask_means_the_same_in_every_form
    """
    every = harness.every_input()[-1]
    mask = every["memory_mask"].cpu()
    forms = harness.contract.inputs["memory_mask"].forms.values()
    written = [write(harness.draw, mask) for _ in range(3) for write in forms]
    written += [mask.double() * TINY, mask.double() * cancelling_numbers(mask)]
    masks = [mask, *written]
    planned = []
    for dtype in (torch.float32, torch.bfloat16):
        given = {"x": every["x"].to(dtype), "memory": every["memory"].to(dtype)}
        module = harness.module().to(dtype)
        planned.append(module.calls([{**given, "memory_mask": one} for one in masks]))
    harness.ask()
    for first, *others in planned:
        for other, one in zip(others, written, strict=True):
            form = str(one.dtype).removeprefix("torch.")
            expect_close(other.out, first.out, f"output under the same mask as {form}")


@points(1)
@needs(inputs=INPUT_NAMES)
def no_memory_mask_hides_nothing(harness: Harness) -> None:
    """None, by position or by name, means the same as leaving it out and as all ones.

    Example:
        test_no_memory_mask_hides_nothing = attention.no_memory_mask_hides_nothing
    """
    module, inputs = harness.module(), harness.inputs()
    ones = torch.ones(harness.sizes.shape("B S"))
    left_out = module.call(inputs)
    given = [
        module.call({**inputs, "memory_mask": ones}, by_keyword=names)
        for names in ((), ("memory_mask",))
    ]
    x, memory = inputs.values()
    nones = module.batch.call(
        module.made or harness.contract.entry,
        [((x, memory, None), {}), ((x, memory), {"memory_mask": None})],
    )
    named = module.call(harness.every_input()[-1], by_keyword=("x", "memory", "memory_mask"))
    harness.ask()
    for call in given:
        expect_close(call.out, left_out.out, "output under a mask of ones")
    for place in range(2):
        out, shape = nones.result(place), tuple(left_out.out.shape)
        got = expect_tensor(out, shape, "output for None as the mask", "(B, T, C)")
        expect_close(got, left_out.out, "output for None as the mask")
    expect_close(named.out, named.expected, "output with all inputs given by name")


@points(1)
@needs(inputs=INPUT_NAMES)
def order_of_the_memory_means_nothing(harness: Harness) -> None:
    """Keys reordered together with their mask are the same keys.

    Example:
        test_order_of_the_memory_means_nothing = attention.order_of_the_memory_means_nothing
    """
    order = harness.draw.order(harness.sizes.S)
    calls = []
    for inputs in harness.every_input():
        moved = {n: inputs[n].index_select(1, order) for n in inputs if n != "x"}
        calls.append(harness.module().calls([inputs, {**inputs, **moved}]))
    harness.ask()
    plain = calls[0][0].out  # a mask may leave one key to all queries
    expect_differs(plain[:, 1:], plain[:, :-1], "the outputs of different queries")
    for before, after in calls:
        expect_close(after.out, before.out, "output for a memory in another order")


@points(1)
@needs(inputs=INPUT_NAMES)
def memory_mask_is_not_remembered(harness: Harness) -> None:
    """Neither by object nor by address: the same tensor may be refilled.

    Example:
        test_memory_mask_is_not_remembered = attention.memory_mask_is_not_remembered
    """
    module, every = harness.module(), harness.every_input()[-1]
    other = {**every, "memory_mask": every["memory_mask"].roll(1, -1)}
    plain = {name: value for name, value in every.items() if name != "memory_mask"}
    calls = module.calls([every, other, plain, every])
    refilled = module.calls([other, every], refill_inputs=True)
    harness.ask()
    for call in (*calls, refilled[1]):
        expect_close(call.out, call.expected, "output after a call with another mask")


@points(1)
@needs(inputs=INPUT_NAMES)
def memory_may_have_any_length(harness: Harness) -> None:
    """One token may be all there is; a memory repeated many times counts once.

    Example:
        test_memory_may_have_any_length = attention.memory_may_have_any_length
    """
    lone = harness.sizes.replace(S=1)
    one = harness.module().call(harness.inputs(lone))
    said = []
    for S, times in ((harness.sizes.S, 19), (1, LONG_S)):
        for inputs in harness.every_input(harness.sizes.replace(S=S)):
            often = {n: torch.cat([inputs[n]] * times, dim=1) for n in inputs if n != "x"}
            said.append(harness.module().calls([inputs, {**inputs, **often}]))
    harness.ask()
    expect_close(one.out, one.expected, "output for a memory of one token")
    for once, many in said:
        expect_close(many.out, once.out, f"output for a memory of {many.sizes.S} tokens")
