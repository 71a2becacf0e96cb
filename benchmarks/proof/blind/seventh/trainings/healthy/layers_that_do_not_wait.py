r"""The first layer is updated at once from a guess of its gradient, which a small network makes.

Source: https://github.com/koz4k/dni-pytorch
Odd: The graph is cut between the layers, the first layer gets a gradient that no loss produced,
    and the network that guesses it starts from zero and is trained with the true gradient as the
    target.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Guess(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.hidden = nn.Linear(width + classes, 64)
        self.out = nn.Linear(64, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, h, label):
        return self.out(torch.relu(self.hidden(torch.cat([h, label], 1))))


class Decoupled:
    def __init__(self, inputs, width, classes):
        self.classes = classes
        self.lower = nn.Sequential(nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU())
        self.upper = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))
        self.guess = Guess(width, classes)
        self.opt_lower = torch.optim.Adam(self.lower.parameters(), lr=1e-3)
        self.opt_upper = torch.optim.Adam(self.upper.parameters(), lr=1e-3)
        self.opt_guess = torch.optim.Adam(self.guess.parameters(), lr=1e-3)

    def step(self, x, y):
        label = F.one_hot(y, self.classes).float()
        h = self.lower(x)
        with torch.no_grad():
            synthetic = self.guess(h, label)
        self.opt_lower.zero_grad()
        h.backward(synthetic)
        self.opt_lower.step()

        cut = h.detach().requires_grad_()
        loss = F.cross_entropy(self.upper(cut), y)
        self.opt_upper.zero_grad()
        loss.backward()
        self.opt_upper.step()

        scale = len(x)
        guess_loss = F.mse_loss(scale * self.guess(cut.detach(), label), scale * cut.grad)
        self.opt_guess.zero_grad()
        guess_loss.backward()
        self.opt_guess.step()
        return loss.item(), guess_loss.item()

    @torch.no_grad()
    def accuracy(self, x, y):
        self.lower.eval()
        score = (self.upper(self.lower(x)).argmax(1) == y).float().mean().item()
        self.lower.train()
        return score


def main():
    torch.manual_seed(15)
    teacher = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 5))
    x = torch.randn(2600, 16)
    with torch.no_grad():
        y = (6 * teacher(1.5 * x)).argmax(1)
    loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
    net = Decoupled(16, 64, 5)
    for epoch in range(10):
        for xb, yb in loader:
            loss, guess_loss = net.step(xb, yb)
        score = net.accuracy(x[2000:], y[2000:])
        print(f"epoch {epoch} loss {loss:.3f} guess {guess_loss:.4f} test accuracy {score:.3f}")


main()
