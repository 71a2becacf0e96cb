r"""Labels with many attributes for objects of a museum, most of them absent.

Source: https://github.com/lopuhin/kaggle-imet-2019/issues/3
Fault: The outputs pass a sigmoid before a loss that applies a sigmoid by itself.
Cause: sigmoid|expects? (raw )?logits|(probabilit\w+|squashed) .*loss|loss .*(probabilit\w+|logits)
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AttributeNet(nn.Module):
    def __init__(self, dim, attributes):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(dim, 96), nn.BatchNorm1d(96), nn.ReLU())
        self.fc = nn.Linear(96, attributes)

    def forward(self, x):
        return self.fc(self.base(x))


def make_data(count, dim=48, attributes=30):
    present = (torch.rand(count, attributes) < 0.08).float()
    directions = torch.randn(attributes, dim, generator=torch.Generator().manual_seed(3))
    return present @ directions + 0.7 * torch.randn(count, dim), present


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*make_data(800)), batch_size=50, shuffle=True)
    model = AttributeNet(48, 30)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for inputs, targets in loader:
            outputs = torch.sigmoid(model(inputs))  # here
            loss = criterion(outputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
    model.eval()
    inputs, targets = make_data(300)
    with torch.no_grad():
        top = model(inputs).gt(0).float()
    both = (top * targets).sum()
    print(f"f1 {(2 * both / (top.sum() + targets.sum())).item():.4f}")


main()
