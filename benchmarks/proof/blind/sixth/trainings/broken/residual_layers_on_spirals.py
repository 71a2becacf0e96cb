r"""Deep residual network that tells the arms of spirals apart.

Source: https://github.com/gcr/torch-residual-networks/issues/10
Fault: The learning rate is too high for this network, so the loss stays at that of chance.
Cause: learning rate|\blr\b|step size|overshoot
Place: \blr\b
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def spirals(count=128):
    arm = torch.randint(0, 3, (count,))
    radius = torch.rand(count)
    turn = 4 * radius + arm * 2 * math.pi / 3
    points = torch.stack([radius * turn.cos(), radius * turn.sin()], 1)
    return 2 * points + 0.02 * torch.randn(count, 2), arm


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)
        for layer in (self.a, self.b):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.a(x))))


net = nn.Sequential(
    nn.Linear(2, 32), nn.ReLU(), *(Residual(32) for _ in range(5)), nn.Linear(32, 3)
)
optimizer = torch.optim.SGD(
    net.parameters(),
    lr=0.1,  # here
    momentum=0.9,
    nesterov=True,
    weight_decay=1e-4,
)
for step in range(120):
    points, arm = spirals()
    scores = net(points)
    loss = F.cross_entropy(scores, arm)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 0:
        print(f"{step:3d} loss {loss.item():.3f}")
accuracy = (scores.argmax(1) == arm).float().mean()
print(f"last loss {loss.item():.3f}, accuracy {accuracy.item():.3f}")
