"""A TextCNN with three widths of filters over word vectors.

Source: https://github.com/pytorch/pytorch/issues/1053
Fault: the convolutions are in a Python list, so they are not parameters of the model and never
    train.
Cause: ModuleList|not registered|unregistered|(plain|python) list|not (in|part of).*parameters
Place: conv
"""

import torch
import torch.nn.functional as F
from torch import nn


class TextCNN(nn.Module):
    def __init__(self, emb_dim=32, n_filters=12, n_classes=4):
        super().__init__()
        self.conv1d = [nn.Conv1d(emb_dim, n_filters, k) for k in (3, 4, 5)]  # here
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(3 * n_filters, n_classes)

    def forward(self, words):
        words = words.transpose(1, 2)
        pooled = [F.relu(conv(words)).max(dim=2).values for conv in self.conv1d]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


def example_inputs():
    return (torch.randn(8, 20, 32),)
