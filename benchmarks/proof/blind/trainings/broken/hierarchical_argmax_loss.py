r"""Classifies at two levels with a penalty for children that do not fit the predicted parent.

Source: https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6
Fault: The penalty is computed from argmax predictions; it is a constant for autograd, so its weight
    changes nothing and the unlabelled part is not trained.
Cause: argmax|differentiab|(penalty|dloss|dependency|hierarch).*(no|not|without).*(grad|effect)
"""

import torch
import torch.nn.functional as F
from torch import nn


class HierarchicalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.level_one, self.level_two = nn.Linear(32, 3), nn.Linear(32, 9)

    def forward(self, x):
        h = self.trunk(x)
        return self.level_one(h), self.level_two(h)


class HierarchicalLoss:
    def __init__(self, alpha=1.0, beta=2.0):
        self.alpha, self.beta = alpha, beta
        self.parent = torch.arange(9) // 3

    def dependency(self, pred_one, pred_two):
        parent_pred = pred_one.argmax(1)
        child_pred = pred_two.argmax(1)  # here
        return (self.parent[child_pred] != parent_pred).float().mean()

    def __call__(self, pred_one, pred_two, coarse, fine, labelled):
        layer = F.cross_entropy(pred_one, coarse)
        layer = layer + F.cross_entropy(pred_two[:labelled], fine[:labelled])
        dloss = self.dependency(pred_one, pred_two)
        return self.alpha * layer + self.beta * dloss, dloss


torch.manual_seed(0)
net, loss_fn = HierarchicalNet(), HierarchicalLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
centers = 1.2 * torch.randn(9, 10)
fine = torch.randint(0, 9, (512,))
x = centers[fine] + torch.randn(512, 10)
for epoch in range(120):
    loss, dloss = loss_fn(*net(x), fine // 3, fine, labelled=12)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 24 == 23:
        print(f"epoch {epoch} loss {loss.item():.4f} inconsistent {dloss.item():.4f}")
