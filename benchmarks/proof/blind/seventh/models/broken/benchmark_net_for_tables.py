r"""Residual-free network for tables with learnt embeddings of the categories.

Source: https://github.com/LeoGrin/tabular-benchmark/issues/14
Fault: The size of the output is appended to the hidden sizes, so the last hidden layer has one
    unit with a ReLU, and the head maps one number to one number.
Cause: (bottleneck|squeez|narrow|only one|single|1).{0,40}(unit|hidden|neuron|feature|width
    |number)
    |(width|size|units?|hidden).{0,40}(\b1\b|one|single|too (few|small|narrow))
    |(head|output).{0,40}(1 ?(->|to) ?1|Linear\(1, ?1\)|one (input|feature|number))
    |d_layers|d_out.{0,40}(hidden|append)
Place: d_layers|\bhead\b|layers?(\.2)?
"""

import torch
import torch.nn.functional as F
from torch import nn


class TableNet(nn.Module):
    def __init__(self, d_in, d_layers, dropout, d_out, categories, d_embedding):
        super().__init__()
        d_layers = list(d_layers)
        d_in += len(categories) * d_embedding
        offsets = torch.tensor([0] + list(categories[:-1])).cumsum(0)
        self.register_buffer("category_offsets", offsets)
        self.category_embeddings = nn.Embedding(sum(categories), d_embedding)
        d_layers.append(d_out)  # here
        sizes = [d_in] + d_layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.dropout = dropout
        self.head = nn.Linear(d_layers[-1] if d_layers else d_in, d_out)

    def forward(self, number, category):
        e = self.category_embeddings(category + self.category_offsets).flatten(1)
        x = torch.cat([number, e], dim=1)
        for layer in self.layers:
            x = F.relu(layer(x))
            x = F.dropout(x, self.dropout, self.training)
        return self.head(x).squeeze(-1)


def build():
    return TableNet(6, (64, 64), 0.1, 1, (4, 7), 8)


def example_inputs():
    category = torch.stack([torch.randint(0, 4, (8,)), torch.randint(0, 7, (8,))], dim=1)
    return torch.randn(8, 6), category
