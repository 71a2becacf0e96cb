r"""Contrast of two views against a queue, as a classification.

Source: https://github.com/facebookresearch/moco/issues/24
Odd: Each label is 0, because the positive is the first of the scores; the keys and the queue have
    no gradient.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Contrast(nn.Module):
    def __init__(self, size=20, dim=16, queue=48, T=0.1):
        super().__init__()
        self.encoder_q = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(dim, queue), dim=0))
        self.T = T

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = (q * k).sum(1, keepdim=True)
        logits = torch.cat([l_pos, q @ self.queue], dim=1) / self.T
        labels = torch.zeros(len(logits), dtype=torch.long)
        return F.cross_entropy(logits, labels)


def build():
    return Contrast()


def example_inputs():
    x = torch.randn(12, 20)
    return x + 0.1 * torch.randn(12, 20), x + 0.1 * torch.randn(12, 20)
