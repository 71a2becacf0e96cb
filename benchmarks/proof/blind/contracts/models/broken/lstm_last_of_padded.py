r"""The model `IntentModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
Fault: The last output of a padded batch is taken without packing or lengths, so short sequences
    are summarised after many padding steps.
Cause: pad|pack|length|valid (step|token)|last (real|valid)
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
        out, _ = self.lstm(x)
        last = out[:, -1]
        return self.head(last)


def make_batch():
    lengths = torch.tensor([14, 3, 9, 5, 11, 7])
    tokens = torch.randint(1, 120, (6, 14))
    tokens[torch.arange(14)[None] >= lengths[:, None]] = 0
    return tokens, lengths


torch.manual_seed(0)
model = IntentModel()
example_inputs = (*make_batch(),)
