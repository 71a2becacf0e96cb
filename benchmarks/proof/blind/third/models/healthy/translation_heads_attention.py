r"""Multi-head attention layer of a translation model.

Source: https://github.com/hyunwoongko/transformer/issues/15
Odd: The heads are made by view and transpose in two steps; the view only splits the last axis.
"""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=32, n_head=4):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def split(self, tensor):
        batch, length, d_model = tensor.size()
        return tensor.view(batch, length, self.n_head, d_model // self.n_head).transpose(1, 2)

    def forward(self, q, k, v, mask):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = q @ k.transpose(2, 3) / q.size(-1) ** 0.5
        score = score.masked_fill(mask == 0, -10000.0)
        out = torch.softmax(score, dim=-1) @ v
        return self.w_concat(out.transpose(1, 2).contiguous().flatten(2))


def build():
    return MultiHeadAttention()


def example_inputs():
    mask = torch.tril(torch.ones(9, 9))[None, None]
    x = torch.randn(3, 9, 32)
    return x, x, x, mask
