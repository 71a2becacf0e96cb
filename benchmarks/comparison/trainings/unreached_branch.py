"""Fault: the second head runs, but the loss does not use its output."""

import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 32)
        self.labels = nn.Linear(32, 4)
        self.sizes = nn.Linear(32, 1)

    def forward(self, x):
        hidden = torch.relu(self.body(x))
        return self.labels(hidden), self.sizes(hidden)


torch.manual_seed(0)
model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    labels, sizes = model(x)
    loss = nn.functional.cross_entropy(labels, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
