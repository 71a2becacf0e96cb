"""Shapes with whole patches of the feature maps left out, more and more of them.

Source: https://github.com/miguelvr/dropblock
Odd: The share of the dropped patches is raised by a scheduler before every step, the mask is
    scaled by the share that is left, so the loss of the training may rise while it goes on.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1013)
CLASSES, SIDE, STEPS = 6, 12, 180
form = F.avg_pool2d(torch.randn(CLASSES, 1, SIDE, SIDE), 3, 1, 1) * 3


def shapes(count):
    label = torch.randint(0, CLASSES, (count,))
    return form[label] + 0.8 * torch.randn(count, 1, SIDE, SIDE), label


class DropBlock2D(nn.Module):
    def __init__(self, drop_prob, block_size):
        super().__init__()
        self.drop_prob, self.block_size = drop_prob, block_size

    def forward(self, x):
        if not self.training or self.drop_prob == 0.0:
            return x
        gamma = self.drop_prob / self.block_size**2
        mask = (torch.rand(x.shape[0], 1, *x.shape[2:]) < gamma).float()
        half = self.block_size // 2
        block = 1 - F.max_pool2d(mask, self.block_size, stride=1, padding=half)
        return x * block * (block.numel() / block.sum())


class LinearScheduler(nn.Module):
    def __init__(self, dropblock, stop_value, nr_steps):
        super().__init__()
        self.dropblock, self.i = dropblock, 0
        self.values = torch.linspace(0, stop_value, nr_steps).tolist()

    def forward(self, x):
        return self.dropblock(x)

    def step(self):
        if self.i < len(self.values):
            self.dropblock.drop_prob = self.values[self.i]
        self.i += 1


dropblock = LinearScheduler(DropBlock2D(0.0, 3), stop_value=0.3, nr_steps=STEPS)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    dropblock,
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 36, CLASSES),
)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
test_x, test_y = shapes(300)
for step in range(STEPS):
    net.train()
    dropblock.step()
    x, y = shapes(32)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 36 == 35:
        net.eval()
        with torch.no_grad():
            accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
        share = dropblock.dropblock.drop_prob
        print(f"step {step + 1} loss {loss.item():.4f} dropped {share:.2f} test {accuracy:.3f}")
