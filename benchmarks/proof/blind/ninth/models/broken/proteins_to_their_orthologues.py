r"""Convolutional classifier that puts proteins into groups of orthologues.

Source: https://github.com/univieCUBE/deepnog/issues/44
Fault: The dropout layer is made in the constructor but the forward pass never calls it.
Cause: drop-?out.{0,140}(never|not (used|called|applied)|unused|without|n't|forgot\w*|missing
    |ignored|no effect|dead|skipped|is defined|declared|created|inert)|(unused|never|not
    |miss\w*|forg\w*|ignor\w*|without|lack\w*|no).{0,40}drop-?out
Place: drop\w*|forward|regular\w*
"""

import torch
import torch.nn.functional as F
from torch import nn


class AminoAcidEmbedding(nn.Module):
    def __init__(self, letters=27, size=10):
        super().__init__()
        self.embedding = nn.Embedding(letters, size, padding_idx=0)

    def forward(self, sequence):
        return self.embedding(sequence)


class Orthologues(nn.Module):
    def __init__(self, classes=60, size=10, filters=24, kernels=(8, 12, 16, 20, 24, 28, 32, 36)):
        super().__init__()
        self.n_layers = len(kernels)
        self.encoding = AminoAcidEmbedding(size=size)
        for i, kernel in enumerate(kernels):
            conv = nn.Conv1d(size, filters, kernel, padding="same")
            self.add_module(f"conv{i + 1}", conv)
        self.pooling = nn.AdaptiveMaxPool1d(1)
        self.dropout = nn.Dropout(0.3)
        self.classification = nn.Linear(filters * len(kernels), classes)
        self.activation = nn.SELU()

    def forward(self, x):
        x = self.encoding(x).permute(0, 2, 1)
        found = []
        for i in range(self.n_layers):
            conv = getattr(self, f"conv{i + 1}")
            found.append(self.pooling(self.activation(conv(x))))
        x = torch.cat(found, 1).flatten(1)
        x = self.classification(x)  # here
        return F.log_softmax(x, 1)


def build():
    return Orthologues()


def example_inputs():
    return (torch.randint(1, 27, (4, 80)),)
