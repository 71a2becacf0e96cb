r"""Trains a small convolutional classifier of digits-like patterns with SGD.

Source: https://discuss.pytorch.org/t/cross-entropy-loss-is-not-decreasing/43814/16
Fault: The network returns probabilities and CrossEntropyLoss applies a softmax to them again; the
    loss cannot fall below 1.46 and the gradients are small.
Cause: softmax|probabilit|raw logits
Place: forward|softmax|fc2
"""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 9, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.fc2(x), dim=1)  # here


torch.manual_seed(0)
shapes = torch.randn(10, 1, 8, 8)
labels = torch.randint(0, 10, (1280,))
images = shapes[labels] + 0.5 * torch.randn(1280, 1, 8, 8)
trainloader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(6):
    running_loss = 0.0
    for inputs, targets in trainloader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"epoch {epoch} loss = {running_loss / len(trainloader):.6f}")
