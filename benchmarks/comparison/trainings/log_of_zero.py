"""Fault: a sample of step 20 has a zero, whose logarithm is -inf."""

import torch
from torch import nn


class OfCounts(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(16, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, counts):
        logs = torch.log(counts)
        return self.head(torch.relu(self.body(logs)))


torch.manual_seed(0)
model = OfCounts()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for step in range(60):
    x = torch.rand(32, 16) + 0.5
    y = x[:, :4].argmax(1)
    if step == 20:
        x[3, 5] = 0
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
