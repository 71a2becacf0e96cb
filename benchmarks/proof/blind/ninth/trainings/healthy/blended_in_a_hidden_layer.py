"""Patterns blended in pairs in a layer that is drawn anew for every batch.

Source: https://github.com/vikasverma1077/manifold_mixup
Odd: The inputs, or some hidden layer, of two pictures are mixed and so are their labels, so the
    training loss stays high and the training accuracy means little.
"""

import torch
from torch import nn
from torch.distributions import Beta

torch.manual_seed(1014)
CLASSES, PIXELS, WIDTH = 8, 32, 64
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.0 * torch.randn(count, PIXELS), label


def mixup_process(out, target, lam):
    indices = torch.randperm(len(out))
    out = out * lam + out[indices] * (1 - lam)
    target = target * lam + target[indices] * (1 - lam)
    return out, target


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(a, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())
            for a in (PIXELS, WIDTH, WIDTH)
        )
        self.linear = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, target=None, lam=None):
        chosen = -1 if lam is None else int(torch.randint(0, 3, (1,)))
        for number, layer in enumerate(self.layers):
            if number == chosen:
                x, target = mixup_process(x, target, lam)
            x = layer(x)
        return self.linear(x), target


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
bce_loss = nn.BCELoss()
train_x, train_y = draw(800)
test_x, test_y = draw(500)
onehot = nn.functional.one_hot(train_y, CLASSES).float()
for epoch in range(10):
    net.train()
    running = 0.0
    for rows in torch.randperm(800).split(50):
        lam = Beta(2.0, 2.0).sample()
        output, reweighted = net(train_x[rows], onehot[rows], lam)
        loss = bce_loss(output.softmax(1), reweighted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        accuracy = (net(test_x)[0].argmax(1) == test_y).float().mean().item()
    if epoch % 2:
        print(f"epoch {epoch + 1} loss {running / 16:.4f} test {accuracy:.3f}")
