"""Cross-validation: five trainings, each with a new network.

Source: https://androidkt.com/pytorch-k-fold-cross-validation-using-dataloader-and-sklearn/
Odd: the loss jumps back up five times and a new optimiser and new weights appear each time; every
    fold begins a training of its own.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(42)
k_folds, num_epochs = 5, 6
x = torch.randn(300, 8)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
dataset = TensorDataset(x, y)


def reset_weights(m):
    if hasattr(m, "reset_parameters"):
        m.reset_parameters()


folds = torch.randperm(300).chunk(k_folds)
for fold, test_ids in enumerate(folds):
    train_ids = torch.cat([f for n, f in enumerate(folds) if n != fold]).tolist()
    loader = DataLoader(dataset, 24, sampler=SubsetRandomSampler(train_ids))
    network = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
    network.apply(reset_weights)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    losses = []
    for _epoch in range(num_epochs):
        current = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(inputs), targets)
            loss.backward()
            optimizer.step()
            current += loss.item() / len(loader)
        losses.append(f"{current:.3f}")
    accuracy = (network(x[test_ids]).argmax(1) == y[test_ids]).float().mean().item()
    print(f"fold {fold} losses", *losses, f"accuracy {accuracy:.3f}")
