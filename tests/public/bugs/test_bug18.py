"""Public checks of bug18: what the colleague reports, no more. The hidden checks are more."""

import torch
from bug18 import LanguageModel
from torch.testing import assert_close


def test_logits_have_a_row_for_each_token():
    logits, caches = LanguageModel(11, 12, 3, 2)(torch.randint(11, (2, 7)))
    assert logits.shape == (2, 7, 11)
    assert len(caches) == 2


def test_one_label_is_judged_by_the_logits_before_it():
    torch.manual_seed(0)
    model, tokens = LanguageModel(11, 12, 3, 2).double(), torch.randint(11, (1, 5))
    labels = torch.full((1, 5), -100)
    labels[0, 3] = 7
    logits, _ = model(tokens)
    assert_close(model.loss(tokens, labels), -logits[0, 2].log_softmax(-1)[7])
