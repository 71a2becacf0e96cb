r"""Speaker-independent text encoding with an adversarial speaker classifier.

Source: https://github.com/hash2430/pitchtron/issues/3
Fault: backward of an nn.Module is never called by autograd, so the gradients are not reversed.
Cause: backward|autograd\.?Function|Function|never called|not (called|reversed)|revers
Place: GRL|grl|GradientReversal|revers
"""

import torch
import torch.nn.functional as F
from torch import nn


class GradientReversalLayer(nn.Module):  # here
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x

    def backward(self, grad):
        return -self.weight * grad


class DisentangledEncoder(nn.Module):
    def __init__(self, in_dim=12, hidden=16, n_speakers=4):
        super().__init__()
        self.text_encoder = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU())
        self.grl = GradientReversalLayer()
        self.speaker_classifier = nn.Linear(hidden, n_speakers)
        self.pitch = nn.Linear(hidden, 3)

    def forward(self, text, speaker, pitch):
        h = self.text_encoder(text)
        adv = F.cross_entropy(self.speaker_classifier(self.grl(h)), speaker)
        return {"loss": F.mse_loss(self.pitch(h), pitch) + adv, "hidden": h}


def build():
    return DisentangledEncoder()


def example_inputs():
    return (
        torch.randn(8, 12),
        torch.randint(0, 4, (8,)),
        torch.randn(8, 3),
    )
