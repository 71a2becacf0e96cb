r"""Joint model of the intent of a request and of the slot of each of its words.

Source: https://github.com/ray075hl/Bi-Model-Intent-And-Slot/pull/2
Fault: The LSTM expects time first but gets batch first, so it runs along the samples.
Cause: batch_first|(batch|samples?) .*(time|sequence|mix|recurren|order|depend)|time .*batch
    |(mix|depend|leak)\w* .*(batch|samples?|other rows)
Place: \bencoder\.lstm\b|\blstm\b
"""

import torch
from torch import nn


class SlotEncoder(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True)  # here

    def forward(self, x):
        x, _ = self.lstm(self.embedding(x))
        return x


class IntentAndSlot(nn.Module):
    def __init__(self, vocab=120, intents=7, slots=15, hidden=24):
        super().__init__()
        self.encoder = SlotEncoder(vocab, 32, hidden)
        self.dropout = nn.Dropout(0.2)
        self.slot = nn.Linear(2 * hidden, slots)
        self.intent = nn.Linear(2 * hidden, intents)

    def forward(self, words):
        h = self.dropout(self.encoder(words))
        return self.intent(h.mean(dim=1)), self.slot(h)


def build():
    return IntentAndSlot()


def example_inputs():
    return torch.randint(0, 120, (6, 14))
