r"""Tells seal pups from adults by body measures and averages the weights of the last epochs.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html
Healthy: The averaged model is never trained itself, and its batch norm statistics are computed
    anew at the end by a pass over the training data, as the averaged weights need it.
"""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(105)


def seals(n):
    age = torch.randint(0, 3, (n,))
    size = torch.tensor([0.9, 1.3, 1.7])[age] + 0.18 * torch.randn(n)
    girth = 0.7 * size + 0.1 * torch.randn(n)
    fur = torch.tensor([0.8, 0.5, 0.45])[age] + 0.15 * torch.randn(n)
    ratio = girth / size + 0.05 * torch.randn(n)
    return torch.stack([size, girth, fur, ratio], 1), age


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main(epochs=20, swa_start=12):
    loader = DataLoader(TensorDataset(*seals(1500)), batch_size=50, shuffle=True)
    test = seals(500)
    model = nn.Sequential(
        nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(),
        nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3),
    )
    averaged = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=swa_start)
    flat = SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        if epoch >= swa_start:
            averaged.update_parameters(model)
            flat.step()
        else:
            cosine.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: test {accuracy(model, *test):.3f}")
    update_bn(loader, averaged)
    print(f"averaged: test {accuracy(averaged, *test):.3f}")


main()
