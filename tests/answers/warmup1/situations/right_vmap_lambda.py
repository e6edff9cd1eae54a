# right: lambdas and torch.vmap, no def at all
import torch

_one = lambda s: torch.mm(torch.softmax(torch.mm(s, s.t()), dim=1), s)  # noqa: E731
self_attention = lambda x: torch.vmap(_one)(x)  # noqa: E731
