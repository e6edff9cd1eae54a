from torch import nn


class Cross(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, width, bias=False)

    def forward(self, x, memory, padding=None):
        scores = self.q(x) @ self.k(memory).mT * x.size(-1) ** -0.5
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, :] == 0, float("-inf"))
        return scores.softmax(-1) @ self.v(memory)
