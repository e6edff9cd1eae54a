# unusual: BOM, CRLF, prints at import and in the function, star imports, a demo that uses torch's operator
"""My solution, compare with scaled_dot_product_attention( ) below."""
from __future__ import annotations
from dataclasses import dataclass
import logging, sys
import torch
from torch import *
from torch.nn import *
from torch.nn.functional import *

Matrix = torch.Tensor
log = logging.getLogger(__name__)
print("loading", __name__, __file__)


@dataclass(frozen=True)
class Config:
    dim: int = -1
    verbose: bool = True


CONFIG = Config()


def unused_helper(a: Matrix, b: Matrix) -> Matrix:
	raise NotImplementedError("never got round to this")


def self_attention(x: Matrix) -> Matrix:
	if CONFIG.verbose:
		print("x:", tuple(x.shape), x.dtype, file=sys.stderr)
	scores = matmul(x, x.transpose(-2, -1)); print("scores", scores.shape)
	weights = softmax(scores, dim=CONFIG.dim)
	log.warning("weights %s", tuple(weights.shape))
	return matmul(weights, x)


if __name__ == "__main__":
	x = torch.randn(2, 5, 3)
	want = torch.nn.functional.scaled_dot_product_attention(x, x, x, scale=1.0)
	print(torch.allclose(self_attention(x), want, atol=1e-6))