r"""Eight learned points stand for a whole set: a network trained on them for a few steps is good.

Source: https://github.com/SsnL/dataset-distillation
Odd: The optimizer holds inputs and a step size but no weights of a network; the networks are
    drawn anew each time and trained inside the graph by three steps of plain gradient descent.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)
CLASSES, PER_CLASS, DIM, INNER = 4, 2, 10, 3


def draw_weights():
    return [
        torch.randn(DIM, 32) / DIM**0.5,
        torch.zeros(32),
        torch.randn(32, CLASSES) / 32**0.5,
        torch.zeros(CLASSES),
    ]


def forward(weights, x):
    w1, b1, w2, b2 = weights
    return torch.tanh(x @ w1 + b1) @ w2 + b2


class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.points = nn.Parameter(torch.randn(CLASSES * PER_CLASS, DIM))
        self.raw_lr = nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("labels", torch.arange(CLASSES).repeat(PER_CLASS))

    def train_network(self, create_graph):
        weights = [w.requires_grad_() for w in draw_weights()]
        for _ in range(INNER):
            loss = F.cross_entropy(forward(weights, self.points), self.labels)
            grads = torch.autograd.grad(loss, weights, create_graph=create_graph)
            rate = F.softplus(self.raw_lr)
            weights = [w - rate * g for w, g in zip(weights, grads)]
        return weights


centres = torch.randn(CLASSES, 2, DIM)


def real(count):
    y = torch.randint(0, CLASSES, (count,))
    return centres[y, torch.randint(0, 2, (count,))] + 0.5 * torch.randn(count, DIM), y


def evaluate(distilled, networks=20):
    x, y = real(500)
    scores = []
    for _ in range(networks):
        weights = distilled.train_network(create_graph=False)
        scores.append((forward(weights, x).argmax(1) == y).float().mean().item())
    return sum(scores) / networks


distilled = Distilled()
optimizer = torch.optim.Adam(distilled.parameters(), lr=2e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, 0.5)
print(f"before: accuracy {evaluate(distilled):.3f}")
for step in range(240):
    x, y = real(128)
    loss = sum(F.cross_entropy(forward(distilled.train_network(True), x), y) for _ in range(3)) / 3
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 60 == 59:
        rate = F.softplus(distilled.raw_lr).item()
        score = evaluate(distilled)
        print(f"{step + 1} loss {loss.item():.3f} rate {rate:.3f} accuracy {score:.3f}")
