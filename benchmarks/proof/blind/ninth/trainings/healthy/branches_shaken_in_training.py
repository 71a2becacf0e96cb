"""Patterns with blocks of two branches that are mixed at random.

Source: https://github.com/owruby/shake-shake_pytorch
Odd: The backward pass mixes the branches with other random numbers than the forward pass, so the
    gradient is not that of the computed value; in the evaluation both weigh one half.
"""

import torch
from torch import nn

torch.manual_seed(1012)
CLASSES, PIXELS, WIDTH = 8, 32, 48
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.0 * torch.randn(count, PIXELS), label


class ShakeShake(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x1, x2, training):
        if training:
            alpha = torch.rand(len(x1), 1)
        else:
            alpha = torch.full((len(x1), 1), 0.5)
        return alpha * x1 + (1 - alpha) * x2

    @staticmethod
    def backward(ctx, grad_output):
        beta = torch.rand(len(grad_output), 1)
        return beta * grad_output, (1 - beta) * grad_output, None


def branch():
    return nn.Sequential(
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH, bias=False),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH, bias=False),
        nn.BatchNorm1d(WIDTH),
    )


class ShakeBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch1, self.branch2 = branch(), branch()

    def forward(self, x):
        return x + ShakeShake.apply(self.branch1(x), self.branch2(x), self.training)


net = nn.Sequential(
    nn.Linear(PIXELS, WIDTH), ShakeBlock(), ShakeBlock(), nn.ReLU(), nn.Linear(WIDTH, CLASSES)
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
train_x, train_y = draw(800)
test_x, test_y = draw(500)
for epoch in range(10):
    net.train()
    running = 0.0
    for rows in torch.randperm(800).split(50):
        loss = nn.functional.cross_entropy(net(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    if epoch % 2:
        print(f"epoch {epoch + 1} loss {running / 16:.4f} test {accuracy:.3f}")
