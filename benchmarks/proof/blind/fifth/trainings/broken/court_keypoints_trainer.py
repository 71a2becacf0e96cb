r"""Trainer of a network that marks the corners of a tennis court by heat maps.

Source: https://github.com/yastrebksv/TennisCourtDetector/issues/7
Fault: The gradients are never cleared, so each step takes the sum of all gradients so far.
Cause: zero_grad
    |gradients? .*(accumul|(never|not) (cleared|reset|zeroed)|pile|sum|previous|earlier)
    |(accumul|clear|reset)\w* .*gradient
Place: \bzero_grad\b
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def court_frames(count, size=16):
    corner = torch.randint(2, size - 2, (count, 2))
    grid = torch.arange(size)
    rows = (grid[None] - corner[:, :1]).abs()
    cols = (grid[None] - corner[:, 1:]).abs()
    heat = torch.exp(-(rows[:, :, None] ** 2 + cols[:, None, :] ** 2) / 12.0)[:, None]
    lines = ((rows == 0)[:, :, None] | (cols == 0)[:, None, :]).float()[:, None]
    return lines + 0.1 * torch.randn(count, 1, size, size), heat


class BallTracker(nn.Sequential):
    def __init__(self, width=16):
        super().__init__(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
            nn.Sigmoid(),
        )


def train(model, train_loader, optimizer, criterion, epoch, max_iters):
    model.train()
    losses = []
    for iter_id, (image, heat) in enumerate(train_loader):
        out = model(image)
        loss = criterion(out, heat)
        loss.backward()  # here
        optimizer.step()
        losses.append(loss.item())
        if iter_id == max_iters:
            break
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(*court_frames(256)), batch_size=32, shuffle=True)
    model = BallTracker()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    for epoch in range(8):
        train(model, loader, optimizer, nn.MSELoss(), epoch, max_iters=100)
