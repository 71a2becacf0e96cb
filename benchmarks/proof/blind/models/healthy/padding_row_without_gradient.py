"""A sum of word vectors with padding_idx.

Source: https://github.com/pytorch/pytorch/issues/1812
Odd: the row of the padding index is zero and never gets a gradient.
"""

import torch
from torch import nn


class PaddedBag(nn.Module):
    def __init__(self, vocab=12, dim=16, classes=3, pad=0):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=pad)
        nn.init.normal_(self.embedding.weight, std=0.1)
        with torch.no_grad():
            self.embedding.weight[pad].zero_()
        self.fc = nn.Linear(dim, classes)
        self.pad = pad

    def forward(self, text):
        count = (text != self.pad).sum(1, keepdim=True).clamp(min=1)
        return self.fc(self.embedding(text).sum(1) / count)


def example_inputs():
    return (torch.tensor([[4, 5, 6, 0, 0], [7, 2, 0, 0, 0], [3, 8, 9, 1, 2]]),)
