r"""A density network that keeps its rates positive with a hand-written ELU plus one.

Source: https://github.com/pytorch/pytorch/issues/68425
    https://github.com/pytorch/pytorch/issues/52248
Fault: torch.where picks a branch in the forward, but exp overflows for large inputs in the branch
    that is not taken, and zero times infinity gives nan gradients.
Cause: torch.where|\bwhere\(|overflow|\bexp\b.*\b(inf\w*|large)\b|(unselected|other|unused)
    branch|branch\b.*\bnot
Place: \bpositive\b|torch.exp
"""

import torch
from torch import nn


def positive(x):
    return torch.where(x <= 0, torch.exp(x), 1 + x)  # here


class IntensityNet(nn.Module):
    def __init__(self, features=6, hidden=32, events=4):
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.rates = nn.Linear(hidden, events)

    def forward(self, x, counts):
        rate = positive(self.rates(torch.relu(self.hidden(x))))
        loss = (rate - counts * torch.log(rate + 1e-6)).mean()
        return {"loss": loss, "rate": rate}


def example_inputs():
    x = torch.randn(48, 6)
    x[:, 0] = torch.randint(0, 1500, (48,)).float()  # minutes since midnight
    return x, torch.randint(0, 20, (48, 4)).float()
