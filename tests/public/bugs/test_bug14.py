"""Public checks of bug14: what the colleague reports, no more. The hidden checks are more."""

import bug14
import pytest
import torch


def test_version_2_as_it_stands_passes():
    for seed in range(5):
        torch.manual_seed(seed)
        bug14.check_version_2()


def test_version_2_broken_on_purpose_is_found(monkeypatch):
    class Broken(bug14.SelfAttentionV2):
        def forward(self, x):
            return super().forward(x) + 1

    monkeypatch.setattr(bug14, "SelfAttentionV2", Broken)
    with pytest.raises(AssertionError):
        bug14.check_version_2()
