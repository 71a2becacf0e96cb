"""Patterns in very large batches whose statistics are taken from small parts of them.

Source: https://github.com/eladhoffer/bigBatch
Odd: A batch is half of all the data, the normalisation sees only parts of it, the learning rate
    is high and noise of mean one is multiplied into the gradients by hand.
"""

import torch
from torch import nn

torch.manual_seed(1017)
CLASSES, PIXELS, WIDTH, GHOST = 8, 32, 64, 25
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.1 * torch.randn(count, PIXELS), label


class GhostBatchNorm(nn.BatchNorm1d):
    def forward(self, x):
        if not self.training:
            return super().forward(x)
        return torch.cat([super(GhostBatchNorm, self).forward(part) for part in x.split(GHOST)])


net = nn.Sequential(
    nn.Linear(PIXELS, WIDTH),
    GhostBatchNorm(WIDTH),
    nn.ReLU(),
    nn.Linear(WIDTH, WIDTH),
    GhostBatchNorm(WIDTH),
    nn.ReLU(),
    nn.Linear(WIDTH, CLASSES),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (500 / 100) ** 0.5, momentum=0.9)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 45], gamma=0.1)
train_x, train_y = draw(1000)
test_x, test_y = draw(500)
for epoch in range(50):
    net.train()
    for rows in torch.randperm(1000).split(500):
        loss = nn.functional.cross_entropy(net(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.grad.mul_(1 + 0.2 * torch.randn(1))
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
    scheduler.step()
    if epoch % 10 == 9:
        net.eval()
        with torch.no_grad():
            accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} test {accuracy:.3f}")
