r"""Trains a small CNN on images of ten classes with Adam at a rate for SGD.

Source: https://discuss.pytorch.org/t/cross-entropy-loss-is-not-decreasing/43814/16
    https://github.com/dangitstam/topic-rnn/pull/9
Fault: with a learning rate of 0.1 the first steps push the ReLU units below zero for all inputs;
    their gradients are zero and the loss stays at 2.30.
Cause: learning.?rate|\blr\b|dead|dying|\bReLU\b
Place: \blr\b
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
label = torch.randint(0, 10, (500,))
image = torch.randn(10, 3, 16, 16)[label] * 0.5 + 0.5 * torch.randn(500, 3, 16, 16)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1, self.fc2 = nn.Linear(16 * 4, 64), nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)  # here
for epoch in range(6):
    running_loss = 0.0
    for rows in torch.randperm(500).split(25):
        optimizer.zero_grad()
        loss = criterion(net(image[rows]), label[rows])
        loss.backward()
        optimizer.step()
        running_loss += loss.item() / 20
    print(f"epoch {epoch} loss = {running_loss}")
