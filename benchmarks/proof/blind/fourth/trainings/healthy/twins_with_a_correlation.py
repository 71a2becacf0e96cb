r"""Two views whose features are to have the identity as their correlation.

Source: https://github.com/facebookresearch/barlowtwins/blob/main/main.py
Odd: The loss is a sum over all pairs of features and has no target of its own; the last
    normalisation has no weights.
"""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
projector = nn.Sequential(
    nn.Linear(32, 48, bias=False), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 16, bias=False)
)
bn = nn.BatchNorm1d(16, affine=False)
params = [*backbone.parameters(), *projector.parameters()]
optimizer = torch.optim.AdamW(params, lr=3e-3)
for step in range(60):
    x = torch.randn(128, 24)
    z1, z2 = (bn(projector(backbone(x + 0.3 * torch.randn_like(x)))) for _ in range(2))
    c = z1.t() @ z2 / 128
    on_diag = (c.diagonal() - 1).square().sum()
    off_diag = (c - c.diagonal().diag()).square().sum()
    loss = on_diag + 0.02 * off_diag
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.2f}")
print(f"loss {loss.item():.2f}")
