# unusual: puts a batch axis on a single sequence and takes it off again
import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super(SelfAttention, self).__init__()
        self.query = nn.Parameter(torch.empty(d_in, d_out))
        self.key = nn.Parameter(torch.empty(d_in, d_out))
        self.value = nn.Parameter(torch.empty(d_in, d_out))
        for p in self.parameters():
            nn.init.xavier_uniform_(p)

    def forward(self, x):
        single = x.dim() == 2
        if single:
            x = x.unsqueeze(0)
        q = x @ self.query
        k = x @ self.key
        v = x @ self.value
        scores = torch.bmm(q, k.permute(0, 2, 1)) / q.shape[-1] ** 0.5
        out = torch.bmm(torch.softmax(scores, dim=2), v)
        return out.squeeze(0) if single else out
