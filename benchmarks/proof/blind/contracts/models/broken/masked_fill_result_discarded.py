r"""The model `ItemAttention`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html
Fault: masked_fill is not in place and its result is thrown away, so the mask has no effect.
Cause: masked_fill
    |(result|return\w*|output|value).*(discard|unused|ignored|thrown|not (used|assigned))
    |in-?place|no effect|mask.*(ignored|unused|no effect|not (used|applied))|discard
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ItemAttention(nn.Module):
    def __init__(self, features=5, dim=24, out=2):
        super().__init__()
        self.key = nn.Linear(features, dim, bias=False)
        self.value = nn.Linear(features, dim)
        self.query = nn.Parameter(torch.randn(dim) * 0.2)
        self.out = nn.Linear(dim, out)

    def forward(self, x, valid):
        score = self.key(x) @ self.query
        score.masked_fill(~valid, float("-inf"))
        w = score.softmax(dim=1)
        pooled = (w.unsqueeze(-1) * self.value(x)).sum(dim=1)
        return self.out(F.gelu(pooled))


def make_valid(n=6, items=8):
    count = torch.tensor([2, 8, 4, 6, 3, 7])
    return torch.arange(items)[None] < count[:, None]


torch.manual_seed(0)
model = ItemAttention()
example_inputs = (torch.randn(6, 8, 5), make_valid(),)
