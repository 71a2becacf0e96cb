r"""Estimates the yield of orchards and checks the net by cross validation in five folds.

Source: https://docs.pytorch.org/docs/stable/optim.html
Fault: The optimizer is built once with the parameters of the template net, but each fold trains
    a deep copy of it, whose parameters the optimizer does not know; its steps change nothing of
    the copy, so all folds report the error of the untrained net.
Cause: optimi[sz]er.*(not|never|other|old|original|template|another|different|base)
    |(copy|copied|deepcopy|clone).*(optimi[sz]er|parameters)
    |(not|never|no) .*(in|of|by|to|with) (the|any) optimi[sz]er
Place: optimi[sz]er|model|net|cross_validate
"""
import copy

import torch
from torch import nn

torch.manual_seed(17)


def orchards(n=500):
    trees = torch.rand(n) * 4 + 1
    rain = torch.rand(n) * 2
    frost = (torch.rand(n) < 0.2).float()
    age = torch.rand(n) * 3
    soil = torch.randn(n)
    harvest = trees * (1 + 0.6 * rain - 0.3 * rain ** 2) * (1 - 0.6 * frost) + 0.5 * age
    table = torch.stack([trees, rain, frost, age, soil], dim=1)
    return (table - table.mean(0)) / table.std(0), harvest + 0.2 * torch.randn(n)


def make_net():
    return nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(),
                         nn.Linear(16, 1))


def fit(model, optimizer, x, y, epochs=30, batch=32):
    model.train()
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for part in order.split(batch):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[part]).squeeze(1), y[part])
            loss.backward()
            optimizer.step()
    return loss.item()


def cross_validate(x, y, folds=5):
    net = make_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)  # here
    errors = []
    for fold, held_out in enumerate(torch.arange(len(x)).chunk(folds)):
        keep = torch.ones(len(x), dtype=torch.bool)
        keep[held_out] = False
        model = copy.deepcopy(net)
        last = fit(model, optimizer, x[keep], y[keep])
        model.eval()
        with torch.no_grad():
            error = (model(x[held_out]).squeeze(1) - y[held_out]).abs().mean().item()
        errors.append(error)
        print(f"fold {fold}: last loss {last:.3f}, mean error {error:.3f} t")
    return sum(errors) / folds


if __name__ == "__main__":
    table, harvest = orchards()
    print(f"mean over the folds: {cross_validate(table, harvest):.3f} t")
