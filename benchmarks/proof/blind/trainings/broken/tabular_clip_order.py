"""A tabular ensemble trained with gradient clipping on targets with rare outliers.

Source: https://github.com/yandex-research/tabm/issues/20
Fault: The gradients are clipped before the backward pass fills them, so the clipping does nothing
    and every outlier throws the weights far away.
Cause: clip.*(before|order|no effect|nothing|empty)|before.*backward.*clip
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
n, d, k = 512, 8, 4


class EnsembleMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(k, d).sign())
        self.trunk = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.Linear(32, 1)

    def forward(self, x):
        return self.heads(self.trunk(x[:, None] * self.scale)).squeeze(-1)


x = torch.randn(n, d)
y = x[:, 0] * x[:, 1] + x[:, 2]
y[torch.randperm(n)[:6]] = 400.0
model = EnsembleMLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
gradient_clipping_norm = 1.0

for epoch in range(15):
    for idx in torch.randperm(n).split(64):
        optimizer.zero_grad()
        pred = model(x[idx])
        loss = F.mse_loss(pred, y[idx, None].expand(-1, k))
        nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping_norm)  # here
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        median = (model(x).mean(1) - y).abs().median()
    print(f"epoch {epoch} train loss {loss.item():.3f} median error {median.item():.3f}")
