r"""Vectors of nodes without labels: nodes of the graph are told from nodes with shuffled features.

Source: https://github.com/PetarV-/DGI
Odd: The features are shuffled over the nodes on purpose to make negatives, the labels are all
    ones and then all zeros, and the loss starts at ln 2 and has nothing to do with the classes it
    is judged by.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(80)
NODES, GROUPS, FEATURES = 300, 4, 24


def make_graph():
    group = torch.arange(NODES) % GROUPS
    chance = torch.where(group[:, None] == group[None], 0.06, 0.006)
    upper = (torch.rand(NODES, NODES) < chance).float().triu(1)
    adjacency = upper + upper.t() + torch.eye(NODES)
    degree = adjacency.sum(1).rsqrt()
    features = torch.randn(GROUPS, FEATURES)[group] + 1.8 * torch.randn(NODES, FEATURES)
    return features, degree[:, None] * adjacency * degree[None], group


class Encoder(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc = nn.Linear(FEATURES, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.act = nn.PReLU()

    def forward(self, x, adjacency):
        return self.act(adjacency @ self.fc(x) + self.bias)


class Infomax(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gcn = Encoder(hidden)
        self.bilinear = nn.Bilinear(hidden, hidden, 1)

    def forward(self, x, shuffled, adjacency):
        real, fake = self.gcn(x, adjacency), self.gcn(shuffled, adjacency)
        summary = real.mean(0).sigmoid().expand_as(real)
        return torch.cat([self.bilinear(real, summary), self.bilinear(fake, summary)]).squeeze(1)


def probe(vectors, group, known):
    head = nn.Linear(vectors.size(1), GROUPS)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(60):
        loss = F.cross_entropy(head(vectors[known]), group[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (head(vectors).argmax(1) == group)[~known].float().mean().item()


x, adjacency, group = make_graph()
known = torch.arange(NODES) < 40
model = Infomax()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
labels = torch.cat([torch.ones(NODES), torch.zeros(NODES)])
print(f"probe on the raw features {probe(x, group, known):.3f}")
for epoch in range(160):
    shuffled = x[torch.randperm(NODES)]
    loss = F.binary_cross_entropy_with_logits(model(x, shuffled, adjacency), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 39:
        score = probe(model.gcn(x, adjacency).detach(), group, known)
        print(f"epoch {epoch + 1} loss {loss.item():.3f} probe {score:.3f}")
