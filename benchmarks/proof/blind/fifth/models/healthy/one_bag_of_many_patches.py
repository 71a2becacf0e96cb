r"""Classifier of a slide from its patches, where a batch is one bag.

Source: https://github.com/AMLab-Amsterdam/AttentionDeepMIL
Odd: The softmax runs over the rows of the input; they are the patches of one bag, not samples.
"""

import torch
from torch import nn


class GatedAttention(nn.Module):
    def __init__(self, channels=1, dim=64, inner=32):
        super().__init__()
        self.feature_extractor_part1 = nn.Sequential(
            nn.Conv2d(channels, 8, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.feature_extractor_part2 = nn.Sequential(nn.Linear(16 * 16, dim), nn.ReLU())
        self.attention_V = nn.Sequential(nn.Linear(dim, inner), nn.Tanh())
        self.attention_U = nn.Sequential(nn.Linear(dim, inner), nn.Sigmoid())
        self.attention_weights = nn.Linear(inner, 1)
        self.classifier = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())

    def forward(self, bag):
        h = self.feature_extractor_part1(bag).flatten(1)
        h = self.feature_extractor_part2(h)
        a = self.attention_weights(self.attention_V(h) * self.attention_U(h))
        a = torch.softmax(a.transpose(1, 0), dim=1)
        return self.classifier(torch.mm(a, h)), a


def build():
    return GatedAttention()


def example_inputs():
    return torch.rand(14, 1, 24, 24)
