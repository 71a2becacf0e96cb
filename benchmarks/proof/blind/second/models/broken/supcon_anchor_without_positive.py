r"""A supervised contrastive loss over one view per image.

Source: https://github.com/HobbitLong/SupContrast/pull/142
    https://github.com/HobbitLong/SupContrast/issues/20
Fault: an anchor whose class occurs once in the batch has no positive, its mean is zero divided by
    zero, and the loss and the gradients become nan.
Cause: (zero|0)\b.*\bdivi|divi\w*\b.*\b(zero|0)\b|0 ?/ ?0|(no|without|without a) positive|mask.sum
Place: mean_log_prob_pos|mask.sum
"""

import torch
import torch.nn.functional as F
from torch import nn


class SupConLoss(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        mask = (labels[:, None] == labels[None]).float()
        logits = features @ features.t() / self.temperature
        logits = logits - logits.max(1, keepdim=True).values.detach()
        logits_mask = 1 - torch.eye(len(labels))
        mask = mask * logits_mask
        log_prob = logits - torch.log((logits.exp() * logits_mask).sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)  # here
        return -mean_log_prob_pos.mean()


class SupConNet(nn.Module):
    def __init__(self, feat_dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, feat_dim))
        self.criterion = SupConLoss()

    def forward(self, images, labels):
        feat = self.encoder(images).mean((2, 3))
        feat = F.normalize(self.head(feat), dim=1)
        return {"loss": self.criterion(feat, labels), "features": feat}


def build():
    return SupConNet()


def example_inputs():
    return torch.randn(10, 3, 16, 16), torch.tensor([0, 1, 1, 3, 2, 2, 0, 4, 1, 2])
