# wrong: a module that was made on meta and then given its weights (`load_state_dict(..., assign=True)`) can't be called: the width is a buffer that is not saved, and stays on meta
# breaks: "on any device, even ``meta``"
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        # An integer, so that no cast rounds it; a buffer, so that it moves along.
        self.register_buffer("width", torch.tensor(hidden_dim), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.proj(x).chunk(3, dim=-1)
        weights = (q @ k.mT / self.width.to(x.dtype).sqrt()).softmax(dim=-1)
        return weights @ v
