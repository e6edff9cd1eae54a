# unusual: baddbmm with beta=0 into an empty tensor
import torch


def self_attention(x):
    b, t, _ = x.shape
    empty = torch.empty(b, t, t, device=x.device, dtype=x.dtype)
    scores = torch.baddbmm(empty, x, x.transpose(1, 2), beta=0, alpha=1)
    return torch.bmm(torch.nn.functional.softmax(scores, -1), x)
