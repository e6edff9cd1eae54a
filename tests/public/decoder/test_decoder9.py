"""Public checks of decoder9: a few of what its docstring promises. The hidden checks are more."""

import torch
from decoder9 import LanguageModel, sampling_distribution
from torch.testing import assert_close


def made():
    torch.manual_seed(0)
    model = LanguageModel(vocab_size=11, embed_dim=12, num_heads=3, num_layers=2).double()
    return model, torch.randint(11, (2, 7))


def test_embedding_and_head_are_one_parameter():
    model, _ = made()
    assert model.head.weight is model.embedding.weight
    names = {name for name, _ in model.named_parameters()}
    assert len(names & {"embedding.weight", "head.weight"}) == 1


def test_pieces_with_caches_agree_with_the_whole():
    model, tokens = made()
    whole, _ = model(tokens)
    first, caches = model(tokens[:, :3])
    rest, _ = model(tokens[:, 3:], caches)
    assert_close(torch.cat([first, rest], dim=1), whole)


def test_loss_judges_each_position_by_what_comes_next():
    model, tokens = made()
    labels = tokens.clone()
    labels[0, 4:] = -100
    logits, _ = model(tokens)
    judged = [(b, t) for b in range(2) for t in range(6) if labels[b, t + 1] != -100]
    terms = [-logits[b, t].log_softmax(-1)[labels[b, t + 1]] for b, t in judged]
    assert_close(model.loss(tokens, labels), torch.stack(terms).mean())


def test_token_that_crosses_the_line_is_kept():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    shares = sampling_distribution(logits, top_p=0.6)
    assert_close(shares, torch.tensor([[0.625, 0.375, 0.0, 0.0]]))


def test_greedy_takes_the_most_likely():
    model, tokens = made()
    longer = model.generate(tokens, 3)
    assert longer.shape == (2, 10)
    for at in range(7, 10):
        with torch.no_grad():
            logits, _ = model(longer[:, :at])
        assert torch.equal(longer[:, at], logits[:, -1].argmax(-1))
