r"""The model `IntentModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence


class IntentModel(nn.Module):
    def __init__(self, vocab=120, dim=24, hidden=32, classes=7):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, tokens, lengths):
        x = self.embed(tokens)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        last = h[-1]
        return self.head(last)


def make_batch():
    lengths = torch.tensor([14, 3, 9, 5, 11, 7])
    tokens = torch.randint(1, 120, (6, 14))
    tokens[torch.arange(14)[None] >= lengths[:, None]] = 0
    return tokens, lengths


torch.manual_seed(0)
model = IntentModel()
example_inputs = (*make_batch(),)
