import torch


def rotate(x, positions):
    D = x.size(-1)
    steps = torch.arange(D // 2, device=x.device, dtype=torch.float32)
    angles = positions[:, None].float() * 10000 ** (-2 * steps / D)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
