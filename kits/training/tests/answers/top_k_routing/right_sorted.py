import torch
from torch import Tensor


def top_k_routing(logits: Tensor, k: int) -> Tensor:
    """The k first of a sort, put back to where they came from."""
    if k < 1 or k > logits.shape[1]:
        raise ValueError(f"k = {k} of {logits.shape[1]} experts")
    ordered, places = torch.sort(logits, dim=1, descending=True)
    powers = torch.exp(ordered[:, :k] - ordered[:, :1])
    weights = powers / powers.sum(1, keepdim=True)
    return logits.new_zeros(logits.shape).scatter_add(1, places[:, :k], weights)
