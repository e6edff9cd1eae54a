# Strange: a checkpointed closure in float64.
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class SelfAttentionV2(nn.Module):
    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.add_module("proj", nn.Linear(hidden_dim, 3 * hidden_dim))

    def forward(self, x: Tensor) -> Tensor:
        def mix(fused: Tensor) -> Tensor:
            q, k, v = fused.double().unflatten(-1, (3, -1)).unbind(-2)
            return ((q @ k.mT).div(q.size(-1) ** 0.5).log_softmax(-1).exp() @ v).to(fused.dtype)

        return checkpoint(mix, self.proj(x), use_reentrant=False, preserve_rng_state=False)
