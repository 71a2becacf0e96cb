"""Self-supervised training with a classifier that watches the features online.

Source: https://github.com/vturrisi/solo-learn/issues/135
Odd: the classifier sees detached features, so its loss does not train the backbone; SSL does.
"""

import torch
import torch.nn.functional as F
from torch import nn


class OnlineProbe(nn.Module):
    def __init__(self, dim=12, hidden=32, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.predictor = nn.Linear(hidden, 16)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, view1, view2, targets):
        f1, f2 = self.backbone(view1), self.backbone(view2)
        z1, z2 = self.predictor(f1), self.predictor(f2)
        ssl = F.mse_loss(z1, z2) + F.relu(1 - z1.std(0)).mean() + F.relu(1 - z2.std(0)).mean()
        logits = self.classifier(f1.detach())
        return {"loss": ssl + F.cross_entropy(logits, targets), "logits": logits}


def example_inputs():
    return (
        torch.randn(16, 12),
        torch.randn(16, 12),
        torch.randint(0, 4, (16,)),
    )
