# unusual: BOM, CRLF, tabs, prints of tensors, a demo with the notebook's figures, type aliases
import typing
import torch
from torch import *
from torch.nn import *

Steps: typing.TypeAlias = "dict[str, Tensor]"
torch.manual_seed(42)
print("hello from", __name__)


def unused(*args, **kwargs):
	pass


class SelfAttention(Module):
	def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1):
		super().__init__()
		self.W_q = Linear(d_model, d_model, bias=False)
		self.W_k = Linear(d_model, d_model, bias=False)
		self.W_v = Linear(d_model, d_model, bias=False)
		self.row_dim = row_dim; self.col_dim = col_dim

	def intermediates(self, x) -> Steps:
		q = self.W_q(x); k = self.W_k(x); v = self.W_v(x)
		similarities = matmul(q, transpose(k, self.row_dim, self.col_dim))
		scaled = similarities / k.size(self.col_dim)**0.5
		weights = softmax(scaled, dim=self.col_dim)
		result = {"q": q, "k": k, "v": v, "similarities": similarities, "scaled": scaled, "weights": weights, "output": matmul(weights, v)}
		print(result)
		return result

	def forward(self, x):
		return self.intermediates(x)["output"]


if "__main__" == __name__:
	manual_seed(42)
	m = SelfAttention()
	x = tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
	print(m(x), functional.scaled_dot_product_attention(m.W_q(x), m.W_k(x), m.W_v(x)))
