"""An acoustic model with its own initialisation of the GRU.

Source: https://github.com/speechbrain/speechbrain/issues/104
Odd: all biases of the GRU are exactly zero, its recurrent weights orthogonal.
"""

import torch
from torch import nn


class AcousticModel(nn.Module):
    def __init__(self, feats=10, hidden=16, phones=6):
        super().__init__()
        self.gru = nn.GRU(feats, hidden, num_layers=2, batch_first=True)
        self.phones = nn.Linear(hidden, phones)
        for name, param in self.gru.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(param)
            elif "weight_hh" in name:
                nn.init.orthogonal_(param)
            else:
                nn.init.zeros_(param)

    def forward(self, x):
        return self.phones(self.gru(x)[0])


def example_inputs():
    return (torch.randn(4, 12, 10),)
