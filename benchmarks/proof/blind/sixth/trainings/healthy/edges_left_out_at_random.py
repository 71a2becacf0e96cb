r"""Graph convolutions with an adjacency that is another one in each step.

Source: https://github.com/DropEdge/DropEdge
Odd: A random part of the edges is left out and the rest is normalised anew for each step, and the
    full graph is used for the validation; the loss is on a few nodes only.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
nodes, classes = 300, 3
y = torch.randint(0, classes, (nodes,))
x = torch.randn(nodes, 16) + 0.7 * torch.randn(classes, 16)[y]
chance = torch.where(y[:, None] == y[None], 0.04, 0.008)
edges = (torch.rand(nodes, nodes) < chance).triu(1).nonzero()
idx_train, idx_val = torch.arange(0, 60), torch.arange(100, 300)


def normalised(pairs):
    a = torch.eye(nodes)
    a[pairs[:, 0], pairs[:, 1]] = 1.0
    a[pairs[:, 1], pairs[:, 0]] = 1.0
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None]


def random_edges(percent=0.6):
    keep = torch.randperm(len(edges))[: int(len(edges) * percent)]
    return normalised(edges[keep])


class GCN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, hidden), nn.Linear(hidden, hidden)])
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, adj):
        for layer in self.layers:
            x = F.dropout(F.relu(adj @ layer(x)), 0.3, training=self.training)
        return F.log_softmax(adj @ self.out(x), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
full = normalised(edges)
for epoch in range(100):
    model.train()
    loss_train = F.nll_loss(model(x, random_edges())[idx_train], y[idx_train])
    optimizer.zero_grad()
    loss_train.backward()
    optimizer.step()
    if epoch % 25 == 24:
        model.eval()
        with torch.no_grad():
            out = model(x, full)[idx_val]
        acc = (out.argmax(1) == y[idx_val]).float().mean()
        print(f"epoch {epoch} train {loss_train.item():.3f} val accuracy {acc.item():.3f}")
