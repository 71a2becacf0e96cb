"""Somebody presses Ctrl-C in the third epoch."""

import sys

import torch

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())


def epoch(number):
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 2)).mean() ** 2
        loss.backward()
        if number == 2:
            torch.save(model.state_dict(), sys.argv[1])
            raise KeyboardInterrupt
        # truth: before("model", optimizer, loss)
        optimizer.step()
        # truth: after("model")
        print(number, loss.item())


for number in range(5):
    epoch(number)
