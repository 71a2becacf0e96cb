"""Dot attention of a query over a context, as in sequence-to-sequence models.

Source: https://github.com/PetrochukM/PyTorch-NLP/issues/2
Fault: softmax runs over dimension 0, the rows of the batch, so samples compete with each other.
Cause: softmax|normali[sz].*(batch|dim|axis)|(batch|rows).*(dim|axis)
Place: softmax|attention
"""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dimensions=16):
        super().__init__()
        self.linear_in = nn.Linear(dimensions, dimensions, bias=False)
        self.linear_out = nn.Linear(dimensions * 2, dimensions, bias=False)
        self.softmax = nn.Softmax(dim=0)  # here

    def forward(self, query, context):
        batch_size, output_len, _ = query.size()
        query = self.linear_in(query)
        scores = torch.bmm(query, context.transpose(1, 2))
        weights = self.softmax(scores.view(batch_size * output_len, -1))
        weights = weights.view(batch_size, output_len, -1)
        mix = torch.bmm(weights, context)
        return torch.tanh(self.linear_out(torch.cat((mix, query), dim=-1)))


def example_inputs():
    return (
        torch.randn(4, 3, 16),
        torch.randn(4, 7, 16),
    )
