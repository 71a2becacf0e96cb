"""Patterns that are to be recognised under noise, with a vote over many noisy copies.

Source: https://github.com/locuslab/smoothing
Odd: Strong noise is added to the inputs in the training as well as in the test, where each
    picture is judged a hundred times; the training loss stays high.
"""

import torch
from torch import nn

torch.manual_seed(1019)
CLASSES, PIXELS, SIGMA = 6, 48, 3.5
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 0.5 * torch.randn(count, PIXELS), label


class Smooth:
    ABSTAIN = -1

    def __init__(self, base, sigma):
        self.base, self.sigma = base, sigma

    @torch.no_grad()
    def predict(self, x, n=100):
        self.base.eval()
        noisy = x[:, None] + self.sigma * torch.randn(len(x), n, PIXELS)
        votes = nn.functional.one_hot(self.base(noisy).argmax(-1), CLASSES).sum(1)
        top = votes.topk(2, dim=1)
        sure = top.values[:, 0] - top.values[:, 1] > 2 * n**0.5
        return torch.where(sure, top.indices[:, 0], self.ABSTAIN)


model = nn.Sequential(
    nn.Linear(PIXELS, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, CLASSES)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
train_x, train_y = draw(1000)
test_x, test_y = draw(300)
for epoch in range(10):
    model.train()
    running = 0.0
    for rows in torch.randperm(1000).split(50):
        inputs = train_x[rows] + SIGMA * torch.randn(len(rows), PIXELS)
        loss = nn.functional.cross_entropy(model(inputs), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    if epoch % 3 == 0:
        predicted = Smooth(model, SIGMA).predict(test_x)
        right = (predicted == test_y).float().mean().item()
        silent = (predicted == Smooth.ABSTAIN).float().mean().item()
        print(f"epoch {epoch + 1} loss {running / 20:.4f} right {right:.3f} no answer {silent:.3f}")
