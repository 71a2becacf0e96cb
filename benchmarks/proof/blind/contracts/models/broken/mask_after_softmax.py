r"""The model `PointerScorer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
Fault: The mask is multiplied in after the softmax without renormalising, so the weights of the
    valid positions do not sum to one.
Cause: (after|post).*softmax|softmax.*(before|then|mask|after)|renormali|(weights?|sum).*(one|1)
    |not normali|mask.*(softmax|renorm)
"""

import torch
import torch.nn as nn


class PointerScorer(nn.Module):
    def __init__(self, features=8, dim=24, out=3):
        super().__init__()
        self.key = nn.Linear(features, dim)
        self.value = nn.Linear(features, dim)
        self.query = nn.Parameter(torch.randn(dim) * 0.2)
        self.out = nn.Linear(dim, out)

    def forward(self, items, valid):
        scores = torch.tanh(self.key(items)) @ self.query
        weights = torch.softmax(scores, dim=1) * valid
        context = torch.einsum("bn,bnd->bd", weights, self.value(items))
        return self.out(torch.relu(context))


def make_valid(n=6, items=9):
    count = torch.tensor([2, 9, 4, 6, 3, 8])
    return torch.arange(items)[None] < count[:, None]


torch.manual_seed(0)
model = PointerScorer()
example_inputs = (torch.randn(6, 9, 8), make_valid(),)
