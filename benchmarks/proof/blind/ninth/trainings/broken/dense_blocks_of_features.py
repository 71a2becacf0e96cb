r"""Textures with a small net in which every layer sees all the layers before it.

Source: https://github.com/pudae/tensorflow-densenet/pull/22
Fault: The share of units to be kept is handed to a layer that expects the share to be dropped, so
    most of the units are set to zero in training.
Cause: keep.?prob|\bkept\b|(share|prob|rate|chance).{0,40}(keep|retain)|drop.{0,100}(most|0\.9|90
    |nine|too (high|much|large|many)|nearly all|almost all)|(probability|rate).{0,60}(invert
    |confus|1 ?- ?|complement)
Place: keep_prob|dropout|Dropout|p|drop|dropout_rate|KEEP
"""

import torch
from torch import nn

torch.manual_seed(281)
CLASSES, SIDE, GROWTH, LAYERS = 6, 12, 8, 3
wave = torch.rand(CLASSES, 2) * 1.6 + 0.3


def textures(count):
    label = torch.randint(0, CLASSES, (count,))
    grid = torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij"), -1)
    angle = (grid.float() * wave[label][:, None, None]).sum(-1) + 6.28 * torch.rand(count, 1, 1)
    return torch.sin(angle)[:, None] + 0.5 * torch.randn(count, 1, SIDE, SIDE), label


class DenseLayer(nn.Module):
    def __init__(self, inputs, keep_prob):
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, GROWTH, 3, padding=1, bias=False)
        self.dropout = nn.Dropout(keep_prob)  # here

    def forward(self, x):
        return torch.cat([x, self.dropout(self.conv(self.norm(x).relu()))], 1)


class DenseNet(nn.Module):
    def __init__(self, keep_prob=0.9):
        super().__init__()
        self.first = nn.Conv2d(1, GROWTH, 3, padding=1)
        self.block = nn.Sequential(
            *[DenseLayer(GROWTH * (i + 1), keep_prob) for i in range(LAYERS)]
        )
        self.head = nn.Linear(GROWTH * (LAYERS + 1), CLASSES)

    def forward(self, x):
        return self.head(self.block(self.first(x)).relu().mean((2, 3)))


train_x, train_y = textures(400)
test_x, test_y = textures(200)
model = DenseNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    running = 0.0
    for rows in torch.randperm(len(train_x)).split(40):
        loss = criterion(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 2:
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} loss {running / 10:.4f} test accuracy {accuracy:.3f}")
