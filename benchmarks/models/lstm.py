"""A language model with a two-layer LSTM: 10,000 words, 256 features, 6,182,672 parameters."""

import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10_000, 256)
        self.lstm = nn.LSTM(256, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 10_000)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embedding(tokens))
        return self.head(hidden)


def build_model():
    return LanguageModel()


def example_inputs():
    return (torch.randint(0, 10_000, (4, 35)),)
