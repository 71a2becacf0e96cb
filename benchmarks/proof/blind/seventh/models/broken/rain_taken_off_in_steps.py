r"""Rain removed from a picture in several steps, each helped by the states of the step before.

Source: https://github.com/XiaLiPKU/RESCAN/issues/2
Fault: From the second step on the new state is stored in z and never used, so the unit passes on
    the old state and does not see its input.
Cause: \bz\b.{0,80}(unused|never|not|ignored|discard|lost|dead|no effect|thrown)
    |(conv_h|conv_x|state|hidden|\bh\b|recurren\w*).{0,100}(unused|never (updated|used|read)
    |not updated|ignor|discard|stale|\bold\b|no effect)
    |(unused|discarded|never used|not used|ignored|overwritten).{0,60}(\bz\b|conv_h|\bstate
    |result|update)
Place: \bz\b|\bh\b|conv_h|conv_x
"""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(channels, 6), nn.ReLU(), nn.Linear(6, channels), nn.Sigmoid()
        )

    def forward(self, x):
        return x * self.fc(x.mean(dim=(2, 3)))[..., None, None]


class ConvRNN(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.conv_x = nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation)
        self.conv_h = nn.Conv2d(cout, cout, 3, padding=1)
        self.se = Gate(cout)
        self.relu = nn.LeakyReLU(0.2)

    def forward(self, x, h=None):
        if h is None:
            h = torch.tanh(self.conv_x(x))
        else:
            z = torch.tanh(self.conv_x(x) + self.conv_h(h))  # here
        h = self.relu(self.se(h))
        return h, h


class RainSteps(nn.Module):
    def __init__(self, width=20, steps=3):
        super().__init__()
        self.steps = steps
        dilations = (1, 2, 4)
        self.rnns = nn.ModuleList(
            ConvRNN(3 if i == 0 else width, width, d) for i, d in enumerate(dilations)
        )
        self.decode = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(width, 3, 1)
        )

    def forward(self, rainy):
        states, clean, outputs = [None] * len(self.rnns), rainy, []
        for _ in range(self.steps):
            x = clean
            for i, rnn in enumerate(self.rnns):
                x, states[i] = rnn(x, states[i])
            clean = clean - self.decode(x)
            outputs.append(clean)
        return torch.stack(outputs, dim=1)


def build():
    return RainSteps()


def example_inputs():
    streaks = (torch.rand(4, 1, 24, 24) > 0.95).float()
    return (0.7 * torch.rand(4, 3, 24, 24) + 0.3 * streaks,)
