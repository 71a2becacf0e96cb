r"""Sound parts are drawn to one point, and a defect is what lies far from it.

Source: https://github.com/lukasruff/Deep-SVDD-PyTorch
Odd: There are no labels and no biases, and the target is the mean output of the untrained
    network; a loss near zero is the aim, since the centre is kept fixed away from zero.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(3)


def parts(count, defect=False):
    phase = 6.28 * torch.rand(count, 1)
    t = torch.linspace(0, 6.28, 24)
    signal = torch.sin(t + phase) + 0.4 * torch.sin(2 * t + 2 * phase)
    if defect:
        where = torch.randint(0, 20, (count,))
        bump = (torch.arange(24) - where[:, None]).abs() < 3
        signal = signal + 1.1 * bump
    return signal + 0.1 * torch.randn(count, 24)


class SvddNet(nn.Module):
    def __init__(self, rep_dim=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(24, 64, bias=False),
            nn.LeakyReLU(0.1),
            nn.Linear(64, 32, bias=False),
            nn.LeakyReLU(0.1),
            nn.Linear(32, rep_dim, bias=False),
        )

    def forward(self, x):
        return self.layers(x)


@torch.no_grad()
def init_center(net, loader, eps=0.1):
    c = torch.cat([net(x) for x in loader]).mean(0)
    c[(c.abs() < eps) & (c < 0)] = -eps
    c[(c.abs() < eps) & (c >= 0)] = eps
    return c


@torch.no_grad()
def auc(net, c, good, bad):
    near = (net(good) - c).square().sum(1)
    far = (net(bad) - c).square().sum(1)
    return (far[:, None] > near[None]).float().mean().item()


loader = DataLoader(parts(1500), batch_size=100, shuffle=True)
good, bad = parts(400), parts(400, defect=True)
net = SvddNet()
center = init_center(net, loader)
print(f"before: auc {auc(net, center, good, bad):.3f}")
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-6)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[14], gamma=0.1)
for epoch in range(20):
    total = 0.0
    for x in loader:
        optimizer.zero_grad()
        dist = (net(x) - center).square().sum(dim=1)
        loss = dist.mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 4 == 3:
        score = auc(net, center, good, bad)
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f} auc {score:.3f}")
