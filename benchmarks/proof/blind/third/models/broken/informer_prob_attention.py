r"""Self attention block of a long series forecaster.

Source: https://github.com/zhouhaoyi/Informer2020/issues/59
Fault: Queries, keys and values of shape (B, L, H, D) become (B, H, L, D) by view, not transpose.
Cause: (view|reshape).*(transpose|permute|scramble|mix|wrong|order)
    |(transpose|permute).*(instead of|rather than|not).*(view|reshape)
Place: view|reshape|queries|keys|values|ProbAttention|AttentionLayer|forward
"""

import torch
from torch import nn


class AttentionLayer(nn.Module):
    def __init__(self, d_model=24, n_heads=4):
        super().__init__()
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)
        self.n_heads = n_heads

    def forward(self, x):
        B, L, D = x.shape
        H = self.n_heads
        queries = self.query_projection(x).view(B, L, H, -1)
        keys = self.key_projection(x).view(B, L, H, -1)
        values = self.value_projection(x).view(B, L, H, -1)
        queries = queries.view(B, H, L, -1)  # here
        keys = keys.view(B, H, L, -1)  # here
        values = values.view(B, H, L, -1)  # here
        scores = queries @ keys.transpose(-2, -1) / (D // H) ** 0.5
        out = torch.softmax(scores, dim=-1) @ values
        return self.out_projection(out.transpose(1, 2).reshape(B, L, D))


class Forecaster(nn.Module):
    def __init__(self, features=3, d_model=24, horizon=4):
        super().__init__()
        self.embed = nn.Linear(features, d_model)
        self.attention = AttentionLayer(d_model)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, horizon)

    def forward(self, series):
        x = self.embed(series)
        return self.head(self.norm(x + self.attention(x))[:, -1])


def build():
    return Forecaster()


def example_inputs():
    return torch.randn(4, 12, 3)
