r"""A deep equilibrium model: fixed-point iterations without gradients, then one with.

Source: https://github.com/locuslab/deq
    http://implicit-layers-tutorial.org/deep_equilibrium_models/
Odd: Twenty forward iterations run under no_grad and only the last one is differentiated; this
    one-step gradient is a known approximation, and the loss falls.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DEQLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        nn.init.normal_(self.lin.weight, std=0.4 / dim**0.5)

    def cell(self, z, x):
        return torch.tanh(self.lin(z) + x)

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(20):
                z = self.cell(z, x)
        return self.cell(z, x)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), DEQLayer(32), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    x = torch.randn(64, 8)
    loss = F.cross_entropy(model(x), x[:, :3].abs().argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step} loss {loss.item():.4f}")
