"""Attention maps of a submission, beside the right ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from grader.records import AttentionMap
from grader.suite.calls import PlannedCall
from grader.suite.harness import Harness
from grader.suite.oracle import exact

MAX_MAP_T = 16  # of a learner's own input; with more positions, no map is shown
T = 6  # positions: enough to see a pattern, few enough for a terminal
DEPENDENCE_TOLERANCE = 1e-9  # of R's largest diagonal entry in QR; less means dependent rows


def recover_attention(call: PlannedCall, *outs: Tensor) -> list[Tensor]:
    """Recover the attention weights behind outputs of a call: how the value vectors were mixed.

    The value vectors are known and, as long as there are no more of them than features, linearly
    independent, so only one mixture gives such an output.

    Returns:
        The weights behind each output, (B, T, H, T), float64, on the CPU.
    """
    added, back = unmixing(call)
    flat = [(exact(out).double() - added) @ back for out in outs]
    heads, length = call.sizes.get("H", 1), call.sizes.T
    return [one.reshape(*one.shape[:-1], heads, length) for one in flat]


def unmixing(call: PlannedCall) -> tuple[Tensor | float, Tensor]:
    """Return what it takes to recover attention weights from an output of a call; cached.

    Returns:
        What is added to the mixture of value vectors, and the right inverse of the matrix of value
        vectors: the weights are ``(output - added) @ inverse``.
    """
    found: tuple[Tensor | float, Tensor] = call.compute_once("unmixing", lambda: _unmixing(call))
    return found


def _unmixing(call: PlannedCall) -> tuple[Tensor | float, Tensor]:
    contract: Any = call.contract
    mixed, added = contract.value_vectors(call.right_weights, call.sizes, exact(call.tensors["x"]))
    return added, _right_inverse(mixed)


def _right_inverse(vectors: Tensor) -> Tensor:
    """Return the right inverse of (…, T, C), or the pseudoinverse where rows are dependent.

    Rows at the beginning that are zero everywhere get zeros: they mix nothing into an output.
    """
    found: Tensor
    stands = vectors.any(-1).flatten(0, -2).any(0)
    first = int(stands.int().argmax())
    if first > 0:
        return pad(_right_inverse(vectors[..., first:, :]), (first, 0))
    if vectors.size(-2) <= vectors.size(-1):
        q, r = torch.linalg.qr(vectors.mT)
        left = r.diagonal(dim1=-2, dim2=-1).abs()
        if bool((left > DEPENDENCE_TOLERANCE * left.amax(-1, keepdim=True)).all()):
            found = torch.linalg.solve_triangular(r, q.mT, upper=True).mT
            return found
    found = torch.linalg.pinv(vectors)
    return found


def attention_maps(harness: Harness) -> list[AttentionMap]:
    """Return each head's attention map (its weights) for one random sequence.

    There is one without a mask and, if the contract has masks, one under a causal mask. The maps
    are recovered from outside: the value vectors are known, so the output reveals the weights that
    they were mixed with.

    Raises:
        SubmissionError: The submission raised an exception.
        CheckFailed: The submission's output has the wrong shape.
    """
    contract: Any = harness.contract
    if contract.value_vectors is None:
        return [] if contract.inner is None else attention_maps(harness.of(contract.inner))
    heads = {"H": 2} if any(sizes.get("H", 1) > 1 for sizes in contract.sizes) else {}
    wide = contract.revealing(harness.sizes.replace(**heads))
    sizes = wide.replace(B=harness.sizes.B and 2, T=T)
    module, inputs = harness.module(sizes), harness.inputs(sizes)
    calls = [module.call(inputs)]
    if contract.masks:
        mask = torch.ones(T, T).tril()
        calls.append(module.call({**inputs, "attention_mask": mask}))
    harness.ask()
    titles = ("without a mask", "under a causal mask")
    return [one for call, title in zip(calls, titles, strict=False) for one in _maps(call, title)]


def maps_of(call: PlannedCall) -> list[AttentionMap]:
    """Return each head's attention map (its weights) in a call, for the first sequence.

    There is none for more than ``MAX_MAP_T`` positions, nor where the value vectors are linearly
    dependent, so that the output does not reveal the weights.

    Raises:
        CheckFailed: The output has the wrong shape.
    """
    contract: Any = call.contract
    if contract.value_vectors is None or call.sizes.T > MAX_MAP_T:
        return []
    mixed, _ = contract.value_vectors(call.right_weights, call.sizes, exact(call.tensors["x"]))
    is_told = bool((torch.linalg.matrix_rank(mixed) == mixed.size(-2)).all())
    masked = "under your mask" if "attention_mask" in call.inputs else "without a mask"
    return _maps(call, masked) if is_told else []


def _maps(call: PlannedCall, masked: str) -> list[AttentionMap]:
    yours, right = recover_attention(call, call.out, call.expected)
    if call.sizes.B:
        yours, right = yours[0], right[0]  # (T, H, T), the first sequence's
    heads = call.sizes.get("H", 1)
    return [
        AttentionMap.of(
            masked if heads == 1 else f"head {head + 1}, {masked}",
            yours[:, head].tolist(),
            right[:, head].tolist(),
        )
        for head in range(heads)
    ]
