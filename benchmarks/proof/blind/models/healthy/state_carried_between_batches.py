"""A language model that keeps its states from one batch to the next.

Source: https://github.com/yunjey/pytorch-tutorial/issues/90
    https://github.com/LiyuanLucasLiu/LD-Net/issues/6
Odd: the states are detached between batches: truncated backpropagation through time.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RNNLM(nn.Module):
    def __init__(self, vocab=15, embed=12, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, vocab)
        self.states = None

    def forward(self, ids):
        states = self.states
        if states is not None:
            states = tuple(s.detach() for s in states)
        out, self.states = self.lstm(self.embed(ids[:, :-1]), states)
        logits = self.linear(out)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())}


def example_inputs():
    return (torch.randint(0, 15, (4, 9)),)
