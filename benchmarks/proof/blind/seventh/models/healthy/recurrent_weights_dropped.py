r"""Next word from a recurrent net whose hidden-to-hidden weights are dropped during training.

Source: https://github.com/salesforce/awd-lstm-lm/blob/master/weight_drop.py
Odd: The drop-out acts on a weight matrix and not on activations, one mask for all the steps; the
    raw matrix is the parameter, and the matrix in use is made from it in each call.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DroppedGRU(nn.Module):
    def __init__(self, inputs, hidden, dropout):
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        bound = hidden**-0.5
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden, inputs).uniform_(-bound, bound))
        self.weight_hh_raw = nn.Parameter(torch.empty(3 * hidden, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(3 * hidden))

    def forward(self, x):
        weight_hh = F.dropout(self.weight_hh_raw, self.dropout, self.training)
        h = x.new_zeros(x.shape[0], self.hidden)
        outputs = []
        for step in F.linear(x, self.weight_ih, self.bias).unbind(1):
            r, z, n = step.chunk(3, dim=1)
            hr, hz, hn = F.linear(h, weight_hh).chunk(3, dim=1)
            r, z = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
            n = torch.tanh(n + r * hn)
            h = (1 - z) * n + z * h
            outputs.append(h)
        return torch.stack(outputs, dim=1)


class LockedDropout(nn.Module):
    def forward(self, x, p):
        if not self.training:
            return x
        mask = x.new_empty(x.shape[0], 1, x.shape[2]).bernoulli_(1 - p) / (1 - p)
        return x * mask


class WordModel(nn.Module):
    def __init__(self, vocab=70, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        self.lock = LockedDropout()
        self.rnn1, self.rnn2 = DroppedGRU(dim, 48, 0.5), DroppedGRU(48, dim, 0.5)
        self.decoder = nn.Linear(dim, vocab)
        self.decoder.weight = self.embed.weight

    def forward(self, words):
        x = self.lock(self.embed(words), 0.3)
        x = self.lock(self.rnn2(self.lock(self.rnn1(x), 0.25)), 0.3)
        return self.decoder(x)


def build():
    return WordModel()


def example_inputs():
    return (torch.randint(0, 70, (6, 12)),)
