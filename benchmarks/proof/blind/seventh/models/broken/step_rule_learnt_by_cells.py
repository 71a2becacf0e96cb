r"""A learnt optimiser: two normalised recurrent cells turn gradients into steps of the weights.

Source: https://github.com/ikostrikov/pytorch-meta-optimizer/issues/11
Fault: The recurrent cells are appended to a plain list, so they are not in parameters().
Cause: \blist\b|ModuleList|(not|un|never|n't).{0,20}regist|parameters\(\)|missing.{0,30}parameter
    |not.{0,20}(sub)?modules?|(parameter|weight)s?.{0,60}(missing|unknown|outside)
Place: lstms?|cells?
"""

import torch
from torch import nn


class NormCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.w_ih = nn.Linear(inputs, 4 * hidden, bias=False)
        self.w_hh = nn.Linear(hidden, 4 * hidden)
        self.ln_ih, self.ln_hh = nn.LayerNorm(4 * hidden), nn.LayerNorm(4 * hidden)
        self.ln_c = nn.LayerNorm(hidden)

    def forward(self, x, state):
        h, c = state
        gates = self.ln_ih(self.w_ih(x)) + self.ln_hh(self.w_hh(h))
        i, f, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(self.ln_c(c))
        return h, c


class StepRule(nn.Module):
    def __init__(self, layers=2, hidden=12, steps=5):
        super().__init__()
        self.hidden, self.steps = hidden, steps
        self.linear1 = nn.Linear(2, hidden)
        self.ln1 = nn.LayerNorm(hidden)
        self.lstms = []  # here
        for _ in range(layers):
            self.lstms.append(NormCell(hidden, hidden))
        self.linear2 = nn.Linear(hidden, 1)
        nn.init.normal_(self.linear2.weight, std=0.1)

    def forward(self, matrix, target):
        w = matrix.new_zeros(matrix.shape[0], matrix.shape[2])
        zeros = w.new_zeros(*w.shape, self.hidden)
        states = [(zeros, zeros) for _ in self.lstms]
        losses = []
        for _ in range(self.steps):
            error = torch.einsum("bij,bj->bi", matrix, w) - target
            losses.append(error.square().mean(1))
            grad = torch.einsum("bij,bi->bj", matrix, error).detach()
            log = torch.log(grad.abs() + 1e-6) / 10
            x = torch.tanh(self.ln1(self.linear1(torch.stack([log, grad.sign()], dim=-1))))
            for k, cell in enumerate(self.lstms):
                states[k] = cell(x, states[k])
                x = states[k][0]
            w = w + 0.1 * self.linear2(x).squeeze(-1)
        return torch.stack(losses, dim=1)


def build():
    return StepRule()


def example_inputs():
    return torch.randn(6, 5, 4), torch.randn(6, 5)
