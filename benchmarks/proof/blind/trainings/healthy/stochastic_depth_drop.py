r"""A residual MLP with stochastic depth: blocks are skipped at random in training.

Source: https://github.com/yueatsprograms/Stochastic_Depth
    https://github.com/shamangary/Pytorch-Stochastic-Depth-Resnet
Odd: In many steps the parameters of a block get no gradient (None), because it was skipped;
    over the run every block is trained.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ResidualDrop(nn.Module):
    def __init__(self, dim, prob):
        super().__init__()
        self.prob = prob
        self.fc1, self.fc2 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        if self.training and torch.rand(()) > self.prob:
            return x
        out = self.fc2(F.relu(self.fc1(x)))
        return x + (out if self.training else self.prob * out)


torch.manual_seed(4)
blocks = [ResidualDrop(24, 1 - 0.5 * i / 5) for i in range(6)]
model = nn.Sequential(nn.Linear(8, 24), *blocks, nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x = torch.randn(600, 8)
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
for step in range(250):
    model.train()
    idx = torch.randint(0, 600, (64,))
    loss = F.cross_entropy(model(x[idx]), y[idx])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            val = F.cross_entropy(model(x), y).item()
        print(f"step {step} train {loss.item():.4f} eval {val:.4f}")
