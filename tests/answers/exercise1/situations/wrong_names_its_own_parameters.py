# wrong: 'parameters are q, k and v': they are plain tensors, told by methods of its own
import torch
from torch import Tensor, nn


class SelfAttentionV1(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.told = {}
        for layer in "qkv":
            self.told[f"{layer}.weight"] = torch.randn(hidden_dim, hidden_dim).requires_grad_()
            self.told[f"{layer}.bias"] = torch.randn(hidden_dim).requires_grad_()

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self.told.items()

    def state_dict(self, *args, **kwargs):
        return dict(self.told)

    def load_state_dict(self, state, *args, **kwargs):
        for name, value in state.items():
            self.told[name].data.copy_(value)

    def _apply(self, change, recurse=True):
        self.told = {n: change(p.detach()).requires_grad_() for n, p in self.told.items()}
        return self

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            nn.functional.linear(x, self.told[f"{n}.weight"], self.told[f"{n}.bias"]) for n in "qkv"
        )
        scores = q @ k.mT / x.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ v
