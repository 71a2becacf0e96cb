"""Domain-adversarial training with a small reversal weight.

Source: https://github.com/fungtion/DANN/issues/3
Odd: forward of the Function returns x.view_as(x), which looks useless; autograd needs it.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ReverseLayerF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class DANN(nn.Module):
    def __init__(self, in_dim=10, hidden=32, classes=3, alpha=0.1):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU())
        self.class_classifier = nn.Linear(hidden, classes)
        self.domain_classifier = nn.Linear(hidden, 2)
        self.alpha = alpha

    def forward(self, x, label, domain):
        h = self.feature(x)
        err = F.cross_entropy(self.class_classifier(h), label)
        d = self.domain_classifier(ReverseLayerF.apply(h, self.alpha))
        return {"loss": err + F.cross_entropy(d, domain), "class_loss": err}


def build():
    return DANN()


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randint(0, 3, (16,)),
        torch.randint(0, 2, (16,)),
    )
