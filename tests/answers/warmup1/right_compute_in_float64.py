# unusual: computes in float64 whatever comes in, and goes back at the end
import torch


def self_attention(x: torch.Tensor) -> torch.Tensor:
    y = x.double()
    w = torch.softmax(y @ y.transpose(-1, -2), dim=-1)
    return (w @ y).type_as(x)
