"""An encoder and a decoder with attention, as for translation."""

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, source=120, target=90, width=32):
        super().__init__()
        self.source = nn.Embedding(source, width)
        self.target = nn.Embedding(target, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.query = nn.Linear(width, width)
        self.combine = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, target)

    def forward(self, source, target):
        memory, state = self.encoder(self.source(source))
        states, _ = self.decoder(self.target(target), state)
        scores = self.query(states) @ memory.transpose(1, 2) / memory.shape[-1] ** 0.5
        context = torch.softmax(scores, dim=-1) @ memory
        joined = torch.tanh(self.combine(torch.cat([states, context], dim=-1)))
        return self.output(joined)


def example_inputs():
    return torch.randint(0, 120, (6, 10)), torch.randint(0, 90, (6, 8))
