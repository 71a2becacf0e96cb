r"""Hand gestures from an event camera by neurons that send spikes.

Source: https://github.com/fangwei123456/spikingjelly/issues/536
Fault: The voltage of the neurons is not set back before a new recording, so what a batch leaves
    behind changes the answer for the next batch.
Cause: (state|voltage|membrane|potential|\bv\b|buffer|attribute).{0,120}(kept|carried|persist
    |reset|remain|previous|between|leak|set back|left|across|stale|stor\w*)
    |(reset|previous (batch|call)|earlier call|stateful)
    |(between|across) (calls|batches|forward).{0,60}(state|kept|voltage|memory)
Place: \bv\b|Spike\w*|Neuron|Lif\w*|lif\w*|reset
"""

import torch
from torch import nn


class Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(4 * x)
        return grad * 4 * s * (1 - s)


class LifNeuron(nn.Module):
    def __init__(self, tau=2.0, v_threshold=0.3):
        super().__init__()
        self.tau, self.v_threshold = tau, v_threshold
        self.v = 0.0

    def forward(self, sequence):
        v = self.v
        spikes = []
        for current in sequence.unbind(0):
            v = v + (current - v) / self.tau
            spike = Surrogate.apply(v - self.v_threshold)
            v = v * (1 - spike.detach())
            spikes.append(spike)
        self.v = v.detach()  # here
        return torch.stack(spikes)


def over_time(layer, x):
    y = layer(x.flatten(0, 1))
    return y.view(*x.shape[:2], *y.shape[1:])


class GestureSpikes(nn.Module):
    def __init__(self, width=12, gestures=11):
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        )
        self.conv2 = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        )
        self.lif1, self.lif2, self.lif3 = LifNeuron(), LifNeuron(), LifNeuron()
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Sequential(nn.Linear(width * 16, 40, bias=False), nn.BatchNorm1d(40))
        self.fc2 = nn.Linear(40, gestures)

    def forward(self, events):
        x = events.transpose(0, 1)
        x = over_time(self.pool, self.lif1(over_time(self.conv1, x)))
        x = over_time(self.pool, self.lif2(over_time(self.conv2, x)))
        x = self.lif3(over_time(self.fc1, x.flatten(2)))
        return self.fc2(x.mean(0))


def build():
    return GestureSpikes()


def example_inputs():
    return (3 * (torch.rand(4, 6, 2, 16, 16) < 0.3).float(),)
