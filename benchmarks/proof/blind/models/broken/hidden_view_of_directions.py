"""A sentence classifier on the last hidden states of a bidirectional GRU.

Source: https://github.com/pytorch/pytorch/issues/19675
Fault: h_n is (directions, batch, hidden) and view(batch, -1) mixes hidden states of other
    samples.
Cause: view|reshape|transpose|permute|(direction|h_n).*(mix|order|batch)
Place: view|h_n|hidden
"""

import torch
from torch import nn


class BiGRUClassifier(nn.Module):
    def __init__(self, vocab=20, emb=12, hidden=10, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, text):
        _, h_n = self.gru(self.embedding(text))
        features = h_n.view(text.size(0), -1)  # here
        return self.fc(self.dropout(features))


def example_inputs():
    return (torch.randint(0, 20, (6, 7)),)
