r"""An echo state network: a random recurrent reservoir with a trained readout.

Source: https://github.com/nschaetti/EchoTorch
    https://github.com/stefanonardo/pytorch-esn
Odd: Almost all weights are buffers that never change and run under no_grad; only the readout is
    trained, and that is enough for the prediction.
"""

import math

import torch
from torch import nn


class ESN(nn.Module):
    def __init__(self, reservoir=120, spectral_radius=0.9):
        super().__init__()
        w = torch.randn(reservoir, reservoir) * (torch.rand(reservoir, reservoir) < 0.1)
        self.register_buffer("w", w * spectral_radius / torch.linalg.eigvals(w).abs().max())
        self.register_buffer("w_in", 0.5 * torch.randn(reservoir, 1))
        self.readout = nn.Linear(reservoir, 1)

    @torch.no_grad()
    def states(self, u):
        h, out = torch.zeros(len(self.w)), []
        for value in u:
            h = torch.tanh(self.w @ h + self.w_in[:, 0] * value)
            out.append(h)
        return torch.stack(out)


torch.manual_seed(0)
t = torch.arange(500) * 0.15
signal = torch.sin(t) * torch.sin(t / math.pi)
esn = ESN()
h = esn.states(signal[:-1])[50:]
target = signal[51:, None]
optimizer = torch.optim.Adam(esn.parameters(), lr=2e-2)
for step in range(200):
    loss = (esn.readout(h) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39 or step == 0:
        print(f"step {step} mse {loss.item():.6f}")
