r"""Self-supervised features without negatives.

Source: https://github.com/facebookresearch/vicreg
Odd: Two parts of the loss have weights of 25 and the third has one; the term of the variances is a
    hinge that is often at zero, and no target is detached.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
mixing = torch.randn(6, 40)
sim_coeff, std_coeff, cov_coeff = 25.0, 25.0, 1.0


def views(count=128):
    content = torch.randn(count, 6)
    clean = torch.tanh(content @ mixing)
    return content, *(clean + 0.4 * torch.randn(count, 40) for _ in range(2))


backbone = nn.Sequential(nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 24))
projector = nn.Sequential(
    nn.Linear(24, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48, bias=False)
)
optimizer = torch.optim.AdamW([*backbone.parameters(), *projector.parameters()], lr=2e-3)


def off_diagonal(x):
    return x[~torch.eye(len(x), dtype=torch.bool)]


def probe():
    """Return the share of the content that a linear fit explains."""
    with torch.no_grad():
        backbone.eval()
        (c1, v1, _), (c2, v2, _) = views(600), views(600)
        z1, z2 = (F.pad(backbone(v), (0, 1), value=1.0) for v in (v1, v2))
        backbone.train()
        fit = torch.linalg.lstsq(z1, c1).solution
        return (1 - (z2 @ fit - c2).square().mean() / c2.var()).item()


print(f"content explained at first {probe():.3f}")
for step in range(120):
    _, x, y = views()
    x, y = projector(backbone(x)), projector(backbone(y))
    repr_loss = F.mse_loss(x, y)
    x, y = x - x.mean(0), y - y.mean(0)
    std_loss = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() / 2 for z in (x, y))
    cov_loss = sum(off_diagonal(z.T @ z / (len(z) - 1)).square().sum() / 48 for z in (x, y))
    loss = sim_coeff * repr_loss + std_coeff * std_loss + cov_coeff * cov_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f} std {std_loss.item():.3f}")
print(f"last loss {loss.item():.3f}, content explained at last {probe():.3f}")
