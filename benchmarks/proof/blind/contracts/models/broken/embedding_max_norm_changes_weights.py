r"""The model `MetricEmbedding`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
Fault: Embedding(max_norm=) renormalises its weights in place in every forward, so even evaluation
    changes the parameters (and tied weights).
Cause: max_norm|in-?place|(forward|eval\w*|inference).*(chang|modif|mutat|writ)\w*
    |(weight|parameter)s?.*(chang|modif|mutat|renorm)\w*.*(forward|eval|inference|call)|renorm
"""

import torch
import torch.nn as nn


class MetricEmbedding(nn.Module):
    def __init__(self, items=60, dim=16, out=4):
        super().__init__()
        self.items = nn.Embedding(items, dim, max_norm=1.0)
        self.proj = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, out)

    def encode(self, ids):
        e = self.items(ids)
        return torch.tanh(self.proj(e))

    def forward(self, left, right):
        a = self.encode(left)
        b = self.encode(right)
        return self.out(torch.cat([a * b, (a - b).abs()], dim=-1))


torch.manual_seed(0)
model = MetricEmbedding()
example_inputs = (torch.randint(0, 60, (8,)), torch.randint(0, 60, (8,)),)
