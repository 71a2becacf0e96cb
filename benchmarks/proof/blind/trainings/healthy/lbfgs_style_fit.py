r"""Fits the parameters of a damped oscillation with L-BFGS.

Source: https://github.com/pytorch/examples/blob/main/time_sequence_prediction/train.py
    https://pytorch.org/docs/stable/optim.html#optimizer-step-closure
Odd: One step runs the closure up to twenty times, with as many backward passes, and the parameters
    hardly move in the last steps: the fit has converged.
"""

import torch
from torch import nn


class Oscillation(nn.Module):
    def __init__(self):
        super().__init__()
        self.amplitude = nn.Parameter(torch.tensor(1.0))
        self.decay = nn.Parameter(torch.tensor(0.1))
        self.omega = nn.Parameter(torch.tensor(2.5))

    def forward(self, t):
        return self.amplitude * torch.exp(-self.decay * t) * torch.cos(self.omega * t)


torch.manual_seed(0)
t = torch.linspace(0, 4, 120)
target = 2.0 * torch.exp(-0.4 * t) * torch.cos(3.0 * t) + 0.02 * torch.randn(120)
seq, criterion = Oscillation(), nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, line_search_fn="strong_wolfe")
for i in range(20):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(t), target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if i % 4 == 0 or i == 19:
        values = ", ".join(f"{p.item():.3f}" for p in seq.parameters())
        print(f"STEP: {i} loss: {loss.item():.6f} ({values})")
