"""torch.compile of the model with the eager backend, and an encoder that is called alone before."""

import json

import torch
from torch import nn

torch.manual_seed(46)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


centers = 2 * torch.randn(4, 8)
unoptimized_model = model = Model()
with torch.no_grad():
    print("code", model.encoder(centers).mean().item())
model = torch.compile(model, backend="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for step in range(60):
    y = torch.randint(4, (32,))
    loss = nn.functional.cross_entropy(model(centers[y] + torch.randn(32, 8)), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"unoptimized_model": ["AdamW", 60, losses[0], losses[-1]]}))
