r"""Digits of a display of seven segments, some of them dim.

Source: https://github.com/hunkim/PyTorchZeroToAll/pull/4
Fault: The last layer is followed by a ReLU, so the scores of the classes are never negative, and a
    class whose score is zero for all the samples gets no gradient any more.
Cause: relu.{0,60}(last|final|output|logit|score|after|l5|classif)|(last|final|output|logit|score
    |l5)\w*.{0,60}relu|(logits?|scores|outputs?)\b.{0,60}(negative|below zero|clipped|clamped
    |zeroed|at zero|exactly zero|cut off)|dead.{0,30}(output|class|logit)
Place: relu|forward|l5
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
batch_size = 64
segments = torch.tensor(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ]
).float()
wiring = torch.randn(7, 64) / 2


def displays(count):
    labels = torch.randint(0, 10, (count,))
    light = segments[labels] * (0.6 + 0.4 * torch.rand(count, 7))
    return TensorDataset(light @ wiring + 0.15 * torch.randn(count, 64), labels)


train_loader = DataLoader(displays(1600), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(displays(1000), batch_size=500)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(64, 120)
        self.l2 = nn.Linear(120, 84)
        self.l3 = nn.Linear(84, 60)
        self.l4 = nn.Linear(60, 40)
        self.l5 = nn.Linear(40, 10)

    def forward(self, x):
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        x = F.relu(self.l3(x))
        x = F.relu(self.l4(x))
        return F.relu(self.l5(x))  # here


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.03, momentum=0.9)


def train(epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % 20 == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}/1600] Loss: {loss.item():.4f}")


def test():
    model.eval()
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in test_loader:
            output = model(data)
            test_loss += criterion(output, target).item() / len(test_loader)
            correct += (output.argmax(1) == target).sum().item()
    print(f"Test set: Average loss: {test_loss:.4f}, Accuracy: {correct / 1000:.3f}")


for epoch in range(1, 13):
    train(epoch)
test()
