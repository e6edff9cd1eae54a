"""Claims about what a call hands on to the next: a cache of the tokens seen so far.

Outputs of a contract that are inputs as well are handed on. A sequence is cut into parts along T;
the call of each part takes what the call before it handed on, which never leaves the worker. The
outputs and gradients are compared with those of the float64 oracle for the whole sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial

import torch
from torch import Tensor

from grader.suite.calls import PlannedCall
from grader.suite.claims.parts import Tensors, cut_along, in_parts, in_turns, join_along_tokens
from grader.suite.claims.robustness import cast
from grader.suite.compare import (
    CheckFailed,
    expect,
    expect_close,
    expect_integers,
)
from grader.suite.harness import Harness
from grader.suite.sizes import Sizes

GRADIENT_TOLERANCE = 1e-4  # these are longer sums than outputs, added up in another order
FLOAT64_TOLERANCE = 1e-10  # of values for which no constant is rounded
MAX_ERROR_FACTOR = 30  # on our own error in the same dtype, for another order of operations
DTYPES = (torch.float32, torch.float64, torch.bfloat16)
MAX_KEPT_FACTOR = 2  # on the bytes of what is handed on, for those that it may keep alive


def parts_agree_with_the_whole(
    harness: Harness,
    every: Sequence[tuple[Sizes, Sequence[int]]],
    dtype: torch.dtype = torch.float32,
    learns: bool = True,
) -> None:
    """Fail the check unless a sequence in parts gives the outputs and gradients of the whole.

    Args:
        harness: Plans the calls.
        every: Sizes, each with the lengths of the parts, in order; T is set to their sum.
        dtype: Dtype of the module and of the float inputs.
        learns: Whether gradients of the parameters are compared too, in training mode.

    Example:
        def test_pieces_agree_with_the_whole(harness: Harness) -> None:
            'Token by token or in chunks: each position has the same output.'
            every = [(harness.sizes, (1, 1, 1)), (harness.sizes, (2, 3))]
            claims.parts_agree_with_the_whole(harness, every)
    """
    planned = []
    for sizes, lengths in every:
        sizes = sizes.replace(T=sum(lengths))
        inputs = cast(harness.inputs(sizes), dtype)
        module = (harness.in_training(sizes) if learns else harness.module(sizes)).to(dtype)
        shape = sizes.shape(harness.contract.out_shape)
        grad_output = harness.draw.normal(*shape).to(dtype) if learns else None
        whole = module.call(inputs, grad_output=grad_output)
        planned.append((lengths, whole, in_parts(module, inputs, lengths, grad_output)))
    harness.ask_for(whole for _, whole, _ in planned)
    for lengths, whole, parts in planned:
        given = f"in parts of {_listed(lengths)} tokens{_dtype_suffix(dtype)}"
        _expect_the_same(whole, parts, dtype, given)
        if learns and dtype != torch.bfloat16:  # in bfloat16 each part of these sums is rounded
            _expect_the_same_gradients(whole, parts, dtype, given)


def _expect_near(
    got: Tensor, right: Tensor, what: str, tolerance: float | None, rounded: Callable[[], Tensor]
) -> None:
    """Fail if a value is off by more than its tolerance and ``MAX_ERROR_FACTOR`` times our error.

    Our error is that of ``rounded``, which computes the right value in the dtype that is tried.
    """
    try:
        expect_close(got, right, what, tolerance)
    except CheckFailed:
        off = float((rounded().double() - right).abs().max()) / max(1.0, float(right.abs().max()))
        expect_close(got, right, what, MAX_ERROR_FACTOR * off)


def _expect_the_same_gradients(
    whole: PlannedCall, parts: Sequence[PlannedCall], dtype: torch.dtype, given: str
) -> None:
    """Fail the check unless the parts' gradients of each parameter add up to the right one."""
    rounded = cache(lambda: whole.compute_right_gradients(dtype))
    for name in whole.weights:
        right = whole.right_gradients[name]
        found = [part.gradients[name] for part in parts]
        total = torch.stack([one for one in found if one is not None] or [right * 0]).sum(0)
        what = f"gradient of {name} {given}"
        _expect_near(total, right, what, GRADIENT_TOLERANCE, partial(_computed, rounded, name))


def branches_agree(harness: Harness, first: int, *others: Sequence[int]) -> None:
    """Fail the check unless several sequences can go on from one cache, each as if alone.

    Args:
        harness: Plans the calls.
        first: Number of tokens that the sequences have in common, at least 2.
        others: For each sequence, the lengths of its further parts; the sequences take turns.

    Example:
        def test_cache_can_be_gone_on_from_twice(harness: Harness) -> None:
            'It belongs to the caller: a call must not change it.'
            claims.branches_agree(harness, 3, (1, 2), (3,))
    """
    module, sizes = harness.module(), harness.sizes.replace(T=first)
    start = harness.inputs(sizes)
    # In two parts, as a cache that has grown may have spare room, which sequences must not share.
    *_, before = in_parts(module, start, (1, first - 1))
    every = [harness.inputs(sizes.replace(T=sum(lengths))) for lengths in others]
    wholes = module.calls(
        [
            {name: join_along_tokens(module, name, start[name], more[name]) for name in start}
            for more in every
        ]
    )
    each = in_turns(module, every, others, before)
    harness.ask_for(wholes)
    for place, (lengths, whole, calls) in enumerate(zip(others, wholes, each, strict=True), 1):
        given = f"where call {place} continues from one cache, {_listed(lengths)} tokens"
        _expect_the_same(whole, calls, torch.float32, given, first)


def conversations_are_apart(harness: Harness, *others: Sequence[int]) -> None:
    """Fail the check if the module itself keeps state: sequences in turns must not interfere.

    Args:
        harness: Plans the calls.
        others: For each sequence, the lengths of its parts. In a turn, each sequence that has
            begun is passed one part further; each begins a turn after the one before it. When all
            are through, each is passed once more as a whole.
    """
    module, sizes = harness.module(), harness.sizes
    every = [harness.inputs(sizes.replace(T=sum(lengths))) for lengths in others]
    each = in_turns(module, every, others, later=1)
    wholes = module.calls(every)
    harness.ask_for(wholes)
    for lengths, whole, calls in zip(others, wholes, each, strict=True):
        given = f"in parts of {_listed(lengths)} tokens, alternating with another sequence"
        _expect_the_same(whole, calls, torch.float32, given)
        _expect_the_same(whole, [whole], torch.float32, "at once, after others in parts")


def keeps_no_more_alive(harness: Harness, every: Sequence[tuple[Sizes, Sequence[int]]]) -> None:
    """Fail if what is handed on keeps more than ``MAX_KEPT_FACTOR`` times its own bytes alive.

    A view of a tensor keeps all of it alive. Measured without gradients, since a graph keeps what
    it needs.

    Args:
        harness: Plans the calls.
        every: Sizes, each with the lengths of the parts to call with, in evaluation and in
            training; the dtypes take turns.
    """
    planned: list[PlannedCall] = []
    for turn, ((sizes, lengths), mode) in enumerate(itertools.product(every, (False, True))):
        dtype = DTYPES[turn % len(DTYPES)]
        inputs = cast(harness.inputs(sizes.replace(T=sum(lengths))), dtype)
        module = harness.module(sizes, **harness.contract.deterministic).train(mode).to(dtype)
        planned += in_parts(module, inputs, lengths, report_storage=True)
    harness.ask()
    for call in planned:
        handed = [call.every_part[name] for name in call.contract.carried]
        held = sum(one.numel() * one.element_size() for one in handed)
        behind = sum(call.bytes_kept_alive(one) for one in handed)
        names = " and ".join(call.contract.carried)
        expect(
            behind <= MAX_KEPT_FACTOR * held,
            f"{names} hold {held} bytes and keep {behind} alive ({call.sizes}): a slice of "
            "a tensor keeps all of it",
        )


def _expect_the_same(
    whole: PlannedCall,
    parts: Sequence[PlannedCall],
    dtype: torch.dtype,
    given: str,
    skipped: int = 0,
) -> None:
    """Fail the check unless the parts' joined outputs, and what the last hands on, are right."""
    rounded = cache(lambda: whole.compute_right_outputs(dtype))
    is_exact = dtype == torch.float64 and whole.contract.is_exact(whole.sizes)
    tolerance = FLOAT64_TOLERANCE if is_exact else None
    for name, axis in whole.along("T").items():
        if name in whole.contract.carried:
            continue
        cut = partial(cut_along, axis=axis, start=skipped, end=None)
        for part in parts:
            part.expect_form(part.outs[name], dtype, f"{name} {given}")
        got = torch.cat([part.outs[name] for part in parts], dim=axis)
        ours = partial(_computed, rounded, name, cut)
        _expect_near(got, cut(whole.right_outputs[name]), f"{name} {given}", tolerance, ours)
    for name in whole.contract.carried:
        if name in whole.contract.compared:
            parts[-1].expect_form(parts[-1].outs[name], dtype, f"{name} {given}")
            last, what = parts[-1].outs[name], f"{name} at the end, {given}"
            _expect_near(
                last, whole.right_outputs[name], what, tolerance, partial(_computed, rounded, name)
            )
    for name, got in parts[-1].counts.items():
        expect_integers(got, whole.all_right_outputs[name], f"{name} at the end, {given}")


def _computed(
    every: Callable[[], Tensors], name: str, cut: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Return the tensor ``every()[name]``; if ``cut`` is given, what it cuts out of that."""
    found = every()[name]
    return found if cut is None else cut(found)


def _listed(lengths: Sequence[int]) -> str:
    return ", ".join(map(str, lengths))


def _dtype_suffix(dtype: torch.dtype) -> str:
    return "" if dtype == torch.float32 else f", in {str(dtype).removeprefix('torch.')}"
