"""torch.compile, with the backend as an argument; no C++ compiler is needed for these."""

import sys

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.mix = nn.Linear(6, 6)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.mix(self.norm(x)))


torch.manual_seed(42)
model = nn.Sequential(Mixer(), Mixer(), nn.Linear(6, 1))
compiled = torch.compile(model, backend=sys.argv[1])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(10, 6)
    loss = (compiled(x).squeeze(1) - x.sum(1)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("model", optimizer, loss)
    optimizer.step()
    # truth: after("model")
    print(step, loss.item())
torch.save(model.state_dict(), sys.argv[2])
