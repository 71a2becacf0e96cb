r"""Context vectors of words from the encoder of a translator, for other tasks.

Source: https://github.com/salesforce/cove/issues/10
Fault: The LSTM takes the sentences of a batch for the time steps of a sequence.
Cause: batch_first|batch.{0,60}(time|sequence|step|recur|mix|depend)
    |(sample|sentence)s?.{0,60}(mix|depend|influence|leak|time|each other|another)
    |(time|sequence).{0,40}(dim|axis).{0,40}batch
Place: \brnn\b|lstm
"""

import torch
from torch import nn


class MTLSTM(nn.Module):
    def __init__(self, n_vocab=80, dim=30, hidden=20, residual=True):
        super().__init__()
        self.vectors = nn.Embedding(n_vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True)  # here
        self.residual = residual

    def forward(self, inputs):
        """Return the vectors of a batch of sentences, (batch, words, features)."""
        words = self.vectors(inputs)
        outputs, _ = self.rnn(words)
        if self.residual:
            outputs = torch.cat([words, outputs], dim=2)
        return outputs


def build():
    return MTLSTM()


def example_inputs():
    ids = torch.randint(1, 80, (5, 13))
    ids[1, 9:] = ids[3, 11:] = 0
    return ids
