"""Public checks of bug9: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug9 import MultiHeadSelfAttention, TransformerBlock
from torch import nn


def test_both_classes_are_there():
    assert issubclass(MultiHeadSelfAttention, nn.Module)
    assert issubclass(TransformerBlock, nn.Module)


def test_attention_can_be_called():
    x = torch.randn(2, 7, 15)
    assert MultiHeadSelfAttention(embed_dim=15, num_heads=3)(x).shape == x.shape


def test_block_can_be_called():
    x = torch.randn(2, 7, 15)
    assert TransformerBlock(embed_dim=15, num_heads=3)(x).shape == x.shape
