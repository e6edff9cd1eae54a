# wrong: 'don't use scaled_dot_product_attention': used, under another name
import torch
from torch import Tensor, nn


_attend = getattr(nn.functional, "scaled_dot_" + "product_attention")


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q = nn.Linear(hidden_dim, hidden_dim)
        self.k = nn.Linear(hidden_dim, hidden_dim)
        self.v = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:
        return _attend(self.q(x), self.k(x), self.v(x))
