"""Domain-adversarial training with the schedule of lambda from the paper.

Source: https://github.com/CuthbertCai/pytorch_DANN/issues/10
Fault: gamma is negative so lambda is negative, and the reversal negates again: nothing is
    reversed.
Cause: (double|twice|two).*(neg|sign|minus)|sign|negative|gamma
Place: gamma|lamb|constant
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class GRL(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.constant, None


class DANN(nn.Module):
    def __init__(self, in_dim=10, hidden=24, gamma=-10.0, progress=0.5):  # here
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU())
        self.domain = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 2))
        self.gamma, self.progress = gamma, progress

    def forward(self, x, domain_label):
        constant = 2.0 / (1.0 + math.exp(-self.gamma * self.progress)) - 1
        feature = GRL.apply(self.feature(x), constant)
        logits = self.domain(feature)
        return {"loss": F.cross_entropy(logits, domain_label), "logits": logits}


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randint(0, 2, (16,)),
    )
