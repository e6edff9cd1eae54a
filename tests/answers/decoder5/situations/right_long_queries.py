# right: the query heads of a group are laid one behind the other: one bmm over B·G with (H/G)·T rows, masks repeated
import torch
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide embed_dim {embed_dim}")
        if num_heads % num_groups:
            raise ValueError(f"num_groups {num_groups} does not divide num_heads {num_heads}")
        self.H, self.G, self.D = num_heads, num_groups, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, self.G * self.D, bias=False)
        self.v_proj = nn.Linear(embed_dim, self.G * self.D, bias=False)
        self.o_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        G, R, D = self.G, self.H // self.G, self.D
        q = self.q_proj(x).view(B, T, G, R, D).permute(0, 2, 3, 1, 4).reshape(B * G, R * T, D)
        k = self.k_proj(x).view(B, T, G, D).permute(0, 2, 3, 1).reshape(B * G, D, T)
        v = self.v_proj(x).view(B, T, G, D).permute(0, 2, 1, 3).reshape(B * G, T, D)
        place = torch.arange(T, device=x.device)
        later = place > place.repeat(R).unsqueeze(1)  # (R·T, T)
        weights = torch.bmm(q / D**0.5, k).masked_fill(later, float("-inf")).softmax(dim=2)
        mixed = torch.bmm(weights, v).view(B, G, R, T, D).permute(0, 3, 1, 2, 4)
        return self.o_proj(mixed.reshape(B, T, C))
