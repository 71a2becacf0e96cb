r"""Network for a table with categories, made by a factory of layers.

Source: https://github.com/fastai/fastai/issues/1875
Fault: Only the first linear layer is followed by an activation; the later ones are linear in a row.
Cause: linear\w*.*(follow|directly|in a row|straight|collapse|no activation|without|between)
    |(no|without|missing) (activation|non-?linear)\w*|activation.*(missing|between)
Place: bn_drop_lin
"""

import torch
from torch import nn


def bn_drop_lin(n_in, n_out, p, actn):
    layers = [nn.BatchNorm1d(n_in), nn.Dropout(p), nn.Linear(n_in, n_out)]
    return layers + ([actn] if actn is not None else [])


class TabularModel(nn.Module):
    def __init__(self, sizes=((8, 4), (5, 3)), continuous=6, hidden=(40, 24, 16), out=2):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(*size) for size in sizes])
        self.bn_cont = nn.BatchNorm1d(continuous)
        widths = [sum(dim for _, dim in sizes) + continuous, *hidden, out]
        actns = [nn.ReLU()] + [None] * (len(widths) - 2)  # here
        layers = []
        for i, actn in enumerate(actns):
            layers += bn_drop_lin(widths[i], widths[i + 1], 0.1 if i else 0.0, actn)
        self.layers = nn.Sequential(*layers)

    def forward(self, categories, numbers):
        x = [e(categories[:, i]) for i, e in enumerate(self.embeds)]
        return self.layers(torch.cat([*x, self.bn_cont(numbers)], 1))


def build():
    return TabularModel()


def example_inputs():
    return torch.randint(0, 5, (16, 2)), torch.randn(16, 6)
