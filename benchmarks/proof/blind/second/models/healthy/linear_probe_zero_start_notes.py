"""A linear classifier of musical notes on filterbank energies, as in the MusicNet baselines.

Source: https://github.com/jthickstun/pytorch_musicnet/issues/4
Odd: all the weights are zero, so all the outputs are zero too; the model is a single linear layer,
    so there is no symmetry to break and its gradients are not zero.
"""

import torch
from torch import nn


class NoteModel(nn.Module):
    def __init__(self, regions=10, k=24, notes=48):
        super().__init__()
        bank = torch.randn(k, 1, 64) * torch.hann_window(64)
        self.register_buffer("filters", bank)
        self.regions = regions
        self.linear = nn.Linear(regions * k, notes, bias=False)
        nn.init.constant_(self.linear.weight, 0.0)

    def forward(self, wave):
        energy = torch.conv1d(wave[:, None], self.filters, stride=16).square()
        energy = torch.log1p(nn.functional.adaptive_avg_pool1d(energy, self.regions))
        return self.linear(energy.flatten(1))


def example_inputs():
    return (torch.randn(6, 1024),)
