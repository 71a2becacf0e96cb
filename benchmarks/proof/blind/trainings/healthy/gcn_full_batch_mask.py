r"""A graph convolutional network on a small stochastic block model, two labels per class.

Source: https://github.com/tkipf/pygcn/blob/master/pygcn/train.py
    https://github.com/pyg-team/pytorch_geometric/blob/master/examples/gcn.py
Odd: Each step uses the same full graph, only six of ninety nodes have a loss, and the features of
    the other nodes (of the test set, too) take part in the forward pass; that is transductive.
"""

import torch
import torch.nn.functional as F
from torch import nn


def normalize(adj):
    adj = adj + torch.eye(len(adj))
    inv = adj.sum(1).pow(-0.5)
    return inv[:, None] * adj * inv[None, :]


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input, adj):
        return adj @ (input @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(nfeat, nhid), GraphConvolution(nhid, nclass)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


torch.manual_seed(42)
labels = torch.arange(90) // 30
link = torch.where(labels[:, None] == labels[None], 0.25, 0.02)
upper = (torch.rand(90, 90) < link).float().triu(1)
adj = normalize(upper + upper.T)
features = torch.randn(90, 16) + 0.5 * F.one_hot(labels, 16)
idx_train = torch.tensor([0, 1, 30, 31, 60, 61])
idx_test = torch.tensor([i for i in range(90) if i not in idx_train.tolist()])
model = GCN(16, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    loss_train = F.nll_loss(model(features, adj)[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    if epoch % 40 == 39:
        model.eval()
        with torch.no_grad():
            acc = (model(features, adj)[idx_test].argmax(1) == labels[idx_test]).float().mean()
        print(f"Epoch: {epoch:04d} loss_train: {loss_train.item():.4f} acc_test: {acc:.4f}")
