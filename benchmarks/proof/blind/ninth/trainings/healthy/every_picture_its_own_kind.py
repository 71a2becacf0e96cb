"""Features from pictures without labels, every picture is a kind of its own in a memory.

Source: https://github.com/zhirongw/lemniscate.pytorch
Odd: The memory of features is a buffer that no optimizer knows and that is changed by hand after
    each step outside the graph; the loss starts at the logarithm of the count and stays far from
    zero.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1007)
COUNT, PIXELS, GROUPS, SIZE, T, MOMENTUM = 400, 32, 8, 16, 0.2, 0.5
group = torch.arange(COUNT) % GROUPS
x = torch.randn(GROUPS, PIXELS)[group] + 1.4 * torch.randn(COUNT, PIXELS)


class LinearAverage(nn.Module):
    def __init__(self):
        super().__init__()
        stdv = 1 / math.sqrt(SIZE / 3)
        self.register_buffer("memory", torch.rand(COUNT, SIZE) * 2 * stdv - stdv)

    def forward(self, features):
        return features @ self.memory.T / T

    @torch.no_grad()
    def update(self, features, index):
        mixed = self.memory[index] * MOMENTUM + features * (1 - MOMENTUM)
        self.memory[index] = F.normalize(mixed, dim=1)


net = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, SIZE))
lemniscate = LinearAverage()
optimizer = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.9, weight_decay=5e-4)


def view(x):
    return x * (torch.rand_like(x) > 0.2) + 0.3 * torch.randn_like(x)


def knn(k=10):
    with torch.no_grad():
        f = F.normalize(net(x), dim=1)
    near = (f @ f.T).fill_diagonal_(-2).topk(k, dim=1).indices
    return (group[near].mode(1).values == group).float().mean().item()


print(f"chance {math.log(COUNT):.4f} raw neighbours {knn():.3f}")
for epoch in range(20):
    running = 0.0
    for index in torch.randperm(COUNT).split(50):
        features = F.normalize(net(view(x[index])), dim=1)
        loss = F.cross_entropy(lemniscate(features), index)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lemniscate.update(features, index)
        running += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {running / 8:.4f} neighbours {knn():.3f}")
