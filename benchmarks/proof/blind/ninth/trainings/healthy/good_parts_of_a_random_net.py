"""Patterns with a net whose random weights stay as they are while half of them are chosen.

Source: https://github.com/allenai/hidden-networks
Odd: All the weights are frozen and have one size per layer, only scores are trained, and the
    choice by sorted scores has a gradient that passes straight through.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1022)
CLASSES, PIXELS, SPARSITY = 6, 30, 0.5
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.0 * torch.randn(count, PIXELS), label


class GetSubnet(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, k):
        order = scores.flatten().argsort()
        out = torch.zeros_like(scores).flatten()
        out[order[int((1 - k) * scores.numel()) :]] = 1
        return out.view_as(scores)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class SupermaskLinear(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs, bias=False)
        self.scores = nn.Parameter(torch.empty_like(self.weight))
        nn.init.kaiming_uniform_(self.scores, a=math.sqrt(5))
        size = math.sqrt(2 / (inputs * SPARSITY))
        self.weight.data = self.weight.data.sign() * size
        self.weight.requires_grad = False

    def forward(self, x):
        return F.linear(x, self.weight * GetSubnet.apply(self.scores.abs(), SPARSITY))


model = nn.Sequential(
    SupermaskLinear(PIXELS, 96),
    nn.ReLU(),
    SupermaskLinear(96, 96),
    nn.ReLU(),
    SupermaskLinear(96, CLASSES),
)
first = model[0].weight.clone()
scores = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(scores, lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=250)
test_x, test_y = draw(500)
for step in range(250):
    x, y = draw(64)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 50 == 49:
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} test {accuracy:.3f}")
print(f"weights unchanged: {torch.equal(first, model[0].weight)}")
