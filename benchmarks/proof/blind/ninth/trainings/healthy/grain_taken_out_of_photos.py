"""Net that foretells the grain of a picture, which is then subtracted.

Source: https://github.com/cszn/DnCNN
Odd: The target of the net is the random noise and not the picture, the loss is a sum over the
    pixels divided by twice the batch, and the convolutions before a normalisation have no bias.
"""

import torch
from torch import nn

torch.manual_seed(1005)
SIDE, SIGMA = 16, 0.4


def clean(count):
    rough = torch.randn(count, 1, 4, 4)
    return nn.functional.interpolate(rough, size=SIDE, mode="bicubic")


class DnCNN(nn.Module):
    def __init__(self, depth=5, channels=24):
        super().__init__()
        layers = [nn.Conv2d(1, channels, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(channels, channels, 3, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(channels, eps=1e-4, momentum=0.05), nn.ReLU()]
        layers.append(nn.Conv2d(channels, 1, 3, padding=1, bias=False))
        self.dncnn = nn.Sequential(*layers)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.orthogonal_(m.weight)

    def forward(self, y):
        return y - self.dncnn(y)


model = DnCNN()
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[4, 6], gamma=0.2)
test_x = clean(60)
test_y = test_x + SIGMA * torch.randn_like(test_x)
for epoch in range(7):
    model.train()
    for _ in range(14):
        x = clean(24)
        y = x + SIGMA * torch.randn_like(x)
        loss = criterion(model(y), x) / (2 * len(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        error = (model(test_y) - test_x).pow(2).mean().item()
    print(f"epoch {epoch + 1} loss {loss.item():.3f} error {error:.4f} of {SIGMA**2:.4f}")
