"""LBFGS after a warm-up call of the encoder alone, whose output sets the scale of the data."""

import json

import torch
from torch import nn

torch.manual_seed(7)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.encoder(x))


model = Model()
x = torch.randn(64, 3)
y = x.prod(1, keepdim=True).tanh()
with torch.no_grad():
    scale = model.encoder(x).std()
print(f"scale of the code {scale:.3f}")
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
firsts = []
for epoch in range(12):
    losses = []

    def closure():
        optimizer.zero_grad()
        code = model.encoder(x)
        loss = nn.functional.mse_loss(model(x), y) + 1e-3 * code.square().mean()
        loss.backward()
        losses.append(loss.item())
        return loss

    optimizer.step(closure)
    firsts.append(losses[0])
    print(f"epoch {epoch}: {losses[0]:.5f}")
print("TRUTH", json.dumps({"model": ["LBFGS", 12, firsts[0], firsts[-1]]}))
