r"""The model `TripModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
Fault: The batch is sorted by length for packing, but the outputs are not put back into the
    original order.
Cause: (order|sort|permut).*(restor|undo|invers|not (put )?back|original|unsort|mismatch)|unsort
    |(batch|sample)s? .*(order|permut|shuffl|sorted)
"""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence


class LengthSortedEncoder(nn.Module):
    def __init__(self, features=8, hidden=20, classes=3):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, lengths):
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(x[order], lengths, batch_first=True)
        _, (h, _) = self.lstm(packed)
        h = h[-1]
        return self.head(torch.tanh(h))


class TripModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = LengthSortedEncoder()

    def forward(self, x, lengths):
        return self.encoder(x, lengths)


torch.manual_seed(0)
model = TripModel()
example_inputs = (torch.randn(6, 12, 8), torch.tensor([4, 12, 7, 9, 3, 10]),)
