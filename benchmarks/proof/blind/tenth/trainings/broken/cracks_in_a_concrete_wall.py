r"""Cracks in a concrete wall, few pixels among many, marked with a focal loss.

Source: https://github.com/qubvel/segmentation_models/issues/258
Fault: alpha and gamma are passed by position to a function that takes them in the other order, so
    the exponent is 0.25 and the weight 2, which makes that of the background negative.
Cause: (alpha|gamma|argument|parameter|position).{0,120}(swap|order|exchang|mix|wrong|revers|confus
    |interchang|negative|by position|each other)|(swap|exchang|wrong order|revers|interchang
    |mixed) .{0,80}(alpha|gamma|argument)|(negative|minus).{0,60}(weight|factor)
Place: alpha|gamma|binary_focal_loss|FocalLoss|__call__
"""

import torch
from torch import nn

torch.manual_seed(258)
SIZE = 16


def binary_focal_loss(gt, pr, gamma=2.0, alpha=0.75, eps=1e-6):
    pr = pr.clamp(eps, 1.0 - eps)
    loss_1 = -gt * alpha * (1 - pr) ** gamma * pr.log()
    loss_0 = -(1 - gt) * (1 - alpha) * pr**gamma * (1 - pr).log()
    return (loss_0 + loss_1).mean()


class BinaryFocalLoss:
    def __init__(self, alpha=0.75, gamma=2.0):
        self.alpha, self.gamma = alpha, gamma

    def __call__(self, gt, pr):
        return binary_focal_loss(gt, pr, self.alpha, self.gamma)  # here


def walls(count):
    rows = torch.arange(SIZE).float()
    start, slope = SIZE * torch.rand(count, 1), torch.rand(count, 1) - 0.5
    path = (start + slope * rows[None]).round()
    crack = (torch.arange(SIZE)[None, None] == path[:, :, None]).float()
    image = -0.9 * crack + 0.5 * torch.randn(count, SIZE, SIZE)
    return image.unsqueeze(1), crack.unsqueeze(1)


net = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
    nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
    nn.Conv2d(16, 1, 1), nn.Sigmoid(),
)  # fmt: skip
criterion = BinaryFocalLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    image, crack = walls(24)
    pr = net(image)
    loss = criterion(crack, pr)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        found = (pr > 0.5).float()
        iou = ((found * crack).sum() / ((found + crack) > 0).float().sum()).item()
        print(f"step {step + 1} loss {loss.item():.5f} marked {found.mean():.3f} iou {iou:.3f}")
