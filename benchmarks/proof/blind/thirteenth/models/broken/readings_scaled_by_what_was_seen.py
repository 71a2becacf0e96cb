r"""State of a compressor from its sensors, which are scaled by running averages kept in buffers.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Buffer.html
Fault: the running mean and spread are moved on in every forward pass, in evaluation too, so a
    prediction changes with whatever was evaluated before it.
Cause: (running|moving|mean|spread|statistic|buffer|average).{0,120}(eval|inference|at test
    |every (forward|call|pass)|each (forward|call|pass)|training (flag|mode)|self\.training
    |outside (of )?training)
    |(eval|inference).{0,120}(running|moving|mean|spread|statistic|buffer|average|state)
    |(not|no|never|without).{0,40}self\.training
Place: mean|spread|RunningScale|scale|lerp_|buffer
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SENSORS, STATES = 8, 3


class RunningScale(nn.Module):
    def __init__(self, features, rate=0.05):
        super().__init__()
        self.rate = rate
        self.mean = nn.Buffer(torch.zeros(features))
        self.spread = nn.Buffer(torch.ones(features))

    def forward(self, x):
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), self.rate)  # here
            self.spread.lerp_((x - self.mean).abs().mean(0), self.rate)  # here
        return (x - self.mean) / (self.spread + 1e-3)


class CompressorState(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.scale = RunningScale(SENSORS)
        self.net = nn.Sequential(
            nn.Linear(SENSORS, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, STATES),
        )

    def forward(self, readings, state=None):
        scores = self.net(self.scale(readings))
        if state is None:
            return scores
        return F.cross_entropy(scores, state)


def make_readings(n, seed):
    g = torch.Generator().manual_seed(seed)
    state = torch.randint(0, STATES, (n,), generator=g)
    unit = torch.tensor([1.0, 10.0, 0.1, 5.0, 1.0, 100.0, 3.0, 0.5])
    level = torch.arange(SENSORS).float()
    shift = torch.sin(level * (1 + state.view(-1, 1)))
    readings = unit * (level + shift + 0.3 * torch.randn(n, SENSORS, generator=g))
    return readings, state


def build():
    torch.manual_seed(0)
    return CompressorState()


def example_inputs():
    return make_readings(64, seed=22)
