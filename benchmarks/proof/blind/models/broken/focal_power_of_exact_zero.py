r"""Detection scores with a binary focal loss and gamma 0.5.

Source: https://github.com/kornia/kornia/issues/918
Fault: saturated scores give 1 - p = 0, and the power 0.5 has an infinite slope there: NaN.
Cause: \bpow|gamma|\beps|infinite (slope|gradient|derivative)|saturat|power
Place: focal|pow|eps|probs
"""

import torch
from torch import nn


class AnchorScorer(nn.Module):
    def __init__(self, dim=8, alpha=0.25, gamma=0.5, eps=1e-8):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        nn.init.constant_(self.score.weight, 0.1)
        self.alpha, self.gamma, self.eps = alpha, gamma, eps

    def binary_focal_loss(self, logits, target):
        probs = torch.sigmoid(logits)
        pos = -self.alpha * torch.pow(1.0 - probs, self.gamma) * target  # here
        neg = -(1 - self.alpha) * torch.pow(probs, self.gamma) * (1.0 - target)
        loss = pos * torch.log(probs + self.eps) + neg * torch.log(1.0 - probs + self.eps)
        return loss.mean()

    def forward(self, roi, target):
        logits = self.score(roi)
        return {"loss": self.binary_focal_loss(logits, target), "logits": logits}


def example_inputs():
    return (
        torch.cat([torch.randn(6, 8), 400 * torch.ones(2, 8)]),
        torch.tensor([[0.0], [1.0]] * 4),
    )
