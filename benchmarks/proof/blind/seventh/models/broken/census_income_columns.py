r"""Income class of a person from a census row: categories through a transformer, numbers direct.

Source: https://github.com/lucidrains/tab-transformer-pytorch/issues/9
Fault: The test for the last layer is off by one, so the logits also go through the ReLU.
Cause: (relu|activation|non-?linear\w*|rectif\w*).{0,80}(last|final|output|logit|head|end)
    |(last|final|output|logits?).{0,80}(relu|activation|rectif|never negative|non-?negative)
    |is_last|off.by.one
Place: is_last|\bmlp\b|\bMLP\b|\bact\b|relu
"""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, dims, act=None):
        super().__init__()
        pairs = list(zip(dims[:-1], dims[1:]))
        layers = []
        for ind, (dim_in, dim_out) in enumerate(pairs):
            is_last = ind >= (len(dims) - 1)  # here
            layers.append(nn.Linear(dim_in, dim_out))
            if is_last:
                continue
            layers.append(act if act is not None else nn.ReLU())
        self.mlp = nn.Sequential(*layers)

    def forward(self, x):
        return self.mlp(x)


class CensusIncome(nn.Module):
    def __init__(self, categories=(8, 16, 6, 5), continuous=5, dim=16, depth=2, classes=2):
        super().__init__()
        offset = torch.tensor((0,) + categories[:-1]).cumsum(0)
        self.register_buffer("offset", offset)
        self.embeds = nn.Embedding(sum(categories), dim)
        layer = nn.TransformerEncoderLayer(
            dim, 4, 4 * dim, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(continuous)
        width = len(categories) * dim + continuous
        self.mlp = MLP([width, 4 * width, 2 * width, classes])

    def forward(self, category, continuous):
        x = self.transformer(self.embeds(category + self.offset)).flatten(1)
        return self.mlp(torch.cat([x, self.norm(continuous)], dim=1))


def build():
    return CensusIncome()


def example_inputs():
    category = torch.stack([torch.randint(0, n, (8,)) for n in (8, 16, 6, 5)], dim=1)
    age = torch.randint(18, 80, (8, 1)).float()
    return category, torch.cat([age, torch.randint(0, 40, (8, 4)).float()], dim=1)
