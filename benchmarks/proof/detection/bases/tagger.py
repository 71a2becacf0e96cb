"""Tags the words of a sentence with an LSTM."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocabulary=200, width=32, hidden=48, tags=9):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.dropout = nn.Dropout(0.2)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(2 * hidden, tags)

    def forward(self, words):
        x = self.embedding(words)
        x = self.dropout(x)
        states, _ = self.lstm(x)
        return self.classifier(states)


def example_inputs():
    return (torch.randint(1, 200, (6, 12)),)
