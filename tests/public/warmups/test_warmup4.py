"""Public checks of warmup4: a few of what its docstring promises. The hidden checks are more."""

import torch
from torch.testing import assert_close
from warmup4 import SelfAttention


def test_seed_42_gives_the_printed_figures():
    torch.manual_seed(42)
    module = SelfAttention()
    steps = module.intermediates(torch.tensor([(1.16, 0.23), (0.57, 1.36), (4.41, -2.16)]))
    weights = [(0.3573, 0.4011, 0.2416), (0.3410, 0.6047, 0.0542), (0.0722, 0.0320, 0.8959)]
    output = [(1.0100, 1.0641), (0.2040, 0.7057), (3.4989, 2.2427)]
    # Figures of four decimals are off by up to half of the last one.
    assert_close(steps["weights"], torch.tensor(weights), atol=6e-5, rtol=0)
    assert_close(steps["output"], torch.tensor(output), atol=6e-5, rtol=0)


def test_seven_steps_have_their_names_and_shapes():
    steps = SelfAttention(d_model=7).intermediates(torch.randn(5, 7))
    features = dict.fromkeys(("q", "k", "v", "output"), (5, 7))
    tokens = dict.fromkeys(("similarities", "scaled", "weights"), (5, 5))
    assert {name: tuple(step.shape) for name, step in steps.items()} == {**features, **tokens}


def test_forward_gives_the_output_of_the_steps():
    module = SelfAttention(d_model=7)
    x = torch.randn(5, 7)
    assert_close(module(x), module.intermediates(x)["output"])


def test_sequence_in_a_batch_is_like_the_sequence_alone():
    module = SelfAttention(d_model=7, row_dim=-2, col_dim=-1)
    x = torch.randn(3, 5, 7)
    assert_close(module(x)[1], module(x[1]))
