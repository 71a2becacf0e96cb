r"""Three tasks on one body, weighted by how fast each has improved.

Source: https://github.com/lorenmt/mtan
Odd: The weights of the tasks come from losses of earlier epochs, and the first two epochs use ones.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
mix = torch.randn(12, 4)


def batch(count=64):
    z = torch.randn(count, 4)
    x = torch.tanh(z @ mix.t()) + 0.1 * torch.randn(count, 12)
    return x, (z[:, 0] > 0).long() + (z[:, 1] > 0).long(), z[:, 2:3], 5 * z[:, 3:4]


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(64, 3), nn.Linear(64, 1), nn.Linear(64, 1)])

    def forward(self, x):
        h = self.shared(x)
        return [head(h) for head in self.heads]


model = MultiTaskNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
T, epochs, batches = 2.0, 10, 10
avg_cost = np.zeros((epochs, 3))
lambda_weight = np.ones((3, epochs))
for epoch in range(epochs):
    if epoch > 1:
        w = avg_cost[epoch - 1] / avg_cost[epoch - 2]
        lambda_weight[:, epoch] = 3 * np.exp(w / T) / np.exp(w / T).sum()
    for _ in range(batches):
        x, kind, depth, normal = batch()
        out = model(x)
        losses = [
            F.cross_entropy(out[0], kind),
            F.l1_loss(out[1], depth),
            F.mse_loss(out[2], normal),
        ]
        loss = sum(lambda_weight[i, epoch] * losses[i] for i in range(3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        avg_cost[epoch] += np.array([single.item() for single in losses]) / batches
    print(epoch, avg_cost[epoch].round(4), lambda_weight[:, epoch].round(3))
