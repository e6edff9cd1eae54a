"""Public checks of bug13: that it still runs. The file as sent passes them too.

Nothing crashed before, and nothing should after. Which of the five mistakes are gone is for the
hidden checks to say, one for each.
"""

import torch
from bug13 import MultiHeadSelfAttention, TransformerBlock
from torch.testing import assert_close


def test_attention_has_four_layers_without_biases():
    layers = ("to_queries", "to_keys", "to_values", "unify_heads")
    module = MultiHeadSelfAttention(embed_dim=15, num_heads=3)
    assert {name for name, _ in module.named_parameters()} == {f"{n}.weight" for n in layers}


def test_output_has_the_shape_of_the_input():
    x = torch.randn(2, 7, 15)
    assert MultiHeadSelfAttention(embed_dim=15, num_heads=3)(x).shape == x.shape
    assert TransformerBlock(embed_dim=15, num_heads=3)(x).shape == x.shape


def test_sequences_do_not_see_each_other():
    torch.manual_seed(0)
    module = TransformerBlock(embed_dim=15, num_heads=3)
    x = torch.randn(2, 7, 15)
    assert_close(module(x)[:1], module(x[:1]))
