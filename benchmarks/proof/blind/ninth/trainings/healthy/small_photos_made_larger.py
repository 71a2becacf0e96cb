"""Small signals made twice as large by a deep chain of residual blocks.

Source: https://github.com/sanghyun-son/EDSR-PyTorch
Odd: There is no normalisation at all, the residual branches are multiplied by 0.1, the loss is L1
    and the mean of the pictures is subtracted and added by layers that are not trained.
"""

import torch
from torch import nn

torch.manual_seed(1004)
SIDE, FEATURES, BLOCKS = 12, 16, 4


def photos(count):
    grid = torch.linspace(0, 6.28, 2 * SIDE)
    a, b = torch.rand(2, count, 1, 1) * 2 + 0.5
    phase = 6.28 * torch.rand(count, 1, 1)
    large = torch.sin(a * grid[:, None] + b * grid + phase)[:, None] * 60 + 110
    return nn.functional.avg_pool2d(large, 2), large


class MeanShift(nn.Conv2d):
    def __init__(self, sign, mean=110.0):
        super().__init__(1, 1, 1)
        self.weight.data.fill_(1.0)
        self.bias.data.fill_(sign * mean)
        for p in self.parameters():
            p.requires_grad = False


class ResBlock(nn.Module):
    def __init__(self, res_scale=0.1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(FEATURES, FEATURES, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(FEATURES, FEATURES, 3, padding=1),
        )
        self.res_scale = res_scale

    def forward(self, x):
        return x + self.res_scale * self.body(x)


class EDSR(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub_mean, self.add_mean = MeanShift(-1), MeanShift(1)
        self.head = nn.Conv2d(1, FEATURES, 3, padding=1)
        self.body = nn.Sequential(*[ResBlock() for _ in range(BLOCKS)])
        self.tail = nn.Sequential(
            nn.Conv2d(FEATURES, 4 * FEATURES, 3, padding=1),
            nn.PixelShuffle(2),
            nn.Conv2d(FEATURES, 1, 3, padding=1),
        )

    def forward(self, x):
        x = self.head(self.sub_mean(x))
        return self.add_mean(self.tail(x + self.body(x)))


model = EDSR()
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
test_small, test_large = photos(40)
repeated = nn.functional.interpolate(test_small, scale_factor=2, mode="bilinear")
print(f"bilinear {(repeated - test_large).abs().mean().item():.3f}")
for step in range(90):
    small, large = photos(16)
    loss = (model(small) - large).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        with torch.no_grad():
            error = (model(test_small) - test_large).abs().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} test {error:.3f}")
