r"""People and places in a report, from two readings of the sentence and its grammar graph.

Source: https://github.com/ContextScout/gcn_ner/issues/10
Fault: The states of the LSTM that reads from the end are not turned back before they are joined,
    so each word is paired with the backward state of its mirror word.
Cause: (flip\w*|revers\w*|\bturn\w*).{0,120}(back|again|missing|before|output\w*|states?|not|never|forgot\w*|order|align\w*)
    |(backward|second|bw|right.to.left)\w*.{0,120}(misalign\w*|not (re-?)?(aligned|flipped|reversed)|wrong order|mirror\w*|order|other end)
    |(misalign\w*|mirror\w*)
Place: flip|\bbw\b|backward|torch\.cat|lstm_bw|enc_bw|reversed
"""

import torch
from torch import nn
from torch.nn import functional as F


class GraphLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.fw, self.bw = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x, adj):
        down = adj / adj.sum(2, keepdim=True).clamp(min=1)
        back = adj.transpose(1, 2)
        up = back / back.sum(2, keepdim=True).clamp(min=1)
        return F.relu(torch.cat((down @ self.fw(x), up @ self.bw(x)), 2))


class ReportTagger(nn.Module):
    def __init__(self, words=200, tags=18, width=32, hidden=24, names=5):
        super().__init__()
        self.words, self.tags = nn.Embedding(words, width), nn.Embedding(tags, 8)
        self.before = nn.Sequential(nn.Linear(width + 8, width), nn.ReLU())
        self.enc_fw = nn.LSTM(width, hidden, batch_first=True)
        self.enc_bw = nn.LSTM(width, hidden, batch_first=True)
        self.graph = GraphLayer(2 * hidden, hidden)
        self.dropout = nn.Dropout(0.2)
        self.after = nn.Sequential(nn.Linear(4 * hidden, width), nn.ReLU(), nn.Linear(width, names))

    def forward(self, words, tags, adj):
        x = self.before(torch.cat((self.words(words), self.tags(tags)), 2))
        fw, _ = self.enc_fw(x)
        bw, _ = self.enc_bw(x.flip(1))
        encoded = self.dropout(torch.cat((fw, bw), 2))  # here
        return self.after(torch.cat((encoded, self.graph(encoded, adj)), 2))


def build():
    return ReportTagger()


def example_inputs():
    adj = (torch.rand(3, 11, 11) < 0.2).float()
    return torch.randint(0, 200, (3, 11)), torch.randint(0, 18, (3, 11)), adj
