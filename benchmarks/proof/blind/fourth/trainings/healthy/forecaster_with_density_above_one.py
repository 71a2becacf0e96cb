r"""Forecast of a smooth series as a Gaussian by a recurrent network.

Source: https://github.com/awslabs/gluonts/issues/687
Odd: The negative log likelihood falls below zero, as the density of a narrow Gaussian is above 1.
"""

import torch
from torch import nn
from torch.distributions import Normal


class DeepAR(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.mean, self.scale = nn.Linear(hidden, 1), nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.rnn(x)[0]
        return Normal(self.mean(h), nn.functional.softplus(self.scale(h)) + 1e-3)


torch.manual_seed(0)
t = torch.arange(31) * 0.3
model = DeepAR()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    series = 0.5 * torch.sin(t + torch.rand(32, 1) * 6.28) + 0.02 * torch.randn(32, 31)
    loss = -model(series[:, :-1, None]).log_prob(series[:, 1:, None]).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step} loss {loss.item():.3f}")
print(f"loss {loss.item():.3f}")
