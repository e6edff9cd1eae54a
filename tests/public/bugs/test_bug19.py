"""Public checks of bug19: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug19 import LanguageModel


def loaded():
    torch.manual_seed(0)
    model = LanguageModel(11, 12, 3, 2)
    other = LanguageModel(11, 12, 3, 2)
    other.load_state_dict(model.state_dict())
    return model, other


def test_logits_are_those_that_were_saved():
    model, other = loaded()
    tokens = torch.randint(11, (2, 7))
    assert torch.equal(model(tokens)[0], other(tokens)[0])


def test_optimiser_has_as_many_numbers_to_move():
    before, after = (sum(p.numel() for p in model.parameters()) for model in loaded())
    assert before == after
