r"""How many cells lie on a slide, with a rate that goes down by steps.

Source: https://github.com/pytorch/vision/issues/2007
Fault: The schedule takes a tenth after each single epoch, so that the rate is soon practically
    zero.
Cause: (learning rate|\blr\b|rate).{0,100}(zero|tiny|small|fast|quick|early|soon|decay|vanish|drop)
    |(step_size|gamma|StepLR|schedul)\w*.{0,100}(small|short|often|fast|early|every|aggressive)
    |(decay|schedul)\w*.{0,60}(too|fast|early|aggressive)
Place: step_size|scheduler|StepLR|gamma
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(100)


def slides(count, side=14, most=8):
    number = torch.randint(0, most + 1, (count,))
    grid = torch.arange(side).float()
    image = 0.15 * torch.randn(count, side, side)
    for row, n in zip(image, number.tolist()):
        for y, x in (torch.rand(n, 2) * side).tolist():
            row += torch.exp(-((grid[:, None] - y) ** 2 + (grid[None] - x) ** 2) / 1.5)
    return image.unsqueeze(1), number.float()


class Counter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, 1, 1),
        )

    def forward(self, x):
        return self.body(x).flatten(1).sum(1)


def train_one_epoch(model, optimizer, loader, epoch):
    total = 0.0
    for images, counts in loader:
        loss = F.smooth_l1_loss(model(images), counts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    rate = optimizer.param_groups[0]["lr"]
    print(f"Epoch: [{epoch}] lr: {rate:.6f} loss: {total / len(loader):.4f}", end=" ")


@torch.no_grad()
def evaluate(model, data):
    error = (model(data[0]) - data[1]).abs().mean().item()
    print(f"mean error {error:.3f} cells")


loader = DataLoader(TensorDataset(*slides(500)), batch_size=25, shuffle=True)
test = slides(200)
model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)  # here
for epoch in range(12):
    train_one_epoch(model, optimizer, loader, epoch)
    scheduler.step()
    evaluate(model, test)
