r"""Scorer of protein interfaces with epochs of training and validation.

Source: https://github.com/DeepRank/deeprank/issues/126
Odd: There is no eval(); train(False) is the same call, and train() is called again each epoch.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 16)
y = (x[:, :4].sum(1) > 0).long()
net = nn.Sequential(
    nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2)
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(15):
    net.train()
    running_loss = 0.0
    for index in torch.randperm(240).split(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[index]), y[index])
        loss.backward()
        optimizer.step()
        running_loss += loss.data.item()
    net.train(False)
    with torch.no_grad():
        accuracy = (net(x[240:]).argmax(1) == y[240:]).float().mean().item()
print(f"validation accuracy {accuracy:.3f}")
