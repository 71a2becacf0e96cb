"""A linear model of notes over a spectrogram whose weight starts at zero.

Source: https://github.com/jthickstun/pytorch_musicnet/issues/4
Odd: all weights are zero; for a linear model nothing must break a symmetry and it learns.
"""

import torch
import torch.nn.functional as F
from torch import nn


class NotesLinear(nn.Module):
    def __init__(self, k=40, m=12):
        super().__init__()
        self.linear = nn.Linear(k, m, bias=False)
        nn.init.constant_(self.linear.weight, 0)

    def forward(self, spectrum, notes):
        logits = self.linear(torch.log(1 + spectrum))
        return {"loss": F.binary_cross_entropy_with_logits(logits, notes), "logits": logits}


def example_inputs():
    return (
        torch.rand(16, 40),
        (torch.rand(16, 12) > 0.7).float(),
    )
