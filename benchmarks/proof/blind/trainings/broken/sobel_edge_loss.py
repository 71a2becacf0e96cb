r"""Restores images of boxes with a loss on the magnitude of their gradients.

Source: https://github.com/chaddy1004/sobel-operator-pytorch/issues/1
    https://github.com/pytorch/pytorch/issues/2421
Fault: sqrt has an infinite derivative at zero; the first flat region that is predicted exactly
    gives NaN gradients and all weights become NaN.
Cause: \bnan\b|sqrt|square root|\beps|\binf(inite)?\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class Sobel(nn.Module):
    def __init__(self):
        super().__init__()
        gx = torch.tensor([[2.0, 0.0, -2.0], [4.0, 0.0, -4.0], [2.0, 0.0, -2.0]])
        self.register_buffer("filter", torch.stack([gx, gx.T]).unsqueeze(1))

    def forward(self, img):
        x = F.conv2d(img, self.filter)
        return torch.sqrt((x * x).sum(dim=1, keepdim=True))  # here


class Restorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.c2(F.relu(self.c1(x))) - 0.2)


torch.manual_seed(0)
net, sobel = Restorer(), Sobel()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(80):
    clean = torch.zeros(8, 1, 16, 16)
    clean[:, :, 5:10, 4:11] = torch.rand(8, 1, 1, 1) + 0.5
    noisy = clean + 0.1 * torch.randn_like(clean)
    out = net(noisy)
    loss = F.l1_loss(out, clean) + 0.1 * F.l1_loss(sobel(out), sobel(clean))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it} loss {loss.item():.4f}")
