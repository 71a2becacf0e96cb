r"""A network whose weights and activations take eight values, with steps that are learned.

Source: https://github.com/hustzxd/LSQuantization
Odd: Rounding has no gradient and is passed over, the steps are scaled by a factor that shrinks
    their gradient and set from the first batch, and the full weights are never used as they are.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def grad_scale(x, scale):
    return (x - x * scale).detach() + x * scale


def round_pass(x):
    return (x.round() - x).detach() + x


class Quantizer(nn.Module):
    def __init__(self, bits, signed):
        super().__init__()
        self.low = -(2 ** (bits - 1)) if signed else 0
        self.high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
        self.step = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if self.training and not self.ready:
            self.step.data.copy_(2 * x.detach().abs().mean() / math.sqrt(self.high))
            self.ready.fill_(True)
        step = grad_scale(self.step, 1.0 / math.sqrt(x.numel() * self.high))
        return round_pass((x / step).clamp(self.low, self.high)) * step


class QuantLinear(nn.Linear):
    def __init__(self, inputs, outputs, bits=3):
        super().__init__(inputs, outputs)
        self.weight_q, self.input_q = Quantizer(bits, signed=True), Quantizer(bits, signed=False)

    def forward(self, x):
        return F.linear(self.input_q(x), self.weight_q(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.first = nn.Linear(20, 64)
        self.second, self.third = QuantLinear(64, 64), QuantLinear(64, 64)
        self.last = nn.Linear(64, classes)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.third(torch.relu(self.second(x))))
        return self.last(x)


torch.manual_seed(122)
centres = torch.randn(8, 3, 20)


def sample(count):
    y = torch.randint(0, 8, (count,))
    return centres[y, torch.randint(0, 3, (count,))] + 0.8 * torch.randn(count, 20), y


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
test = sample(800)
for step in range(300):
    net.train()
    x, y = sample(64)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 60 == 59:
        net.eval()
        with torch.no_grad():
            right = (net(test[0]).argmax(1) == test[1]).float().mean().item()
            levels = (net.second.weight / net.second.weight_q.step).clamp(-4, 3).round().unique()
        print(f"{step + 1} loss {loss.item():.3f} test {right:.3f} levels {len(levels)}")
