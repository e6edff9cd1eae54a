# right: three layers, but their weights are concatenated for a single F.linear; SDPA only under __main__
"""Not done with nn.MultiheadAttention nor with scaled_dot_product_attention: see the rules."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """No scaled_dot_product_attention in here, and no nn.TransformerEncoderLayer either."""

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Tensor) -> Tensor:
        layers = [self.query, self.key, self.value]
        weight = torch.cat([layer.weight for layer in layers])
        biases = [layer.bias for layer in layers if layer.bias is not None]
        q, k, v = F.linear(x, weight, torch.cat(biases) if biases else None).chunk(3, dim=-1)
        k = k / k.size(-1) ** 0.5
        # F.scaled_dot_product_attention(q, k, v) would be the short way
        return F.softmax(q @ k.transpose(-1, -2), dim=-1) @ v


if __name__ == "__main__":
    torch.manual_seed(0)
    net, x = SelfAttention(5, 4, True), torch.randn(2, 7, 5)
    want = F.scaled_dot_product_attention(net.query(x), net.key(x), net.value(x))
    torch.testing.assert_close(net(x), want)
    print("ok")
