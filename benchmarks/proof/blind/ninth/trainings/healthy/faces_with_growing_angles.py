"""People told apart by angles, with a margin that is brought in little by little.

Source: https://github.com/clcarwin/sphereface_pytorch
Odd: The loss gets harder during the run as the factor lambda falls, so it may rise while the
    accuracy rises as well; the weights of the last layer are normalised in the forward pass.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1016)
PEOPLE, PIXELS, SIZE, M = 10, 40, 16, 2
face = torch.randn(PEOPLE, PIXELS)


def draw(count):
    label = torch.randint(0, PEOPLE, (count,))
    return face[label] + 0.9 * torch.randn(count, PIXELS), label


class AngleLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(SIZE, PEOPLE).uniform_(-1, 1))

    def forward(self, x):
        w = F.normalize(self.weight, dim=0)
        length = x.norm(dim=1, keepdim=True)
        cos_theta = ((x @ w) / length).clamp(-1, 1)
        cos_m_theta = 2 * cos_theta**2 - 1
        k = (M * cos_theta.detach().acos() / math.pi).floor()
        phi_theta = (-1.0) ** k * cos_m_theta - 2 * k
        return cos_theta * length, phi_theta * length


class AngleLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.it = 0

    def forward(self, output, target):
        self.it += 1
        lamb = max(3.0, 300.0 / (1 + 0.5 * self.it))
        cos_theta, phi_theta = output
        index = F.one_hot(target, PEOPLE).bool()
        mixed = cos_theta + (phi_theta - cos_theta) / (1 + lamb) * index
        return F.cross_entropy(mixed, target)


net = nn.Sequential(nn.Linear(PIXELS, 64), nn.PReLU(64), nn.Linear(64, SIZE))
head, criterion = AngleLinear(), AngleLoss()
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
test_x, test_y = draw(500)
for step in range(250):
    x, y = draw(64)
    loss = criterion(head(net(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            accuracy = (head(net(test_x))[0].argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} test {accuracy:.3f}")
