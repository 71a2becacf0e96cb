r"""Trains a shallow network on scans in the range of their sensor.

Source: https://github.com/mlmed/torchxrayvision/issues/9
Fault: the pixels are in [-1024, 1024] and are not normalised, so the first steps blow up, the
    units die and the loss stays at ln 2.
Cause: normali[sz]|standardi[sz]|\b(re)?scaled?\b|\brange\b|large (input|value)s?|magnitude|1024
Place: \bimages\b|load_scans|\binputs?\b
"""

import torch
from torch import nn

torch.manual_seed(0)


def load_scans(n):
    """Return scans in [-1024, 1024] and two findings."""
    labels = torch.randint(0, 2, (n, 2)).float()
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 24), torch.linspace(-1, 1, 24), indexing="ij")
    opacity = torch.exp(-8 * ((xx - 0.4) ** 2 + yy**2))
    heart = torch.exp(-8 * ((xx + 0.4) ** 2 + yy**2))
    raw = labels[:, 0, None, None] * opacity + labels[:, 1, None, None] * heart
    raw = raw + 0.2 * torch.randn(n, 24, 24)
    return (raw.clamp(-1, 1) * 1024)[:, None], labels


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc = nn.Linear(16 * 9, 2)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc(x.flatten(1))


images, findings = load_scans(128)  # here
model = SmallNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(40):
    rows = torch.randint(0, 128, (16,))
    outputs = model(images[rows])
    loss = nn.functional.binary_cross_entropy_with_logits(outputs, findings[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"step {step} loss {loss.item():.4f}")
