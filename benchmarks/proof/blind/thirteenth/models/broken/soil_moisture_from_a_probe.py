r"""Soil moisture from the raw channels of a probe, brought to common units inside of the model.

Source: https://github.com/NVIDIA/earth2studio/issues/1133
Fault: the channels are scaled in place, on the tensor of the caller; every further pass over the
    same data scales it again, so the inputs shift from epoch to epoch.
Cause: in[- _]?place.{0,120}(input|caller|data|channel|tensor|argument|batch)
    |(input|caller|argument|data|batch).{0,100}(in[- _]?place|overwrit|modif|mutat|changed by)
    |(modif|overwrit|mutat|chang).{0,40}(its|the|their).{0,20}(input|argument|caller|data)
    |(sub_|mul_|div_)
Place: sub_|mul_|div_|channels|common_units|offset|factor
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CHANNELS, DEPTHS = 6, 3


class MoistureModel(nn.Module):
    def __init__(self, offset, factor, hidden=32):
        super().__init__()
        self.register_buffer("offset", offset)
        self.register_buffer("factor", factor)
        self.net = nn.Sequential(
            nn.Linear(CHANNELS, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, DEPTHS),
        )

    def common_units(self, channels):
        return channels.sub_(self.offset).mul_(self.factor)  # here

    def forward(self, channels, moisture=None):
        predicted = self.net(self.common_units(channels))
        if moisture is None:
            return predicted
        return F.mse_loss(predicted, moisture)


OFFSET = torch.tensor([20.0, 300.0, 5.0, 1.0, 50.0, 8.0])
FACTOR = torch.tensor([0.2, 0.01, 0.8, 0.5, 0.05, 0.1])


def make_probe(n, seed):
    g = torch.Generator().manual_seed(seed)
    clean = torch.randn(n, CHANNELS, generator=g)
    moisture = torch.stack([
        torch.tanh(clean[:, 0] + clean[:, 1]),
        clean[:, 2] * clean[:, 3] / 2,
        torch.sin(clean[:, 4]) - 0.5 * clean[:, 5],
    ], dim=-1)
    return clean / FACTOR + OFFSET, moisture


def build():
    torch.manual_seed(0)
    return MoistureModel(OFFSET, FACTOR)


def example_inputs():
    return make_probe(96, seed=76)
