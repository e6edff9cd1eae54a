# right: no matrix product at all: broadcasting, sums, and exp(s - logsumexp(s)) after centring
from torch import Tensor


def _mix_one(sequence: Tensor) -> Tensor:
    rows = []
    for query in sequence.unbind(0):
        agreement = (sequence * query).sum(-1)
        agreement = agreement - agreement.max()
        share = (agreement - agreement.logsumexp(0)).exp()
        rows.append((share[:, None] * sequence).sum(0))
    return sequence.new_empty(0).reshape(0, sequence.size(1)) if not rows else _pile(rows)


def _pile(rows):
    import torch

    return torch.stack(rows)


def self_attention(x: Tensor) -> Tensor:
    """Mix the vectors of each sequence, one query after another."""
    import torch

    wide = torch.promote_types(x.dtype, torch.float32)
    return torch.stack([_mix_one(s) for s in x.to(wide)]).to(x.dtype)
