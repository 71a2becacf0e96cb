r"""Classifier of padded sentences that are packed for a bidirectional network.

Source: https://github.com/bentrevett/pytorch-sentiment-analysis
Odd: The outputs of all steps are unused; the last two of the final states are both directions.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class Sentiment(nn.Module):
    def __init__(self, vocab=150, dim=24, hidden=32, classes=3, pad=0):
        super().__init__()
        self.pad = pad
        self.embedding = nn.Embedding(vocab, dim, padding_idx=pad)
        self.rnn = nn.LSTM(
            dim, hidden, num_layers=2, bidirectional=True, dropout=0.3, batch_first=True
        )
        self.fc = nn.Linear(2 * hidden, classes)
        self.dropout = nn.Dropout(0.3)

    def forward(self, text):
        lengths = (text != self.pad).sum(1).cpu()
        embedded = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.rnn(packed)
        return self.fc(self.dropout(torch.cat([hidden[-2], hidden[-1]], dim=1)))


def build():
    return Sentiment()


def example_inputs():
    text = torch.randint(1, 150, (6, 15))
    return text.masked_fill(torch.arange(15) >= torch.tensor([15, 4, 9, 12, 7, 2])[:, None], 0)
