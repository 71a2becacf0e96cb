r"""Parts of a figure are routed to wholes by agreement, and the longest whole is the answer.

Source: https://github.com/motokimura/capsnet_pytorch/pull/1
Fault: The softmax of the routing runs over the input capsules and not over the output capsules.
Cause: softmax.{0,100}(input capsule|dim(ension)?.{0,4}1|over the (input|parts)|output capsule|axis)
    |(coupling|routing|coefficient).{0,100}(softmax|dim|axis|normali|sum)
Place: softmax|c_ij|b_ij|dim
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)
PARTS, WHOLES, D_IN, D_OUT = 24, 6, 6, 8


def squash(s):
    norm2 = s.square().sum(-1, keepdim=True)
    return norm2 / (1 + norm2) * s / (norm2 + 1e-8).sqrt()


class DigitCaps(nn.Module):
    def __init__(self, routings=3):
        super().__init__()
        self.routings = routings
        self.W = nn.Parameter(0.3 * torch.randn(1, PARTS, WHOLES, D_OUT, D_IN))

    def forward(self, u):
        u_hat = (self.W @ u[:, :, None, :, None]).squeeze(-1)
        b_ij = u.new_zeros(u.size(0), PARTS, WHOLES, 1)
        for i in range(self.routings):
            c_ij = F.softmax(b_ij, dim=1)  # here
            v = squash((c_ij * u_hat).sum(dim=1, keepdim=True))
            if i < self.routings - 1:
                b_ij = b_ij + (u_hat.detach() * v.detach()).sum(-1, keepdim=True)
        return v.squeeze(1)


class CapsNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.primary = nn.Linear(inputs, PARTS * D_IN)
        self.digit = DigitCaps()

    def forward(self, x):
        u = squash(self.primary(x).view(-1, PARTS, D_IN))
        return self.digit(u).norm(dim=-1)


def margin_loss(length, target):
    t = F.one_hot(target, WHOLES).float()
    present = F.relu(0.9 - length).square()
    absent = F.relu(length - 0.1).square()
    return (t * present + 0.5 * (1 - t) * absent).sum(1).mean()


corners = torch.randn(WHOLES, 3, 30)


def figures(count):
    y = torch.randint(0, WHOLES, (count,))
    weights = torch.rand(count, 3, 1)
    return (corners[y] * weights).sum(1) + 0.7 * torch.randn(count, 30), y


test_x, test_y = figures(500)
model = CapsNet(30)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(160):
    x, y = figures(64)
    loss = margin_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 32 == 31:
        with torch.no_grad():
            length = model(test_x)
        right = (length.argmax(1) == test_y).float().mean().item()
        longest = length.max(1).values.mean().item()
        print(f"{step + 1} loss {loss.item():.4f} test {right:.3f} mean longest {longest:.3f}")
