"""The token confidence of a feature matcher: a head that says whether a point may stop early.

Source: https://github.com/cvg/glue-factory/issues/89
Odd: the head ends in a sigmoid and the loss is BCEWithLogits, on detached descriptors; the loss
    takes the output of the linear layer only, and the detach is there to leave the matcher alone.
"""

import torch
from torch import nn


class TokenConfidence(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.token = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())
        self.loss_fn = nn.BCEWithLogitsLoss()

    def forward(self, desc):
        return self.token(desc.detach()).squeeze(-1)

    def loss(self, desc, correct):
        return self.loss_fn(self.token[0](desc.detach()).squeeze(-1), correct)


class Matcher(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.project = nn.Linear(dim, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.confidence = TokenConfidence(dim)

    def forward(self, desc0, desc1):
        n = desc0.size(1)
        both = self.layer(self.project(torch.cat([desc0, desc1], 1)))
        a, b = both[:, :n], both[:, n:]
        scores = a @ b.transpose(1, 2) / a.size(-1) ** 0.5
        target = torch.arange(n).expand(len(a), n)
        match = nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        correct = (scores.argmax(-1) == target).float()
        loss = match + self.confidence.loss(a, correct)
        return {"loss": loss, "scores": scores, "confidence": self.confidence(a)}


def build():
    return Matcher()


def example_inputs():
    desc = torch.randn(2, 24, 32)
    return desc, desc + 0.05 * torch.randn_like(desc)
