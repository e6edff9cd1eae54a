# wrong: in bfloat16 "weights" comes back as float32 (intermediates only; forward returns bfloat16)
# breaks: "Module and ``x`` are float32, float64 or bfloat16 (float16 is left open), on any device, even ``meta``: compute in no narrower dtype, return the same one, don't branch on values."

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    def __init__(self, d_model: int = 2, row_dim: int = 0, col_dim: int = 1) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.row_dim = row_dim
        self.col_dim = col_dim

    def intermediates(self, x: Tensor) -> dict[str, Tensor]:
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        similarities = q @ k.transpose(self.row_dim, self.col_dim)
        scaled = similarities / k.size(self.col_dim) ** 0.5
        # a softmax in bfloat16 is coarse
        wide = scaled.float() if scaled.dtype == torch.bfloat16 else scaled
        weights = torch.softmax(wide, dim=self.col_dim)
        output = weights.to(v.dtype) @ v
        return {
            "q": q,
            "k": k,
            "v": v,
            "similarities": similarities,
            "scaled": scaled,
            "weights": weights,
            "output": output,
        }

    def forward(self, x: Tensor) -> Tensor:
        return self.intermediates(x)["output"]
