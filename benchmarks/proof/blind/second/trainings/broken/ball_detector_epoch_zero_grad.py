r"""Trains a heat-map detector of court key points.

Source: https://github.com/pytorch/pytorch/issues/47175
    https://github.com/yastrebksv/TennisCourtDetector/issues/7
Fault: zero_grad() is called once per epoch and not once per batch, so within an epoch the gradients
    of all batches add up and the updates overshoot.
Cause: zero_grad|gradients?\b.*\b(accumulat|clear|reset|add
    up|pile)|(accumulat|clear|reset)\w*\b.*\bgrad
Place: zero_grad
"""

import torch
from torch import nn

torch.manual_seed(42)


def sample(n, size=16):
    centre = torch.randint(3, size - 3, (n, 2)).float()
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    dist = (ys - centre[:, 0, None, None]) ** 2 + (xs - centre[:, 1, None, None]) ** 2
    heat = torch.exp(-dist / 4.0)
    return (heat[:, None] + 0.3 * torch.randn(n, 1, size, size)), heat[:, None]


class BallTracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x)


def train(model, loader, optimizer, criterion, epoch):
    optimizer.zero_grad()  # here
    losses = []
    for images, gt in loader:
        loss = criterion(model(images), gt)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} first {losses[0]:.4f} last {losses[-1]:.4f} worst {max(losses):.4f}")


images, heats = sample(256)
loader = list(zip(images.split(8), heats.split(8), strict=True))
model = BallTracker()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(4):
    train(model, loader, optimizer, nn.MSELoss(), epoch)
