r"""Contrastive embeddings of neural activity, with a shifted log-sum-exp.

Source: https://github.com/AdaptiveMotorControlLab/CEBRA/issues/48
Fault: The row maximum has no kept dimension and is subtracted along the columns, so the weights of
    the negatives are wrong and the value is not the contrastive loss.
Cause: keepdim|broadcast|(wrong|column|row) (axis|dim)|(max\w*|shift)\b.*(dim|axis|column|row)
"""

import torch
import torch.nn.functional as F
from torch import nn


def infonce(pos_dist, neg_dist):
    with torch.no_grad():
        c, _ = neg_dist.max(dim=1)  # here
    align = -pos_dist.mean()
    uniform = (torch.logsumexp(neg_dist - c, dim=1) + c).mean()
    return align + uniform, align, uniform


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, 64), nn.GELU(), nn.Linear(64, 4))
        self.log_scale = nn.Parameter(torch.zeros(30))

    def forward(self, x):
        return 6 * F.normalize(self.net(x * self.log_scale.exp()), dim=1)


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
tuning = torch.randn(3, 30)
for step in range(150):
    behaviour = torch.randn(64, 3) * torch.tensor([3.0, 1.0, 0.2])
    rate = behaviour @ tuning
    ref, pos, neg = (
        model(r + 0.5 * torch.randn_like(r)) for r in (rate, rate, rate[torch.randperm(64)])
    )
    loss, align, uniform = infonce((ref * pos).sum(1), ref @ neg.T)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        true = -(ref * pos).sum(1).mean() + torch.logsumexp(ref @ neg.T, 1).mean()
        print(f"step {step} loss {loss.item():.4f} true InfoNCE {true.item():.4f}")
