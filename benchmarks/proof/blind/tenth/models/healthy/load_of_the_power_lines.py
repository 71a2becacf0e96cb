r"""Load of power lines over the next hours, by a gated recurrent cell written by hand.

Source: https://github.com/pytorch/pytorch/issues/99531
Odd: The reset gate multiplies the old state after its matrix and bias and not before, and the new
    state is (1 - z) * n + z * h; both are as in the usual fused cell.
"""

import torch
from torch import nn
from torch.nn import functional as F


class GatedCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        bound = hidden**-0.5
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden, inputs).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden, hidden).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.empty(3 * hidden).uniform_(-bound, bound))
        self.bias_hh = nn.Parameter(torch.empty(3 * hidden).uniform_(-bound, bound))

    def forward(self, x, h):
        i_r, i_z, i_n = F.linear(x, self.weight_ih, self.bias_ih).chunk(3, 1)
        h_r, h_z, h_n = F.linear(h, self.weight_hh, self.bias_hh).chunk(3, 1)
        r = torch.sigmoid(i_r + h_r)
        z = torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * h


class LoadForecast(nn.Module):
    def __init__(self, lines=6, hidden=32, hours=4):
        super().__init__()
        self.hidden, self.hours = hidden, hours
        self.cell1, self.cell2 = GatedCell(lines, hidden), GatedCell(hidden, hidden)
        self.out = nn.Linear(hidden, lines)

    def forward(self, past):
        h1 = past.new_zeros(len(past), self.hidden)
        h2 = torch.zeros_like(h1)
        for x in past.unbind(1):
            h1 = self.cell1(x, h1)
            h2 = self.cell2(h1, h2)
        x, answers = past[:, -1], []
        for _ in range(self.hours):
            x = x + self.out(h2)
            answers.append(x)
            h1 = self.cell1(x, h1)
            h2 = self.cell2(h1, h2)
        return torch.stack(answers, 1)


def build():
    return LoadForecast()


def example_inputs():
    return (torch.randn(8, 24, 6),)
