# unusual: in-place changes of shape (transpose_, unsqueeze_, squeeze_) on the module's own intermediate tensors
import torch
from torch import Tensor, nn


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).tensor_split(3, dim=-1)
        k = k.clone().transpose_(1, 2)
        weights = torch.softmax(q @ k / x.shape[-1] ** 0.5, dim=-1)
        weights = weights.clone().unsqueeze_(1)                   # one head
        return (weights @ v.unsqueeze(1)).squeeze_(1)
