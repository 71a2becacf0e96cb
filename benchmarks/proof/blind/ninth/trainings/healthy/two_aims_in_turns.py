"""Patterns with two losses in turns: the right class, and evenness among the wrong ones.

Source: https://github.com/henry8527/COT
Odd: Every batch is used twice with two optimizers over the same parameters, and the second loss
    is negative.
"""

import torch
from torch import nn

torch.manual_seed(1010)
CLASSES, PIXELS = 10, 30
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.1 * torch.randn(count, PIXELS), label


class ComplementEntropy(nn.Module):
    def forward(self, logits, y):
        prob = logits.softmax(1)
        right = prob.gather(1, y[:, None])
        other = prob / (1 - right + 1e-7)
        log_other = (other + 1e-10).log()
        wrong = torch.ones_like(prob).scatter_(1, y[:, None], 0.0)
        return (other * log_other * wrong).sum() / len(y) / CLASSES


net = nn.Sequential(nn.Linear(PIXELS, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, CLASSES))
criterion, complement = nn.CrossEntropyLoss(), ComplementEntropy()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
complement_optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
train_x, train_y = draw(900)
test_x, test_y = draw(500)

for epoch in range(8):
    net.train()
    first = second = 0.0
    for rows in torch.randperm(900).split(60):
        x, y = train_x[rows], train_y[rows]
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        opposite = complement(net(x), y)
        complement_optimizer.zero_grad()
        opposite.backward()
        complement_optimizer.step()
        first, second = first + loss.item(), second + opposite.item()
    net.eval()
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1} loss {first / 15:.4f} even {second / 15:.4f} test {accuracy:.3f}")
