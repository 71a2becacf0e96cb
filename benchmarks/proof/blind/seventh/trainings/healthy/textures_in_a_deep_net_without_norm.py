r"""Textures in a deep residual network that has no normalisation at all.

Source: https://github.com/hongyi-zhang/Fixup
Odd: The last convolution of every block and the classifier start at zero, so that most weights
    have no gradient in the first step; scalar biases and scales learn at a tenth of the rate.
"""

import torch
import torch.nn.functional as F
from torch import nn

DEPTH, WIDTH, CLASSES = 6, 16, 5


class FixupBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias1a = nn.Parameter(torch.zeros(1))
        self.conv1 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False)
        self.bias1b = nn.Parameter(torch.zeros(1))
        self.bias2a = nn.Parameter(torch.zeros(1))
        self.conv2 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False)
        self.scale = nn.Parameter(torch.ones(1))
        self.bias2b = nn.Parameter(torch.zeros(1))
        fan = WIDTH * 9
        nn.init.normal_(self.conv1.weight, std=(2 / fan) ** 0.5 * DEPTH ** (-0.5))
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x):
        out = F.relu(self.conv1(x + self.bias1a) + self.bias1b)
        out = self.conv2(out + self.bias2a) * self.scale + self.bias2b
        return F.relu(out + x)


class FixupNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, WIDTH, 3, padding=1)
        self.blocks = nn.Sequential(*[FixupBlock() for _ in range(DEPTH)])
        self.bias = nn.Parameter(torch.zeros(1))
        self.fc = nn.Linear(WIDTH, CLASSES)
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.blocks(F.relu(self.stem(x))).mean((2, 3))
        return self.fc(x + self.bias)


def textures(count):
    y = torch.randint(0, CLASSES, (count,))
    seeds = (torch.rand(count, 1, 8, 8) < 0.12).float()
    every = F.conv2d(seeds, grains, padding=1)
    x = every[torch.arange(count), y].unsqueeze(1)
    return x + 0.3 * torch.randn_like(x), y


torch.manual_seed(11)
grains = torch.randn(CLASSES, 1, 3, 3)
train_x, train_y = textures(900)
test_x, test_y = textures(300)
net = FixupNet()
scalars = [p for p in net.parameters() if p.dim() == 1 and p.numel() == 1]
others = [p for p in net.parameters() if not (p.dim() == 1 and p.numel() == 1)]
optimizer = torch.optim.SGD(
    [{"params": others, "lr": 0.1}, {"params": scalars, "lr": 0.01}], momentum=0.9
)
for epoch in range(6):
    for rows in torch.randperm(len(train_x)).split(60):
        loss = F.cross_entropy(net(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test accuracy {accuracy:.3f}")
