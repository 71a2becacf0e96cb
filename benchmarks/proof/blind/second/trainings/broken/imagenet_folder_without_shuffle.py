r"""Trains a classifier on a folder of classes, read one class after the other.

Source: https://github.com/Deci-AI/super-gradients/issues/416
Fault: the loader does not shuffle and the samples are sorted by class, so each batch has one class
    only and the network forgets the others at once.
Cause: shuffl|\bsorted|(one|single|same) class|sampler|\border(ed)?\b
Place: DataLoader|shuffle|train_loader
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)


class ImageFolder(Dataset):
    """Images of ten classes, in the order of the folders."""

    def __init__(self, per_class=120):
        means = torch.randn(10, 1, 8, 8)
        self.samples = []
        for label, mean in enumerate(means):
            self.samples += [(mean + 1.5 * torch.randn(1, 8, 8), label) for _ in range(per_class)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


dataloader_params = {"batch_size": 20, "drop_last": True}
train_loader = DataLoader(ImageFolder(), **dataloader_params)  # here
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    net.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hits = sum((net(x).argmax(1) == y).sum().item() for x, y in train_loader)
    print(f"epoch {epoch} last loss {loss.item():.4f} accuracy {hits / 1200:.3f}")
