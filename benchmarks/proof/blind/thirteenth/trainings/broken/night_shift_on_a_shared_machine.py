r"""Trains in two shifts on a shared machine: the second takes up the files of the first.

Source: https://pytorch.org/tutorials/beginner/saving_loading_models.html
Fault: The checkpoint holds the model and the optimizer but not the scheduler; in the second
    shift the schedule starts anew with its warm-up and then stays high, where it should go on
    down to zero, so the run ends with a large rate.
Cause: schedul.*(not|never|anew|again|start|restart|reset|lost|miss|state|restor|saved|load)
    |(not|never|without|lacks?|miss).*schedul|warm-?up.*(again|twice|anew|restart)
    |learning rate.*(restart|anew|jump|again|reset|start)
Place: schedul|save|load|checkpoint|shift|torch.load
"""
import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

EPOCHS, WARM, HALF = 30, 4, 18


def rate(epoch):
    if epoch < WARM:
        return (epoch + 1) / WARM
    return max(0.0, (EPOCHS - epoch) / (EPOCHS - WARM))


def surfaces(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 4, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2 - 0.5 * x[:, 3]
    return x, (y + 0.3 * torch.randn(n, generator=g)).unsqueeze(1)


def build():
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                          nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, optimizer, LambdaLR(optimizer, rate)


def shift(path, first, last):
    torch.manual_seed(100 + first)
    model, optimizer, scheduler = build()
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])  # here
    x, y = surfaces(1200, 1)
    for epoch in range(first, last):
        for part in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
        scheduler.step()
    torch.save({"epoch": last, "model": model.state_dict(),
                "optimizer": optimizer.state_dict()}, path)  # here
    return model


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    for first, last in ((0, HALF), (HALF, EPOCHS)):
        model = shift(path, first, last)
        x, y = surfaces(1000, 2)
        with torch.no_grad():
            error = nn.functional.mse_loss(model(x), y).item()
        print(f"after epoch {last}: test error {error:.4f}")
