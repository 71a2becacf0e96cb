r"""The family of a protein from itself and its neighbours in a graph of contacts.

Source: https://github.com/Emory-Melody/GraphSlim/issues/4
Fault: The convolution multiplies by the plain adjacency: no self-loops and no division by the
    degree.
Cause: self.?loop
    |(adjacency|\badj\b|degree|laplacian|aggregat|neighbo).{0,80}(normali|divid|scale|degree|mean)
    |(normali\w*|degree).{0,60}(adjacency|\badj\b|miss|without)
    |(own|itself|node's) .{0,40}(feature|ignored|lost|dropped)
    |activation.{0,60}(grow|large|explod|scale)
Place: \badj\b|adjacency|GraphConvolution|normali
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(22)
NODES, FAMILIES, FEATURES = 400, 5, 20


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class Gcn(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gc1 = GraphConvolution(FEATURES, hidden)
        self.gc2 = GraphConvolution(hidden, FAMILIES)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.3, self.training)
        return self.gc2(x, adj)


def contacts():
    family = torch.randint(0, FAMILIES, (NODES,))
    popular = torch.exp(1.6 * torch.randn(NODES))
    same = (family[:, None] == family[None]).float()
    rate = 0.008 * popular[:, None] * popular[None] * (0.3 + same)
    upper = (torch.rand(NODES, NODES) < rate).float().triu(1)
    features = 1.2 * torch.randn(FAMILIES, FEATURES)[family] + 2.0 * torch.randn(NODES, FEATURES)
    return features, upper + upper.t(), family


def prepare(adj):
    return adj  # here


features, adj, family = contacts()
adj = prepare(adj)
train = torch.arange(NODES) < 120
model = Gcn()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(120):
    model.train()
    loss = F.cross_entropy(model(features, adj)[train], family[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            right = (model(features, adj).argmax(1) == family).float()
        print(
            f"epoch {epoch + 1} loss {loss.item():.3f} "
            f"train {right[train].mean().item():.3f} test {right[~train].mean().item():.3f}"
        )
