r"""A network with a fifth of its connections, which are moved to better places during training.

Source: https://github.com/nollied/rigl-torch
Odd: Most weights are zero and stay so, connections are cut and grown every twenty steps, the new
    ones start at zero where the gradient is large, and the moves end at three quarters of
    training.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(125)


class RigL:
    def __init__(self, layers, density, total, every=20, alpha=0.3):
        self.layers, self.every, self.alpha = layers, every, alpha
        self.end, self.time = int(0.75 * total), 0
        self.masks = []
        for layer in layers:
            score = torch.rand_like(layer.weight)
            kept = int(density * score.numel())
            self.masks.append((score >= score.flatten().topk(kept).values[-1]).float())
        self.apply()

    @torch.no_grad()
    def apply(self):
        for layer, mask in zip(self.layers, self.masks):
            layer.weight.mul_(mask)

    @torch.no_grad()
    def before_step(self):
        self.time += 1
        moving = self.time % self.every == 0 and self.time < self.end
        for i, layer in enumerate(self.layers):
            if moving:
                self.move(i, layer)
            layer.weight.grad.mul_(self.masks[i])
        return not moving

    def move(self, i, layer):
        mask = self.masks[i]
        share = self.alpha / 2 * (1 + math.cos(self.time * math.pi / self.end))
        count = int(share * mask.sum())
        size = layer.weight.abs().masked_fill(mask == 0, float("inf"))
        cut = size.flatten().topk(count, largest=False).indices
        need = layer.weight.grad.abs().masked_fill(mask > 0, -1.0)
        grown = need.flatten().topk(count).indices
        mask.view(-1)[cut] = 0
        mask.view(-1)[grown] = 1
        layer.weight.view(-1)[cut] = 0
        layer.weight.view(-1)[grown] = 0


teacher = nn.Sequential(nn.Linear(30, 16), nn.Tanh(), nn.Linear(16, 5))


@torch.no_grad()
def sample(count):
    x = torch.randn(count, 30)
    return x, (5 * teacher(x)).argmax(1)


TOTAL = 400
model = nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 5))
pruner = RigL([model[0], model[2]], density=0.2, total=TOTAL)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, TOTAL)
test = sample(1000)
for step in range(TOTAL):
    x, y = sample(100)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    if pruner.before_step():
        optimizer.step()
    pruner.apply()
    scheduler.step()
    if step % 80 == 79:
        with torch.no_grad():
            right = (model(test[0]).argmax(1) == test[1]).float().mean().item()
        density = (model[2].weight != 0).float().mean().item()
        print(f"{step + 1} loss {loss.item():.3f} test {right:.3f} density {density:.3f}")
