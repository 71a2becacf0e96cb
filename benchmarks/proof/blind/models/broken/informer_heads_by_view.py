"""Attention for forecasting with queries of shape batch, length, heads, depth.

Source: https://github.com/zhouhaoyi/Informer2020/issues/59
Fault: view swaps heads and length without moving data: time steps are mixed between the heads.
Cause: view|reshape|transpose|permute|head
Place: queries|keys|values|view
"""

import torch
from torch import nn


class ForecastAttention(nn.Module):
    def __init__(self, d_model=16, n_heads=4):
        super().__init__()
        self.n_heads = n_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, length, d = x.shape
        h = self.n_heads
        queries = self.query_projection(x).view(b, length, h, -1)
        keys = self.key_projection(x).view(b, length, h, -1)
        values = self.value_projection(x).view(b, length, h, -1)
        queries = queries.view(b, h, length, -1)  # here
        keys = keys.view(b, h, length, -1)  # here
        values = values.view(b, h, length, -1)  # here
        scores = (queries @ keys.transpose(-2, -1)) / (d // h) ** 0.5
        context = scores.softmax(dim=-1) @ values
        return self.out_projection(context.transpose(1, 2).reshape(b, length, d))


def example_inputs():
    return (torch.randn(4, 10, 16),)
