# right: a Windows file (CRLF, tabs), a subclass of nn.Linear with operators, softmin instead of softmax
import torch
from torch import nn


class Lin(nn.Linear):
	def __rmatmul__(self, other):
		return self(other)


class SelfAttention(nn.Module):
	def __init__(self, d_in, d_out, qkv_bias=False):
		super(SelfAttention, self).__init__()
		self.query, self.key, self.value = [Lin(d_in, d_out, bias=bool(qkv_bias)) for _ in "qkv"]
		self.width = d_out

	def forward(self, x):
		batch = x if x.ndim == 3 else x.unsqueeze(0)
		q, k, v = [layer.__rmatmul__(batch) for layer in (self.query, self.key, self.value)]
		dislike = torch.bmm(q, k.permute(0, 2, 1)) / -(self.width ** 0.5)
		mixed = torch.bmm(nn.functional.softmin(dislike, dim=2), v)
		return mixed.reshape(x.shape[:-1] + (self.width,))
