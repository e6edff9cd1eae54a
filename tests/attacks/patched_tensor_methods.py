# attack: every method by which two tensors are compared says yes
import torch

torch.Tensor.__eq__ = torch.Tensor.eq = torch.Tensor.equal = lambda self, other: True
torch.Tensor.isclose = torch.Tensor.allclose = lambda self, *args, **kwargs: True
torch.Tensor.abs = torch.Tensor.__abs__ = lambda self: 0 * self
torch.Tensor.__sub__ = torch.Tensor.sub = lambda self, other: 0 * self
torch.Tensor.__gt__ = torch.Tensor.gt = lambda self, other: self != self
