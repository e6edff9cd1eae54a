from torch import Tensor


def top_k_routing(logits: Tensor, k: int) -> Tensor:
    """A softmax in which all others have −∞, by the k-th largest logit."""
    if k < 1 or k > logits.shape[1]:
        raise ValueError(f"k = {k} of {logits.shape[1]} experts")
    least = logits.topk(k, dim=1).values[:, -1:]
    return logits.masked_fill(logits < least, float("-inf")).softmax(dim=1)
