r"""Contrast of two views with a queue of negatives, and its loss.

Source: https://github.com/Seonghoon-Yu/MoCov2_Pytorch_tutorial/issues/2
Fault: A column of positives plus a row of negatives is a square, so the loss compares each sample
    with the negatives of all samples.
Cause: broadcast|\(\d+, ?1\)|(every|all|each) pairs?|square|outer|shapes? .*(differ|mismatch)
Place: denominator
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class MoCo(nn.Module):
    def __init__(self, size=20, dim=16, queue=64, temperature=0.2):
        super().__init__()
        self.encoder_q = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue, dim), dim=1))
        self.temperature = temperature

    def forward(self, view_q, view_k):
        q = F.normalize(self.encoder_q(view_q), dim=1)
        with torch.no_grad():
            k = F.normalize(self.encoder_k(view_k), dim=1)
        n, c = q.shape
        pos = torch.exp(torch.bmm(q.view(n, 1, c), k.view(n, c, 1)).view(n, 1) / self.temperature)
        neg = torch.sum(torch.exp(q @ self.queue.t() / self.temperature), dim=1)
        denominator = pos + neg  # here
        return torch.mean(-torch.log(pos / denominator))


def build():
    return MoCo()


def example_inputs():
    x = torch.randn(10, 20)
    return x + 0.1 * torch.randn(10, 20), x + 0.1 * torch.randn(10, 20)
