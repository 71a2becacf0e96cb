r"""Text classifier that merges the outputs of several one-dimensional convolutions.

Source: https://github.com/asyml/texar-pytorch/issues/72
Fault: The merging layer keeps its layers in a plain list, so their parameters are not registered.
Cause: register\w*|ModuleList|plain list|python list|in a list|not (in|among|part of) .*parameters
    |parameters\(\)|optimi[sz]er .*(see|miss|get|reach)
Place: \b_layers\b|\bmerge\._layers\b
"""

import torch
from torch import nn


class MergeLayer(nn.Module):
    """Applies each layer to the same input and merges the outputs."""

    def __init__(self, layers, mode="concat", dim=1):
        super().__init__()
        self._mode = mode
        self._dim = dim
        self._layers = list(layers)  # here

    def forward(self, input):
        outputs = [layer(input) for layer in self._layers]
        if self._mode == "concat":
            return torch.cat(outputs, dim=self._dim)
        return torch.stack(outputs).sum(dim=0)


class Conv1DClassifier(nn.Module):
    def __init__(self, vocab=200, dim=24, filters=16, kernels=(3, 4, 5), classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.merge = MergeLayer(
            nn.Sequential(nn.Conv1d(dim, filters, k), nn.ReLU(), nn.AdaptiveMaxPool1d(1))
            for k in kernels
        )
        self.dropout = nn.Dropout(0.25)
        self.dense = nn.Linear(filters * len(kernels), classes)

    def forward(self, tokens):
        x = self.merge(self.embedding(tokens).transpose(1, 2))
        return self.dense(self.dropout(x.flatten(1)))


def build():
    return Conv1DClassifier()


def example_inputs():
    return torch.randint(0, 200, (10, 24))
