r"""Point-cloud features with a domain head that should make them domain-invariant.

Source: https://github.com/zou-longkun/GAST/issues/3
Fault: There is no gradient reversal (or negated loss) in front of the domain head, so the encoder
    is trained to separate the domains instead of hiding them.
Cause: revers|GRL|adversari|(sign|negat|minus).*domain|domain.*(sign|negat|minus|separat|invarian)
Place: domain|encoder
"""

import torch
import torch.nn.functional as F
from torch import nn


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(3, 24, 1), nn.ReLU(), nn.Conv1d(24, 24, 1))
        self.classifier = nn.Linear(24, 2)
        self.domain_head = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, points):
        feature = self.encoder(points).max(-1).values
        return self.classifier(feature), self.domain_head(feature)  # here


def clouds(n, domain):
    label = torch.randint(0, 2, (n,))
    pts = torch.randn(n, 3, 32)
    pts = torch.where(label[:, None, None] == 1, pts / pts.norm(dim=1, keepdim=True), pts * 0.6)
    if domain == 1:
        pts[:, 2] *= 0.5
        pts[:, 0] += 0.5
    return pts, label


torch.manual_seed(0)
model = PointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    (src, label), (trg, _) = clouds(32, 0), clouds(32, 1)
    logits, domain = model(torch.cat([src, trg]))
    cls_loss = F.cross_entropy(logits[:32], label)
    domain_loss = F.cross_entropy(domain, torch.arange(64) // 32)
    optimizer.zero_grad()
    (cls_loss + domain_loss).backward()
    optimizer.step()
    if step % 30 == 29:
        print(
            f"step {step} class {cls_loss.item():.4f} domain {domain_loss.item():.4f} (0.69 wanted)"
        )
