r"""A dual encoder with a hand-written normalisation of its sentence vectors.

Source: https://github.com/keras-team/keras/issues/23075
    https://github.com/pytorch/pytorch/issues/2421
Fault: rsqrt is taken of a sum of squares that is zero for empty sentences and the result is clamped
    afterwards; the value is fine but the gradient is nan.
Cause:
    sqrt|\bnorm\w*\b.*\bzero|zero\b.*\b(norm|vector|row)s?\b|\beps\b|epsilon|clamp|divi\w*\b.*\bzero
Place: l2_normalize|inv_norm|square_sum
"""

import torch
from torch import nn


def l2_normalize(x, epsilon=1e-6):
    square_sum = x.square().sum(-1, keepdim=True)
    inv_norm = torch.rsqrt(square_sum).clamp(max=1.0 / epsilon)  # here
    return x * inv_norm


class DualEncoder(nn.Module):
    def __init__(self, vocab=100, dim=32):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim, padding_idx=0)
        self.project = nn.Linear(dim, dim, bias=False)

    def encode(self, ids):
        mask = (ids != 0).float()[..., None]
        mean = (self.tokens(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return l2_normalize(self.project(mean))

    def forward(self, query, document):
        return self.encode(query) @ self.encode(document).t()


def example_inputs():
    query, document = torch.randint(1, 100, (2, 6, 8))
    document[4] = 0
    return query, document
