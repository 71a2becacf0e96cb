"""Stamps put side by side when they come from one series, learned from pairs.

Source: https://github.com/adambielski/siamese-triplet/issues/36
Odd: The target is 1 for a pair of one series and 0 for others, the opposite of the paper, and the
    loss has its two terms exchanged to fit.
"""

import torch
from torch import nn

torch.manual_seed(36)
SERIES, SIZE = 8, 9
print_of = torch.randn(SERIES, 1, SIZE, SIZE)


def stamps(series):
    return print_of[series] + 0.8 * torch.randn(len(series), 1, SIZE, SIZE)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin
        self.eps = 1e-9

    def forward(self, output1, output2, target):
        distances = (output2 - output1).pow(2).sum(1)
        near = target * distances
        far = (1 - target) * (self.margin - (distances + self.eps).sqrt()).clamp(min=0).pow(2)
        return 0.5 * (near + far).mean()


def pairs(count):
    first = torch.randint(0, SERIES, (count,))
    target = torch.arange(count) % 2
    other = (first + torch.randint(1, SERIES, (count,))) % SERIES
    second = torch.where(target == 1, first, other)
    return stamps(first), stamps(second), target.float()


net = nn.Sequential(
    nn.Conv2d(1, 16, 3), nn.PReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(16 * 9, 32), nn.PReLU(), nn.Linear(32, 4),
)  # fmt: skip
criterion = ContrastiveLoss(margin=1.0)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(240):
    a, b, target = pairs(64)
    loss = criterion(net(a), net(b), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 48 == 47:
        with torch.no_grad():
            series = torch.arange(SERIES).repeat(25)
            codes = net(stamps(series))
            far = torch.cdist(codes, codes).fill_diagonal_(1e9)
            right = (series[far.argmin(1)] == series).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} nearest of one series {right:.3f}")
