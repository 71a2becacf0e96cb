r"""Trains a small fully convolutional network, validating in the middle of the epoch.

Source: https://github.com/wkentaro/pytorch-fcn/pull/56
    https://github.com/wkentaro/pytorch-fcn/issues/57
Fault: validate() puts the model in eval mode in the middle of the epoch and nothing puts it back,
    so dropout is off and batch norm uses old statistics for the rest of the epoch.
Cause: \beval\b|train\(\)|train(ing)? mode|eval(uation)? mode
Place: validate|model\.train|model\.eval
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Trainer:
    def __init__(self, model, optimizer, train_data, val_data, interval_validate=10):
        self.model = model
        self.optim = optimizer
        self.train_data, self.val_data = train_data, val_data
        self.interval_validate = interval_validate
        self.iteration = 0

    def validate(self):
        self.model.eval()  # here
        with torch.no_grad():
            x, y = self.val_data
            loss = F.cross_entropy(self.model(x), y)
        print(f"iter {self.iteration:3d} val {loss.item():.4f}")

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_data:
            if self.iteration % self.interval_validate == 0 and self.iteration:
                self.validate()
            self.iteration += 1
            loss = F.cross_entropy(self.model(x), y)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()

    def train(self, max_epoch):
        for _ in range(max_epoch):
            self.train_epoch()


def make(n):
    centre = torch.rand(n, 2, 1, 1) * 16
    grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij"))
    label = ((grid[None] - centre).norm(dim=1) < 4).long()
    image = label[:, None] + 0.6 * torch.randn(n, 3, 16, 16)
    return image, label


def block(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Dropout2d(0.2)
    )


model = nn.Sequential(block(3, 16), block(16, 16), nn.Conv2d(16, 2, 1))
data = [make(8) for _ in range(24)]
trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), data, make(32))
trainer.train(max_epoch=4)
