"""Residual network without any normalisation layer, with gradients clipped row by row.

Source: https://github.com/vballoli/nfnets-pytorch
Odd: The weights are standardised in each pass, the gain at the end of a block starts at zero, and
    each row of gradients is clipped against the norm of its own weights; the last layer is not.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(221)
KINDS = 8
textures = torch.randn(KINDS, 3, 10, 10)


def batch(count=48):
    kind = torch.randint(0, KINDS, (count,))
    return 0.22 * textures[kind] + torch.randn(count, 3, 10, 10), kind


class WSConv2d(nn.Conv2d):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.gain = nn.Parameter(torch.ones(self.out_channels, 1, 1, 1))

    def forward(self, x):
        fan_in = self.weight[0].numel()
        mean = self.weight.mean(dim=(1, 2, 3), keepdim=True)
        var = self.weight.var(dim=(1, 2, 3), keepdim=True)
        weight = (self.weight - mean) * torch.rsqrt((var * fan_in).clamp(min=1e-4)) * self.gain
        return F.conv2d(x, weight, self.bias, padding=self.padding)


class NFBlock(nn.Module):
    def __init__(self, width, alpha=0.2, beta=1.0):
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.conv0 = WSConv2d(width, width, 3, padding=1)
        self.conv1 = WSConv2d(width, width, 3, padding=1)
        self.skip_gain = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        out = self.conv0(1.7 * F.relu(x) * self.beta)
        out = self.conv1(1.7 * F.relu(out))
        return x + self.alpha * self.skip_gain * out


def unitwise_norm(x):
    if x.dim() <= 1:
        return x.norm()
    return x.flatten(1).norm(dim=1).view(-1, *[1] * (x.dim() - 1))


@torch.no_grad()
def adaptive_clip(parameters, clipping=0.05, eps=1e-3):
    for p in parameters:
        limit = unitwise_norm(p).clamp(min=eps) * clipping
        norm = unitwise_norm(p.grad)
        p.grad.copy_(torch.where(norm > limit, p.grad * limit / norm.clamp(min=1e-6), p.grad))


stem = WSConv2d(3, 16, 3, padding=1)
body = nn.Sequential(stem, *[NFBlock(16) for _ in range(3)], nn.ReLU(), nn.Flatten())
head = nn.Linear(1600, KINDS)
nn.init.normal_(head.weight, std=0.01)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
for step in range(70):
    x, y = batch()
    loss = F.cross_entropy(head(body(x)), y)
    optimizer.zero_grad()
    loss.backward()
    adaptive_clip(body.parameters())
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    x, y = batch(400)
    print(f"accuracy {(head(body(x)).argmax(1) == y).float().mean().item():.3f}")
