r"""Contrastive clustering of the nodes of a graph from two encoders.

Source: https://github.com/yueliu1999/HSAN/issues/6
Fault: The gradients are never set to zero, so each step uses the sum of all before it.
Cause: zero_grad|accumul|(gradient|grad)s?.{0,60}(reset|clear|summed|sum of|added|pile|earlier)
    |never (cleared|reset|zeroed)
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
nodes, groups = 240, 4
group = torch.randint(0, groups, (nodes,))
centres = torch.randn(groups, 24)
features = 0.5 * centres[group] + torch.randn(nodes, 24)
same = group[:, None] == group[None]
adjacency = (torch.rand(nodes, nodes) < torch.where(same, 0.08, 0.02)).float()
adjacency = ((adjacency + adjacency.T) > 0).float() + torch.eye(nodes)
degree = adjacency.sum(1)
smooth = adjacency / (degree[:, None] * degree[None]).sqrt()
filtered = smooth @ smooth @ features


class Hsan(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.ae1, self.ae2 = nn.Linear(24, dim), nn.Linear(24, dim)
        self.se1, self.se2 = nn.Linear(nodes, dim), nn.Linear(nodes, dim)
        self.alpha = nn.Parameter(torch.tensor(0.9))

    def forward(self, x, a):
        z1, z2 = F.normalize(self.ae1(x)), F.normalize(self.ae2(x))
        e1, e2 = F.normalize(self.se1(a)), F.normalize(self.se2(a))
        return z1, z2, self.alpha * z1 @ z2.T + (1 - self.alpha) * e1 @ e2.T


model = Hsan()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
target = torch.arange(nodes)
for epoch in range(100):
    z1, z2, similarity = model(filtered, smooth)
    loss = F.cross_entropy(similarity / 0.5, target)
    loss.backward()  # here
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch} loss {loss.item():.3f}")
with torch.no_grad():
    z1, z2, _ = model(filtered, smooth)
    z = z1 + z2
    means = torch.stack([z[group == g].mean(0) for g in range(groups)])
    purity = (torch.cdist(z, means).argmin(1) == group).float().mean()
print(f"final loss {loss.item():.3f}, purity {purity.item():.3f}")
