r"""Convolutional sentence classifier with several filter widths.

Source: https://github.com/pytorch/pytorch/issues/1053
Fault: The convolutions are kept in a plain list, so they are not registered and never trained.
Cause: (plain|python)? ?list|ModuleList|not registered|unregistered|missing from parameters
Place: convs|SentenceCNN
"""

import torch
import torch.nn.functional as F
from torch import nn


class SentenceCNN(nn.Module):
    def __init__(self, vocab=80, dim=20, filters=8, classes=4):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.convs = [nn.Conv1d(dim, filters, width) for width in (2, 3, 4)]  # here
        self.dropout = nn.Dropout(0.3)
        self.label = nn.Linear(3 * filters, classes)

    def forward(self, tokens):
        x = self.word(tokens).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=2) for conv in self.convs]
        return self.label(self.dropout(torch.cat(pooled, dim=1)))


def build():
    return SentenceCNN()


def example_inputs():
    return torch.randint(0, 80, (5, 14))
