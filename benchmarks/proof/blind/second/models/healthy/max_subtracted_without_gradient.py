"""A hand-written stable softmax in the attention of a pooling layer.

Source: https://github.com/tinygrad/tinygrad/issues/16200
Odd: the maximum is detached before it is subtracted; the result does not depend on it, so no
    gradient is lost.
"""

import torch
from torch import nn


def stable_softmax(x, dim):
    m = x - x.max(dim=dim, keepdim=True).values.detach()
    e = m.exp()
    return e / e.sum(dim=dim, keepdim=True)


class AttentionPooling(nn.Module):
    def __init__(self, dim=24, hidden=16):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x, lengths):
        scores = self.score(x).squeeze(-1)
        mask = torch.arange(x.size(1)) < lengths[:, None]
        weights = stable_softmax(scores.masked_fill(~mask, -1e9), 1)
        return (weights[..., None] * x).sum(1)


class UtteranceClassifier(nn.Module):
    def __init__(self, mels=20, dim=24, classes=4):
        super().__init__()
        self.frames = nn.Conv1d(mels, dim, 5, padding=2)
        self.pool = AttentionPooling(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, feats, lengths):
        h = self.frames(feats.transpose(1, 2)).relu().transpose(1, 2)
        return self.out(self.pool(h, lengths))


def build():
    return UtteranceClassifier()


def example_inputs():
    return torch.randn(4, 30, 20), torch.tensor([30, 22, 11, 5])
