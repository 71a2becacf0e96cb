r"""Predicts the next character at every position.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CharLM(nn.Module):
    """Predicts the next character at every position."""

    def __init__(self, chars=60, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(chars, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, chars)

    def forward(self, tokens):
        inp, target = tokens[:, :-1], tokens[:, 1:]
        h, _ = self.lstm(self.embed(inp))
        logits = self.out(h)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())


torch.manual_seed(0)
model = CharLM()
example_inputs = (torch.randint(0, 60, (4, 20)),)
