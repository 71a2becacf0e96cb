#!/usr/bin/env python
"""Gradient accumulation over micro-batches. The last group of an epoch is smaller."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 4


class Regressor(torch.nn.Module):
    def __init__(self, features=5):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(features)
        self.hidden = torch.nn.Linear(features, 12)
        self.out = torch.nn.Linear(12, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(self.norm(x)))).squeeze(-1)


def main(path):
    torch.manual_seed(11)
    x = torch.randn(80, 5)
    loader = DataLoader(TensorDataset(x, x.sum(1)), batch_size=8, shuffle=True)  # 10 batches
    model = Regressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(2):
        optimizer.zero_grad()
        running = 0.0
        for i, (inputs, targets) in enumerate(loader, start=1):
            loss = torch.nn.functional.mse_loss(model(inputs), targets) / ACCUMULATE
            loss.backward()
            running += loss.item()
            if i % ACCUMULATE == 0 or i == len(loader):
                # truth: before("model", optimizer, running)
                optimizer.step()
                # truth: after("model")
                optimizer.zero_grad()
                print(f"epoch {epoch} batch {i:2d} loss {running:.6f}")
                running = 0.0
    torch.save(model, path)


main(sys.argv[1])
