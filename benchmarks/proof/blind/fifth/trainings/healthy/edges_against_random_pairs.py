r"""Link prediction in a graph, with random pairs as negative examples.

Source: https://github.com/pyg-team/pytorch_geometric/blob/master/examples/link_pred.py
Odd: The negative pairs are drawn anew in each step, and a few of them are edges by accident.
"""

import torch
from torch import nn

torch.manual_seed(0)
N = 120
group = torch.randint(0, 4, (N,))
pair = torch.combinations(torch.arange(N))
same = group[pair[:, 0]] == group[pair[:, 1]]
exists = torch.rand(len(pair)) < torch.where(same, 0.25, 0.01)
edges = pair[exists][torch.randperm(int(exists.sum()))].t()
train_edges, test_edges = edges[:, :-100], edges[:, -100:]
adjacency = torch.eye(N)
adjacency[train_edges[0], train_edges[1]] = adjacency[train_edges[1], train_edges[0]] = 1
degree = adjacency.sum(1).rsqrt()
propagate = degree[:, None] * adjacency * degree[None]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(N, 32) * 0.1)
        self.conv1 = nn.Linear(32, 64)
        self.conv2 = nn.Linear(64, 32)

    def encode(self):
        return propagate @ self.conv2(torch.relu(propagate @ self.conv1(self.x)))

    def decode(self, z, edge_index):
        return (z[edge_index[0]] * z[edge_index[1]]).sum(dim=-1)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(80):
    z = model.encode()
    negative = torch.randint(0, N, train_edges.shape)
    out = model.decode(z, torch.cat([train_edges, negative], dim=1))
    truth = torch.cat([torch.ones(train_edges.size(1)), torch.zeros(negative.size(1))])
    loss = criterion(out, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    z = model.encode()
    true_score = model.decode(z, test_edges)
    false_score = model.decode(z, torch.randint(0, N, (2, 400)))
auc = (true_score[:, None] > false_score[None]).float().mean().item()
print(f"loss {loss.item():.4f} area under the curve for held-out edges {auc:.3f}")
