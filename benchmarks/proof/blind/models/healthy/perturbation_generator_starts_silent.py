"""A generator of perturbations for audio that starts with silence.

Source: https://github.com/smallflyingpig/universal_adversarial_perturbation_generative_network_for_speaker_recognition/issues/4
Odd: the last convolution is zero, the layers before it get a gradient after the first step.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PerturbationNet(nn.Module):
    def __init__(self, width=8, eps=2.0):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 5, padding=2)
        self.conv2 = nn.Conv1d(width, width, 5, padding=2)
        self.last = nn.Conv1d(width, 1, 5, padding=2)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)
        self.victim = nn.Conv1d(1, 4, 5, stride=2).requires_grad_(False)
        self.eps = eps

    def forward(self, wave):
        h = torch.relu(self.conv2(torch.relu(self.conv1(wave))))
        noise = self.eps * torch.tanh(self.last(h))
        logits = self.victim(wave + noise).mean(-1)
        target = torch.zeros(wave.size(0), dtype=torch.long)
        return {"loss": F.cross_entropy(logits, target), "noise": noise}


def example_inputs():
    return (torch.randn(4, 1, 32),)
