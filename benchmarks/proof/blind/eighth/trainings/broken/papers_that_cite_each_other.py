r"""Subjects of papers in a graph of citations with a two-layer graph network.

Source: https://github.com/OpenXAIProject/GNNExplainer-Tutorial/issues/1
Fault: The weight decay is far too large, so the weights are drawn to zero against the loss.
Cause: weight.?decay|decay.{0,60}(strong|large|high|big)|regulari[sz]|\bl2\b|weights?.{0,60}(shrink
    |shrunk|towards? zero|to zero|vanish|small)|under.?fit
Place: weight_decay|optimizer|Adam
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(151)
NODES, SUBJECTS, WORDS = 400, 7, 60


def citations():
    subject = torch.randint(0, SUBJECTS, (NODES,))
    same = subject[:, None] == subject[None]
    chance = torch.where(same, 0.05, 0.004)
    edges = torch.rand(NODES, NODES) < chance
    edges = (edges | edges.T).float()
    topic = torch.rand(SUBJECTS, WORDS) < 0.18
    words = (torch.rand(NODES, WORDS) < 0.12 + 0.18 * topic[subject].float()).float()
    return edges, words / words.sum(1, keepdim=True).clamp(min=1), subject


class GCN(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.conv1 = nn.Linear(WORDS, hidden)
        self.conv2 = nn.Linear(hidden, SUBJECTS)

    def forward(self, x, adj):
        x = F.relu(adj @ self.conv1(x))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(adj @ self.conv2(x), dim=1)


edges, x, y = citations()
loops = edges + torch.eye(NODES)
root = loops.sum(1).rsqrt()
adj = root[:, None] * loops * root[None]
order = torch.randperm(NODES)
train_mask, test_mask = order[:140], order[140:]

model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-2)  # here
for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.nll_loss(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 40 == 0:
        print(f"Epoch {epoch:03d} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    pred = model(x, adj).argmax(dim=1)
    acc = (pred[test_mask] == y[test_mask]).float().mean().item()
    train_acc = (pred[train_mask] == y[train_mask]).float().mean().item()
print(f"Loss {loss.item():.4f} Accuracy: train {train_acc:.4f} test {acc:.4f}")
