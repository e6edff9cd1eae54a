# unusual: one query at a time, the way a beginner explains it on a whiteboard
import torch


def self_attention(x):
    batch_size, seq_len, width = x.shape
    rows = []
    for i in range(seq_len):
        query = x[:, i, :]                                  # (B, C)
        scores = (query.unsqueeze(1) * x).sum(dim=2)        # (B, T)
        weights = torch.softmax(scores, dim=1)              # (B, T)
        row = (weights.unsqueeze(2) * x).sum(dim=1)         # (B, C)
        rows.append(row)
    result = torch.stack(rows, dim=1)
    assert result.shape == (batch_size, seq_len, width)
    return result
