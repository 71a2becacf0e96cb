r"""Small table of columns classified with a rate that follows half a cosine.

Source: https://github.com/automl/Auto-PyTorch/pull/210
Fault: The scheduler is stepped after every batch although its length is counted in epochs, so the
    rate swings through its curve many times too fast.
Cause: schedul.{0,120}(batch|iteration|inner|too (fast|early|often|soon))|(every|each|per
    |after).{0,20}(batch|iteration).{0,80}(schedul|instead|epoch)|T_max.{0,80}(epoch|batch|step)
    |(rate|lr)\b.{0,80}(oscillat|swing|too fast|too often)
Place: scheduler|T_max|step|EPOCHS|CosineAnnealingLR|scheduler\.step
"""

import torch
from torch import nn

torch.manual_seed(191)
COLUMNS, EPOCHS, CLASSES = 24, 16, 4
rule = nn.Sequential(nn.Linear(COLUMNS, 32), nn.Tanh(), nn.Linear(32, CLASSES))
with torch.no_grad():
    for p in rule.parameters():
        p.mul_(3)


def table(count):
    x = torch.randn(count, COLUMNS)
    with torch.no_grad():
        y = rule(x).argmax(1)
    return x, y


class Shaped(nn.Module):
    """Multi-layer net whose layers get narrower like a funnel."""

    def __init__(self, widths=(COLUMNS, 128, 64, 32, CLASSES)):
        super().__init__()
        layers = []
        for a, b in zip(widths[:-1], widths[1:], strict=True):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
        self.net = nn.Sequential(*layers[:-2])

    def forward(self, x):
        return self.net(x)


x, y = table(1600)
val_x, val_y = table(600)
model = Shaped()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
criterion = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for rows in torch.randperm(len(x)).split(64):
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # here
        running += loss.item()
    model.eval()
    with torch.no_grad():
        accuracy = (model(val_x).argmax(1) == val_y).float().mean().item()
    if epoch % 3 == 0:
        print(
            f"epoch {epoch + 1} lr {optimizer.param_groups[0]['lr']:.4f} "
            f"loss {running / 25:.4f} validation accuracy {accuracy:.3f}"
        )
