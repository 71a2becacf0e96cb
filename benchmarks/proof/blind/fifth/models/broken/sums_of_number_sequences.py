r"""Transformer that reads sequences of numbers and predicts one figure for each sequence.

Source: https://github.com/Exorust/TorchLeet/issues/5
Fault: The encoder layers expect time first, so they attend over the samples of the batch.
Cause: batch_first|(batch|samples?) .*(time|sequence|mix|attend|depend|first)
    |(mix|depend|leak|attend)\w* .*(batch|samples?|other rows)
Place: \btransformer\.layers\b|\bTransformerEncoderLayer\b
"""

import torch
from torch import nn


class SequenceRegressor(nn.Module):
    def __init__(self, input_dim=1, embed_dim=16, heads=2, layers=2, ff_dim=64, output_dim=1):
        super().__init__()
        self.embedding = nn.Linear(input_dim, embed_dim)
        self.position = nn.Parameter(torch.randn(1, 32, embed_dim) * 0.1)
        self.transformer = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(embed_dim, heads, ff_dim),  # here
            num_layers=layers,
            enable_nested_tensor=False,
        )
        self.output = nn.Linear(embed_dim, output_dim)

    def forward(self, x):
        x = self.embedding(x) + self.position[:, : x.size(1)]
        x = self.transformer(x)
        return self.output(x[:, -1, :])


def build():
    return SequenceRegressor()


def example_inputs():
    return torch.rand(10, 8, 1)
