r"""The model `HistoryAttention`.

Source: https://github.com/pytorch/pytorch/issues/163997
Fault: A row whose positions are all masked with -inf gives NaN in the softmax (a sample without
    any valid element).
Cause: nan|(fully|all|completely|entirely).*mask|mask.*(all|every|whole|fully|empty)|-inf
    |empty (row|sample|set)
"""

import torch
import torch.nn as nn


class HistoryAttention(nn.Module):
    def __init__(self, items=80, dim=24, out=1):
        super().__init__()
        self.embed = nn.Embedding(items, dim, padding_idx=0)
        self.query = nn.Linear(dim, dim)
        self.out = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, out))

    def forward(self, history, target):
        h, t = self.embed(history), self.embed(target)
        scores = torch.einsum("bd,bnd->bn", self.query(t), h)
        pad = history == 0
        w = torch.softmax(scores.masked_fill(pad, float("-inf")), dim=1)
        context = (w.unsqueeze(-1) * h).sum(dim=1)
        return self.out(torch.cat([context, t], dim=1))


def make_history(n=6, length=8):
    history = torch.randint(1, 80, (n, length))
    for i in range(n):
        history[i, 2 * i:] = 0
    return history


torch.manual_seed(0)
model = HistoryAttention()
example_inputs = (make_history(), torch.randint(1, 80, (6,)),)
