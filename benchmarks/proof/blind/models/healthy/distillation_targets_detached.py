"""Learning without forgetting: the scores of the old model are targets.

Source: https://github.com/GMvandeVen/continual-learning/issues/18
Odd: the targets are detached and the previous model has no gradient.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class LwF(nn.Module):
    def __init__(self, dim=10, classes=4, temp=2.0):
        super().__init__()
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, classes))
        self.previous = copy.deepcopy(self.classifier).requires_grad_(False)
        self.temp = temp

    def forward(self, x, y):
        scores = self.classifier(x)
        log_norm = F.log_softmax(scores / self.temp, dim=1)
        targets_norm = F.softmax(self.previous(x) / self.temp, dim=1).detach()
        kd = -(targets_norm * log_norm).sum(1).mean() * self.temp**2
        return {"loss": F.cross_entropy(scores, y) + 0.2 * kd, "scores": scores}


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randint(0, 4, (16,)),
    )
