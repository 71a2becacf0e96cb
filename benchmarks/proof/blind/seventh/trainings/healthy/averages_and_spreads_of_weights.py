r"""Late in training, the weights are averaged and their spread is kept, to draw models from.

Source: https://github.com/wjmaddox/swa_gaussian
Odd: The rate stays high to the end so that the weights keep moving; the model that is judged is
    the average, or drawn around it, and its batch statistics are measured anew each time.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(81)


def build():
    return nn.Sequential(
        nn.Linear(12, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Linear(48, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Linear(48, 5),
    )


class Swag:
    def __init__(self):
        self.model, self.count = build(), 0
        self.mean = [torch.zeros_like(p) for p in self.model.parameters()]
        self.square = [torch.zeros_like(p) for p in self.model.parameters()]

    @torch.no_grad()
    def collect(self, source):
        n = self.count
        for mean, square, p in zip(self.mean, self.square, source.parameters()):
            mean.mul_(n / (n + 1)).add_(p / (n + 1))
            square.mul_(n / (n + 1)).add_(p.square() / (n + 1))
        self.count += 1

    @torch.no_grad()
    def sample(self, loader, scale):
        for p, mean, square in zip(self.model.parameters(), self.mean, self.square):
            spread = (square - mean.square()).clamp(min=1e-30).sqrt()
            p.copy_(mean + scale * spread * torch.randn_like(mean))
        for module in self.model.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.reset_running_stats()
                module.momentum = None
        self.model.train()
        for x, _ in loader:
            self.model(x)
        return self.model.eval()


teacher = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 5))


@torch.no_grad()
def sample(count):
    x = 1.4 * torch.randn(count, 12)
    return x, (4 * teacher(x) + 0.4 * torch.randn(count, 5)).argmax(1)


@torch.no_grad()
def nll(model, data):
    return F.cross_entropy(model(data[0]), data[1]).item()


loader = DataLoader(TensorDataset(*sample(3000)), batch_size=150, shuffle=True)
test = sample(1500)
net, swag = build(), Swag()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
for epoch in range(16):
    if epoch == 8:
        optimizer.param_groups[0]["lr"] = 0.05
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch >= 8:
        swag.collect(net)
    if epoch % 3 == 0 or epoch == 15:
        line = f"epoch {epoch} loss {loss.item():.3f} test {nll(net.eval(), test):.3f}"
        if swag.count:
            line += f" average {nll(swag.sample(loader, 0.0), test):.3f}"
        print(line)
with torch.no_grad():
    votes = sum(swag.sample(loader, 0.5)(test[0]).softmax(1) for _ in range(8)) / 8
print(f"eight drawn models: test {F.nll_loss(votes.log(), test[1]).item():.3f}")
